package doctor

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"parley/broker"
	"parley/findings"
	"parley/llm"
)

func (o Options) examineLog(ctx context.Context) []findings.Finding {
	const subject = "message log"
	if o.Log == nil {
		return []findings.Finding{logEmbedded.At(subject, "in the state folder")}
	}
	i, err := o.Log(ctx)
	if err != nil {
		return []findings.Finding{logGone.At(subject, "%v", err)}
	}
	var found []findings.Finding
	missing, wanted := 0, 1
	for _, s := range i.Streams {
		wanted = s.Wanted
		if s.Missing {
			missing++
			continue
		}
		found = append(found, examineStream(s)...)
	}
	if i.OldSync {
		found = append(found, logOld.At(subject, "nats-server %s", i.Version))
	}
	switch {
	case missing == len(i.Streams):
		return append(found, logNew.At(subject, "nats-server %s", i.Version))
	case len(found) == 0 || i.OldSync && len(found) == 1:
		found = append(found, logServers.At(subject, "nats-server %s, %d streams, each on %d", i.Version, len(i.Streams)-missing, wanted))
	}
	return found
}

func examineStream(s broker.StreamState) (found []findings.Finding) {
	if s.Problem != "" {
		found = append(found, logUnusable.At(s.Name, "%s", s.Problem))
	}
	if s.Replicas < s.Wanted {
		found = append(found, logFewer.At(s.Name, "on %d, broker.replicas is %d", s.Replicas, s.Wanted))
	}
	if len(s.Behind) > 0 {
		found = append(found, logBehind.At(s.Name, "away or behind: %s", strings.Join(s.Behind, ", ")))
	}
	return found
}

func (o Options) examineStore(ctx context.Context, c *clocks) []findings.Finding {
	const subject = "Redis"
	if o.Redis == nil {
		return []findings.Finding{storeSQLite.At("store", "in the state folder")}
	}
	i, err := o.Redis(ctx)
	if err != nil {
		return []findings.Finding{redisGone.At(subject, "%v", err)}
	}
	c.note(subject, i.Clock, o.Now(), i.Took)
	var found []findings.Finding
	if i.Eviction != "noeviction" && i.Eviction != "" {
		found = append(found, redisEviction.At(subject, "maxmemory-policy %s", i.Eviction))
	}
	if !i.AOF {
		found = append(found, redisAOF.At(subject, "appendonly no"))
	}
	if len(found) == 0 && i.Unfit != "" {
		found = append(found, redisUnfit.At(subject, "%s", i.Unfit))
	}
	switch i.Fsync {
	case "no":
		found = append(found, redisFsync.At(subject, "appendfsync no"))
	case "":
		found = append(found, redisMute.At(subject, "version %s", i.Version))
	}
	if i.MaxMemory > 0 && i.Used > i.MaxMemory/100*fullParts {
		found = append(found, redisMemory.At(subject, "%d MiB of %d MiB are used", i.Used>>20, i.MaxMemory>>20))
	}
	if len(found) == 0 {
		found = append(found, redisServer.At(subject, "version %s, appendonly yes, appendfsync %s, maxmemory-policy %s, %d replicas", i.Version, i.Fsync, i.Eviction, i.Replicas))
	}
	return found
}

func (o Options) examineTraces(ctx context.Context) []findings.Finding {
	if o.Traces == nil {
		return nil
	}
	if err := o.Traces.Examine(ctx); err != nil {
		return []findings.Finding{tracesRefused.At(o.Traces.Endpoint, "%v", err)}
	}
	return []findings.Finding{tracesTaken.At(o.Traces.Endpoint, "it took a request without spans")}
}

// examine asks the provider about a model, and says whether it has a price.
func (m Model) examine(ctx context.Context, now func() time.Time, c *clocks) (found []findings.Finding) {
	if m.Pinger == nil {
		found = append(found, modelSkipped.At(m.Name, "%s", m.priced()))
	} else {
		pong, err := m.Pinger.Ping(ctx)
		provider, _, _ := strings.Cut(m.Name, "/")
		c.note(provider, pong.Clock, now(), pong.Took)
		found = append(found, m.judge(pong, err))
	}
	switch {
	case m.Refused:
		found = append(found, modelRefused.At(m.Name, "no price, and budgets apply"))
	case m.Price == "":
		found = append(found, modelUnpriced.At(m.Name, "no price"))
	}
	return found
}

func (m Model) priced() string { return "priced: " + cmp.Or(m.Price, "no") }

// judge says what the answer to a Ping means.
func (m Model) judge(pong llm.Pong, err error) findings.Finding {
	if err == nil && pong.Listed {
		return modelAnswers.At(m.Name, "asked in %s for nothing; %s", pong.Took.Round(time.Millisecond), m.priced())
	}
	if err == nil {
		return modelMissing.At(m.Name, "not among the models that the provider lists")
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return modelUnreachable.At(m.Name, "%v", err)
	}
	switch e.Kind {
	case llm.Auth:
		return modelKey.At(m.Name, "%v", err)
	case llm.RateLimited, llm.Overloaded, llm.Quota:
		return modelBusy.At(m.Name, "%v", err)
	case llm.Malformed:
		return modelUnlisted.At(m.Name, "%v", err)
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		// One that has no such list may repeat the path, in which the name stands.
		if strings.Contains(strings.ReplaceAll(e.Message, "models/"+m.name(), ""), m.name()) {
			return modelMissing.At(m.Name, "%v", err)
		}
		return modelUnlisted.At(m.Name, "%v", err)
	}
	return modelUnreachable.At(m.Name, "%v", err)
}

// name returns the model's name as its provider knows it.
func (m Model) name() string {
	_, name, _ := strings.Cut(m.Name, "/")
	return name
}

func (o Options) examineExposure() (found []findings.Finding) {
	kinds := map[ExposureKind]findings.Kind{Metrics: exposureMetrics, NATS: exposureNATS, Redis: exposureRedis}
	for _, e := range o.Exposures {
		if !e.Guarded && !isLoopback(e.Host) {
			found = append(found, kinds[e.Kind].At(cmp.Or(e.Host, "every address"), "without credentials"))
		}
	}
	if len(found) == 0 {
		found = append(found, exposureLocal.At("listeners", "looked at: %d", len(o.Exposures)))
	}
	return found
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
