package monitoring_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/disks/diskstest"
	"parley/gateway/budgets"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// byPromtoolAlone are alerts that need minutes, a backlog or a day before they can fire:
// tests/ has the series for them.
var byPromtoolAlone = []string{
	"ParleyCostSpike",             // compares with yesterday
	"ParleySlowFirstReply",        // an answer that takes 30 s
	"ParleyQueueGrowing",          // a quarter of an hour
	"ParleyMessagesWait",          // five minutes
	"ParleyAnswersWait",           // five minutes
	"ParleySummariesFail",         // several conversations that are too long
	"ParleyMessagesGivenUp",       // a process that dies again and again; gateway/faulttest counts it
	"ParleyDeadLettersNearlyFull", // hundreds of dead letters
	"ParleyPricesOld",             // half a year
}

// moody is a model that answers, bills more than was reserved, or does not answer until held
// is closed, or at all.
func moody(held <-chan struct{}) model.Brain {
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		a := model.Reply(model.Say("re: " + p.LastText()))
		switch {
		case strings.Contains(p.LastText(), "dear"):
			a.Usage = &model.Usage{Input: 7, Output: 1_000_000}
		case strings.HasPrefix(p.LastText(), "hold"):
			select {
			case <-held:
			case <-ctx.Done():
			}
		case strings.HasPrefix(p.LastText(), "stall"):
			<-ctx.Done()
		}
		return a
	}
}

// A real gateway meets one fault after another, and each time the alert for it fires in a
// real Prometheus with the rules that are shipped. How long something must last is left out
// of them here: tests/ has that.
func TestAlertsFire(t *testing.T) {
	t.Parallel()
	diskstest.Run(t, func(t *testing.T, mount func(int) *diskstest.Disk) {
		disk := mount(64 << 20)
		held := make(chan struct{})
		env := gatewaytest.Open(t, gatewaytest.Options{Brain: moody(held), Change: func(c *settings.Config) {
			c.Broker.MaxBytes = 1 << 20
			c.Worker.Grace = time.Millisecond
			c.Circuit.Failures = refusals
			c.Retry.Base, c.Retry.Cap = time.Millisecond, 10*time.Millisecond
			c.Budgets.PersonPerDay, c.Budgets.GlobalPerDay = budgets.Unlimited, "6"
		}})
		noError(t, os.Symlink(disk.Dir, filepath.Join(env.Dir, "state")))
		d := newDoor(t)
		p := startPrometheus(t, strings.TrimPrefix(d.URL, "http://"), atOnce)
		gw := env.Start()
		d.open(gw.OpsAddr())
		gw.Ask(gatewaytest.Ann, "hello")
		p.scraped()
		if fires := p.firing(); len(fires) > 0 {
			t.Errorf("of a healthy gateway it is said: %v", fires)
		}
		s := &scene{t: t, env: env, gw: gw, p: p, door: d, disk: disk, held: held}
		for _, f := range faults {
			if !f.always && os.Getenv("PARLEY_LONG") == "" {
				continue
			}
			t.Log(f.name)
			f.happen(s)
			for _, name := range f.alerts {
				p.await("the alert "+name+" after: "+f.name, func() bool { return slices.Contains(p.firing(), name) })
			}
			if f.end != nil {
				f.end(s)
			}
		}
	})
}

// Each alert that is shipped has a fault, or a reason why not.
func TestAlertsHaveAFault(t *testing.T) {
	t.Parallel()
	got := slices.Clone(byPromtoolAlone)
	for _, f := range faults {
		got = append(got, f.alerts...)
	}
	slices.Sort(got)
	var want []string
	for _, r := range rules(t) {
		if r.Alert != "" {
			want = append(want, r.Alert)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("there are faults for\n%v\nand shipped are\n%v", got, want)
	}
}

// scene is what faults happen to.
type scene struct {
	t    *testing.T
	env  *gatewaytest.Env
	gw   *gatewaytest.Running
	p    *watcher
	door *door
	disk *diskstest.Disk
	held chan struct{}
}

func (s *scene) plan(f telegram.Fault) {
	s.t.Helper()
	noError(s.t, s.env.Telegram.Plan(f))
}

// restart ends the gateway, unless it has ended, and starts another.
func (s *scene) restart() {
	s.t.Helper()
	s.gw.Stop()
	s.gw = s.env.Start()
	s.door.open(s.gw.OpsAddr())
}

// say lets a person of that id, who is made up, write text to the bot.
func (s *scene) say(id int, text string) {
	one := telegram.Person{ID: int64(id), FirstName: "Cleo"}
	s.env.Say(telegram.PrivateChat(one), one, text)
}

// waiting is how many answers come while nothing can be written.
const waiting = 4

// refusals is how many calls fail before a model is not called any more: more than it has answered
// in the minutes before.
const refusals = 20

// faults happen in this order, without PARLEY_LONG those that are marked; end makes the next
// one possible.
var faults = []struct {
	always bool
	name   string
	happen func(s *scene)
	alerts []string
	end    func(s *scene)
}{
	{true, "a model bills more than was reserved, and nearly the whole budget", func(s *scene) {
		s.gw.AskIn(gatewaytest.Kitchen, gatewaytest.Ben, "@"+gatewaytest.Username+" dear") // of which the conversation is too long from then on
	}, []string{"ParleyBudgetOverrun", "ParleyBudgetNearlySpent"}, func(s *scene) {
		s.gw.Reconfigure(func(c *settings.Config) { c.Budgets.GlobalPerDay = "100" })
	}},
	{false, "a model does not say what it used", func(s *scene) {
		noError(s.t, s.env.Model.Plan(model.Fault{Kind: model.FaultNoUsage, Next: 1}))
		s.gw.Ask(gatewaytest.Ann, "how much was that")
	}, []string{"ParleyUnpricedUsage"}, nil},
	{false, "a model refuses", func(s *scene) {
		noError(s.t, s.env.Model.Plan(model.Fault{Kind: model.FaultStatus, Status: 401, Next: 2 * refusals}))
		for i := range 2 * refusals {
			s.say(7200+i, "is nobody there")
		}
	}, []string{"ParleyModelErrors", "ParleyTurnsFail", "ParleyDependencyDown"}, func(s *scene) {
		s.env.Model.ClearFaults()
		s.restart() // with a circuit that is closed
	}},
	{true, "events that cannot be read", func(s *scene) {
		for i := range 3 {
			_, err := s.env.Telegram.Inject("", json.RawMessage(fmt.Sprintf(`{"message":"no object %d"}`, i)))
			noError(s.t, err)
		}
	}, []string{"ParleyUnreadableEvents", "ParleyDeadLettersWait"}, nil},
	{false, "a connection that breaks while an answer is sent", func(s *scene) {
		s.plan(telegram.Fault{Trouble: telegram.Ambiguous, Method: "sendMessage", Next: 1})
		s.gw.Ask(gatewaytest.Ann, "say it twice")
	}, []string{"ParleyAmbiguousSends"}, func(s *scene) { s.env.Telegram.ClearFaults() }},
	{false, "a network that does not answer", func(s *scene) {
		s.plan(telegram.Fault{Trouble: telegram.BadGateway, Method: "getUpdates"})
	}, []string{"ParleyChannelDown"}, func(s *scene) { s.env.Telegram.ClearFaults() }},
	{false, "a configuration that cannot be read", func(s *scene) {
		s.gw.Break(errors.New("not YAML")) // anything
		if _, err := s.gw.Reload(); err == nil {
			s.t.Error("it was reloaded")
		}
	}, []string{"ParleyReloadFailed"}, nil},
	{true, "a disk that fills up while models answer", func(s *scene) {
		for i := range waiting {
			s.say(7100+i, "hold on")
		}
		s.p.await("the calls to begin", func() bool {
			calls := 0
			for _, r := range s.env.Model.Requests() {
				if strings.Contains(string(r.Body), "hold on") {
					calls++
				}
			}
			return calls >= waiting
		})
		s.disk.Fill()
		close(s.held)
	}, []string{"ParleyDiskNearlyFull", "ParleyNotReady", "ParleyLedgerWriteErrors"}, func(s *scene) {
		s.disk.Free()
		for range waiting {
			s.gw.NextDelivered()
		}
	}},
	{false, "more is said than is answered", func(s *scene) {
		for range 100 {
			s.say(7300, "stall "+strings.Repeat("\u8a9e", 4000))
		}
	}, []string{"ParleyLogNearlyFull"}, nil},
	{false, "a message log that is not there any more", func(s *scene) {
		s.gw.Stop()
		noError(s.t, os.RemoveAll(filepath.Join(s.disk.Dir, "log")))
		s.restart()
	}, []string{"ParleyMessagesLost"}, nil},
	{true, "a process that ends", func(s *scene) { s.gw.Stop() }, []string{"ParleyDown"}, nil},
}

// firing are the names of the alerts that fire.
func (p *watcher) firing() []string {
	p.t.Helper()
	var names []string
	for _, g := range p.groups() {
		for _, r := range g.Rules {
			if r.State == "firing" {
				names = append(names, r.Name)
			}
		}
	}
	return names
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
