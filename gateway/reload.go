package gateway

import (
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/gateway/admin"
	"parley/gateway/ops"
	"parley/gateway/prices"
	"parley/gateway/settings"
	"parley/llm"
	"parley/problems"
)

// editions are the configuration in force, with its prices and what is known of its models, and put
// another in its place.
type editions struct {
	*setup
	current   atomic.Pointer[edition]
	reloading sync.Mutex // held while another edition is put in its place
	reloads   reloads
	found     atomic.Pointer[look] // what is in force, as it was read
	prices    *prices.Table
	circuits  *llm.Circuits

	equipment *equipment // as opened
	money     *ops.Costs // as opened
}

// newEditions puts the first edition into force.
func newEditions(s *setup, first *edition) (*editions, error) {
	es := &editions{setup: s, reloads: reloads{count: s.metrics.CountReload}}
	es.reloads.note(admin.Reloaded{}, nil, s.o.Now())
	var err error
	if es.prices, err = prices.Open(prices.Options{
		Config: s.cfg.Prices, Families: familiesOf(s.cfg), Fixed: s.cfg.Transcription.FixedPrices(), Parse: s.o.ParsePrices,
		Observer: priceObserver{es}, Log: s.o.Logger, Now: s.o.Now,
	}); err != nil {
		return nil, problems.List{{Path: "prices.file", Err: err}}
	}
	es.circuits = es.newCircuits()
	s.metrics.SetPricesDate(es.prices.View().Newest())
	first = first.withPrices(es.prices.View())
	first.warn()
	es.current.Store(first)
	es.found.Store(&look{cfg: s.cfg, said: first.said})
	return es, nil
}

// errNotRunning is why a gateway that has ended does not reload.
var errNotRunning = errors.New("the gateway does not run any more")

// Reload makes a gateway that runs read its configuration again, by Options.Next, and all
// files that it names. Everything that may change while it runs holds then for what begins
// later: events, turns with all their sub-agents, commands. What is under way ends as it
// began. The answer names what changed, and what needs a restart, which stays as it was.
//
// With any mistake, also in a file of prices, instructions, skills or tools, nothing changes, and
// the error is all of them. Log, status and metrics have both. It waits until the gateway
// has started.
func (g *Gateway) Reload() (admin.Reloaded, error) {
	select {
	case <-g.started:
	case <-g.ended:
		return admin.Reloaded{}, errNotRunning
	}
	return g.reload()
}

// reload puts the edition of the configuration as it is now into force, and says what came of it.
func (es *editions) reload() (admin.Reloaded, error) {
	es.reloading.Lock()
	defer es.reloading.Unlock()
	r, err := es.exchange()
	es.reloads.note(r, err, es.o.Now())
	if err != nil {
		es.o.Logger.Error("configuration not reloaded, the previous one stays in force", "error", err)
		return r, err
	}
	es.o.Logger.Info("configuration reloaded", "changed", r.Changed, "needs_restart", r.NeedRestart)
	return r, nil
}

// next reads the configuration as it is now.
func (es *editions) next() (settings.Config, error) {
	if es.o.Next == nil {
		return es.present().cfg, nil
	}
	cfg, err := es.o.Next()
	if err != nil {
		return cfg, err
	}
	cfg = cfg.Defaults()
	return cfg, es.locate(cfg.Validate())
}

// locate says where in the configuration the mistakes of err stand, if that is known.
func (es *editions) locate(err error) error {
	if err == nil || es.o.Locate == nil {
		return err
	}
	return es.o.Locate(err)
}

// exchange puts the edition of the configuration as it is now into force. The caller holds
// reloading.
func (es *editions) exchange() (admin.Reloaded, error) {
	next, err := es.next()
	if err != nil {
		return admin.Reloaded{}, err
	}
	es.redactor.Add(secretsOf(next)...) // before anything of it is said
	was := es.present()
	change := was.cfg.Into(next)
	e, list, err := es.prepare(change.Config)
	if err != nil {
		return admin.Reloaded{}, es.locate(err)
	}
	es.metrics.Admit(e.sets)
	es.money.Admit(e.sets)
	es.adjustCircuits(change, e)
	es.prices.Adopt(list)
	e = e.withPrices(es.prices.View())
	es.current.Store(e)
	es.found.Store(&look{cfg: next, said: e.said})
	if es.o.Level != nil {
		es.o.Level.Set(e.cfg.Log.SlogLevel())
	}
	e.warn()
	changed := append(append([]string{}, change.Changed...), changedFiles(was, e)...)
	slices.Sort(changed)
	restart := append([]string{}, slices.Concat(change.NeedRestart, e.cfg.AdaptersBehind(es.cfg), e.cfg.JobsBehind())...)
	if es.equipment.opened.sandbox == nil && len(e.cfg.Tools.Commands) > 0 && es.cfg.HasRole(settings.RoleWorker) { // nothing to run them in
		restart = append(restart, toolsFile)
		changed = slices.DeleteFunc(changed, func(path string) bool { return path == toolsFile })
	}
	slices.Sort(restart)
	return admin.Reloaded{Changed: slices.Compact(changed), NeedRestart: restart}, nil
}

// prepare makes an edition whole, with its prices, and changes nothing.
func (es *editions) prepare(cfg settings.Config) (*edition, prices.Draft, error) {
	e, err := es.newEdition(cfg)
	if err != nil {
		return nil, prices.Draft{}, err
	}
	list, err := es.prices.Prepare(cfg.Prices, familiesOf(cfg), cfg.Transcription.FixedPrices())
	if err != nil {
		return nil, prices.Draft{}, problems.List{{Path: "prices.file", Err: err}}
	}
	return e, list, es.equipment.equip(e)
}

// toolsFile is the path of the file of command-line tools.
const toolsFile = "tools.file"

// changedFiles names what was read from files that now say something else.
func changedFiles(was, now *edition) (paths []string) {
	for name, w := range now.said {
		old, ok := was.said[name]
		if ok && !reflect.DeepEqual(old.instructions, w.instructions) {
			paths = append(paths, "agents."+name+".instructions")
		}
		if ok && !reflect.DeepEqual(old.skills, w.skills) {
			paths = append(paths, "agents."+name+".skills")
		}
	}
	if !reflect.DeepEqual(was.cfg.Tools.Commands, now.cfg.Tools.Commands) {
		paths = append(paths, toolsFile)
	}
	if !reflect.DeepEqual(was.prices.Rows("", ""), now.prices.Rows("", "")) {
		paths = append(paths, "prices.file")
	}
	return paths
}

// adjustCircuits gives the circuits the numbers of an edition, and makes those new whose
// model is not used any more, or whose provider is configured otherwise: what failed may
// work now.
func (es *editions) adjustCircuits(change settings.Change, now *edition) {
	c := now.cfg.Circuit
	es.circuits.Change(c.Failures, c.Cooldown, c.NoneBackoff)
	for _, s := range es.circuits.Forget(func(provider, model string) bool {
		return !slices.Contains(now.sets.Models, ops.ModelName{Provider: provider, Model: model}) ||
			changesProvider(change, provider)
	}) {
		s.State = llm.CircuitClosed
		es.metrics.SetCircuit(s)
	}
}

// changesProvider reports whether a provider is reached otherwise than before: at another
// address, by another key. How often it is tried, and how single models are asked, says
// nothing of whether it works.
func changesProvider(change settings.Change, name string) bool {
	return slices.ContainsFunc(change.Changed, func(path string) bool {
		rest, ok := strings.CutPrefix(path, "providers."+name)
		key, _, _ := strings.Cut(strings.TrimPrefix(rest, "."), ".")
		return ok && (rest == "" || rest[0] == '.') && key != "retry" && key != "models"
	})
}

// reloads is how reading the configuration again ended last, and the list of prices by itself.
// Its methods may be called concurrently.
type reloads struct {
	count func(ok bool, at time.Time)

	mu          sync.Mutex // guards what follows
	last        admin.ReloadStatus
	pricesWrong bool // the list of prices could not be read again since
}

func (r *reloads) note(done admin.Reloaded, err error, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last.At, r.last.Problem = at, ""
	if err != nil {
		r.last.Problem = err.Error()
	} else {
		r.last.NeedRestart, r.last.Since, r.pricesWrong = done.NeedRestart, at, false
	}
	r.count(err == nil, at)
}

// notePrices notes that the list of prices was read again by itself. What else is wrong with
// the configuration stays so.
func (r *reloads) notePrices(ok bool, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pricesWrong = !ok
	r.count(ok && r.last.Problem == "", at)
}

// status returns how it ended last.
func (r *reloads) status() admin.ReloadStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.last
	s.NeedRestart = slices.Clone(s.NeedRestart)
	s.PricesWrong = r.pricesWrong
	return s
}

// priceObserver takes what the list of prices says of itself.
type priceObserver struct{ *editions }

// CountReload implements [prices.Observer]. Turns that begin later have the new prices.
func (o priceObserver) CountReload(ok bool, at time.Time) {
	if ok {
		o.reloading.Lock()
		o.current.Store(o.present().withPrices(o.prices.View()))
		o.reloading.Unlock()
	}
	o.reloads.notePrices(ok, at)
}

// SetPricesDate implements [prices.Observer].
func (o priceObserver) SetPricesDate(newest time.Time) { o.metrics.SetPricesDate(newest) }

// look is a configuration as it was found, with all files that it names but the list of
// prices, which is looked at by itself.
type look struct {
	cfg     settings.Config
	said    map[string]words
	problem string
}

// same reports whether both found the same.
func (l look) same(other look) bool {
	return l.problem == other.problem && l.cfg.Into(other.cfg).None() && reflect.DeepEqual(l.said, other.said) &&
		reflect.DeepEqual(l.cfg.Tools.Commands, other.cfg.Tools.Commands)
}

// lookAtFiles reads the configuration and changes nothing.
func (es *editions) lookAtFiles() (l look) {
	cfg, err := es.next()
	if err == nil {
		l.cfg = cfg
		reads := promptReader{cfg: cfg, log: slog.New(slog.DiscardHandler), clean: es.redactor.Clean}
		l.said, err = reads.all()
	}
	if err == nil { // a list that is missing may come
		_, err = es.prices.Prepare(cfg.Prices, familiesOf(cfg), cfg.Transcription.FixedPrices())
	}
	if err != nil {
		l.problem = err.Error()
	}
	return l
}

// watchInterval is how often a gateway that watches its configuration looks at it.
const watchInterval = 5 * time.Second

// watchFiles reloads when two looks in a row found something else than what was looked at
// when the gateway was started or last reloaded, by it or by an operator: what an editor has half
// written may have no mistake. It compares contents and follows links, so that files are seen too which a
// cluster exchanges through a link of their folder. A mistake is told once.
func (es *editions) watchFiles(done <-chan struct{}, tick <-chan time.Time) {
	var known, found, seen *look
	for {
		select {
		case <-done:
			return
		case <-tick:
		}
		if !es.present().cfg.Reload.Watch {
			continue
		}
		if f := es.found.Load(); f != found {
			known, found, seen = f, f, nil
		}
		now := es.lookAtFiles()
		switch {
		case now.same(*known):
			seen = nil
		case seen == nil || !now.same(*seen):
			seen = &now
		default:
			known, seen = &now, nil
			_, _ = es.reload() // log, status and metrics say it
		}
	}
}
