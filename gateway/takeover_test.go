package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/sessions"
	"parley/sessions/redis"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// waitingModel does not answer whoever asks it first, and says who asks.
type waitingModel struct {
	asked chan string            // the process
	first atomic.Pointer[string] // that is never answered
}

func (m *waitingModel) brain(ctx context.Context, p *model.Prompt) model.Answer {
	_, rest, _ := strings.Cut(p.System, "You are process ")
	name, _, _ := strings.Cut(rest, ".")
	select {
	case m.asked <- name:
	case <-ctx.Done():
	}
	m.first.CompareAndSwap(nil, &name)
	if *m.first.Load() == name {
		<-ctx.Done()
	}
	return model.Reply(model.Say("you said " + p.LastText()))
}

// next returns who asks next.
func (m *waitingModel) next(t *testing.T) string {
	t.Helper()
	select {
	case name := <-m.asked:
		return name
	case <-time.After(gatewaytest.Patience):
		t.Fatal("the model was not asked")
		panic("unreachable")
	}
}

// Two real workers with leases of an hour on three servers of a log and a Redis. The one at work is
// stopped for a while, and its server of the log ends: nothing is taken from it. It is killed: the other
// goes on, long before the lease ends, or this test does not.
func TestAWorkerIsMissedWhenItDiesAndNotWhenItIsSilent(t *testing.T) {
	t.Parallel()
	m := &waitingModel{asked: make(chan string)}
	c := newClusterWith(t, m.brain)
	c.as("front", settings.RoleGateway)
	procs, nodes := map[string]*process{}, map[string]int{"one": 0, "two": 1}
	for name, node := range nodes {
		path := filepath.Join(c.env.Dir, name+".yaml")
		text := fmt.Sprintf(`
state_dir: %s
name: %s
roles: [worker]
broker: {url: "%s", replicas: 3}
store: {redis: {url: "%s"}}
worker: {lease: 1h}
channels: {telegram: {tg: {token: "%s", api_url: %s, access: {everyone: true}}}}
providers: {sim: {kind: anthropic, base_url: %s, prices: demo}}
agents: {main: {model: sim/demo, window: 200000, prompt: You are process %s.}}
ops: {listen: "127.0.0.1:0"}
log: {format: json, level: debug}
`, filepath.Join(c.env.Dir, name), name, c.nodes.URLOf(node), c.redis.URL, gatewaytest.Token, c.env.Telegram.URL(), c.env.Model.URL(), name)
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		procs[name] = start(t, path)
	}
	says := func(name string, words ...string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s to say %q", name, words), func() bool {
			for line := range strings.Lines(procs[name].log.String()) {
				found := true
				for _, w := range words {
					found = found && strings.Contains(line, w)
				}
				if found {
					return true
				}
			}
			return false
		})
	}

	p := telegram.Person{ID: 7000, FirstName: "P"}
	c.env.Say(telegram.PrivateChat(p), p, "question-7000-0")
	holder, other := m.next(t), "two"
	if holder == other {
		other = "one"
	}
	says(other, "signs of a worker seen", `"worker":"`+holder+`"`)
	store, err := redis.Open(t.Context(), redis.Options{URL: c.redis.Unhurried()})
	noError(t, err)
	t.Cleanup(func() { noError(t, store.Close()) })
	stopped := procs[holder].cmd.Process
	noError(t, stopped.Signal(syscall.SIGSTOP))
	says(other, "worker silent, but not taken for dead", `"worker":"`+holder+`"`)
	noError(t, stopped.Signal(syscall.SIGCONT))
	c.nodes.Kill(nodes[holder])
	c.nodes.Restart(nodes[holder])
	c.nodes.AwaitHealthy()
	says(holder, "message server reconnected")
	if owner, attempts := c.ownerOf(t, store); owner != holder || attempts != 1 {
		t.Errorf("the mailbox is %s's, at attempt %d; it was %s's", owner, attempts, holder)
	}

	procs[holder].kill()
	for by := holder; by == holder; { // its own call may have been cut off, and made again
		by = m.next(t)
	}
	c.env.Await("the answer", func(b telegram.Book) bool { return len(answersOf(b)) == 1 })
	says(other, "worker process ended", `"worker":"`+holder+`"`, `"conversations":1`)
	page := procs[other].scrape()
	for _, series := range []string{"parley_workers_ended_total 1\n", "parley_conversations_taken_over_total 1\n"} {
		if !strings.Contains(page, series) {
			t.Errorf("no %q in its metrics", series)
		}
	}
}

// ownerOf is who has the only mailbox, and how often its turn was taken up.
func (*cluster) ownerOf(t *testing.T, store *redis.Store) (owner string, attempts int) {
	t.Helper()
	noError(t, store.Mailboxes(t.Context(), func(m sessions.Mailbox) bool {
		owner = m.Owner.Name
		if m.Turn != nil {
			attempts = m.Turn.Attempts
		}
		return true
	}))
	return owner, attempts
}
