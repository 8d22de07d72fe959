package gateway_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// asking is what people say in rows that count: each question once, and each
// answer has its question in it.
type asking struct {
	places []*gatewaytest.Conversation
	asked  map[*gatewaytest.Conversation][]string
	n      int
}

// ask says one more question in a place.
func (a *asking) ask(p *gatewaytest.Conversation) {
	if a.asked == nil {
		a.asked = map[*gatewaytest.Conversation][]string{}
	}
	word := fmt.Sprintf("question%dend", a.n)
	a.n++
	p.Say(word)
	a.asked[p] = append(a.asked[p], word)
}

// await waits for all answers.
func (a *asking) await() {
	for p, words := range a.asked {
		p.AwaitWords(words...)
	}
}

// repeatMark is how an answer begins that may have been given before.
const repeatMark = "may be a repeat"

// check counts the answers: one for each question, in their order, and further
// ones only with the mark of a repeat, of which it says how many there are.
func (a *asking) check(t *testing.T) (repeats int) {
	t.Helper()
	shown := gatewaytest.TextsIn(maps.Keys(a.asked))
	for p, words := range a.asked {
		next := 0
		seen := map[string]int{}
		for _, text := range shown[p] {
			i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(text, w) })
			switch {
			case i < 0:
				t.Errorf("%s shows %q", p, text)
			case seen[words[i]] > 0 && strings.Contains(text, repeatMark):
				repeats++
			case seen[words[i]] > 0:
				t.Errorf("%s shows %q again, unmarked", p, text)
			case i != next:
				t.Errorf("%s shows %q instead of an answer to %q", p, text, words[next])
			default:
				next++
			}
			if i >= 0 {
				seen[words[i]]++
			}
		}
		if next != len(words) {
			t.Errorf("%s has %d answers to %d questions in order", p, next, len(words))
		}
	}
	return repeats
}

// signal-cli dies, again and again, wherever it is; and so does the real binary
// that tails its journal. Nothing is lost, and nothing is there twice without its
// mark. (F13)
func TestF13_KilledDaemonsAndReceiversLoseNothing(t *testing.T) {
	beside(t)
	seed := seedOf(t)
	rng := rand.New(rand.NewPCG(seed, 0x13)) // it must repeat
	env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{gatewaytest.Signal}})
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(env.Dir, "parley.yaml")
	text := fmt.Sprintf(`
state_dir: %[1]s/state
name: test
channels: {signal: {sig: {account: "%[2]s", aci: "%[3]s", access: {everyone: true}, while_busy: queue,
  command: [%[4]s, sim, signal-cli, --world, "%[5]s", --config, %[1]s/cli]}}}
providers: {sim: {kind: anthropic, base_url: "%[6]s", prices: demo}}
agents: {main: {model: sim/demo, window: 200000}}
ops: {listen: "127.0.0.1:0"}
log: {format: json}
worker: {attempts: 1000} # a message may be under way at many kills in a row
limits: {person_per_minute: -1, person_burst: -1, group_per_minute: -1, queue: -1, bot_loop: -1}
`, env.Dir, gatewaytest.SignalNumber, gatewaytest.SignalACI, program, env.Signal.URL(), env.Model.URL())
	noError(t, os.WriteFile(config, []byte(text), 0o600))
	var a asking
	for i := range 3 {
		a.places = append(a.places, env.Direct(gatewaytest.Signal, 7001+i), env.Group(gatewaytest.Signal, 8001+i, 7001))
	}
	gw := start(t, config)
	kills := map[string]int{}
	for round := range size(100) {
		before := env.Signal.Totals()
		said := 2 + rng.IntN(4)
		for range said {
			a.ask(a.places[rng.IntN(len(a.places))])
		}
		// A moment at which some of it is on its way in, or out.
		some := 1 + rng.IntN(said)
		moments := []struct {
			name string
			come func(signal.Totals) bool
		}{
			{"taken from the service", func(n signal.Totals) bool { return n.Acked >= before.Acked+some }},
			// Of what was being handled at an earlier kill nobody says so: an answer does.
			{"written to the journal", func(n signal.Totals) bool {
				return n.Handled >= before.Handled+some || n.Sent >= before.Sent+some
			}},
			{"answered", func(n signal.Totals) bool { return n.Sent >= before.Sent+some }},
		}
		moment := moments[rng.IntN(len(moments))]
		inSignal(t, env, moment.name, func(b signal.Book) bool { return moment.come(b.Totals) })
		if round%2 == 0 {
			kills["daemon"]++
			if _, err := env.Signal.Kill(""); err != nil {
				t.Fatal(err)
			}
			continue
		}
		kills["parley"]++
		gw.kill()
		a.ask(a.places[rng.IntN(len(a.places))]) // while nobody runs
		gw = start(t, config)
	}
	a.await()
	gw.kill()
	repeats := a.check(t)
	b := env.Signal.Books()
	unconfirmed := 0
	for _, m := range b.Messages {
		if m.Unconfirmed {
			unconfirmed++
		}
	}
	t.Logf("%d questions, killed: %v; %d daemons; %d marked repeats, %d sends of which nobody heard", a.n, kills, len(b.Daemons), repeats, unconfirmed)
}

// Slack brings each event up to five times, shuffled, and some much later than
// the log remembers ids. Each is answered once. (F15)
func TestF15_WhatSlackBringsAgainIsAnsweredOnce(t *testing.T) {
	beside(t)
	late, people := 2*time.Second, 30
	if size(10) == 10 {
		late, people = 150*time.Second, 1000 // the log's own memory is 120 s long
	}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: []gatewaytest.Network{gatewaytest.Slack}, Webhook: true, Brain: model.Echo, Keep: 1 << 13,
		OnSlack: func(o *slack.Options) {
			o.Retries = append([]time.Duration{0}, slices.Repeat([]time.Duration{late}, 1000)...)
		},
	})
	if err := env.Slack.Plan(
		slack.Fault{Trouble: slack.Duplicated, Probability: 0.3, Copies: 4},
		slack.Fault{Trouble: slack.LostAck, Probability: 0.3},
		slack.Fault{Trouble: slack.Reordered, Probability: 0.3, Delay: 50 * time.Millisecond},
		slack.Fault{Trouble: slack.MentionFirst, Probability: 0.5},
	); err != nil {
		t.Fatal(err)
	}
	gw := env.Start()
	var a asking
	for i := range people {
		a.places = append(a.places, env.Direct(gatewaytest.Slack, 7001+i), env.Group(gatewaytest.Slack, 8001+i%10, 7001+i))
	}
	for i, p := range a.places {
		a.ask(p)
		if i%2 == 0 {
			a.ask(p)
		}
	}
	a.await()
	env.Slack.ClearFaults() // every event comes once more at most, which takes late
	ctx, done := context.WithTimeout(t.Context(), late+gatewaytest.Patience)
	defer done()
	b, err := env.Slack.Await(ctx, func(b slack.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
	if err != nil {
		t.Fatalf("waiting for the last copies: %v", err)
	}
	gw.Stop() // what a copy made begins and ends before
	shown := gatewaytest.TextsIn(maps.Keys(a.asked))
	for p, words := range a.asked {
		for _, w := range words {
			answers, repeats := 0, 0
			for _, text := range shown[p] {
				switch {
				case !strings.Contains(text, w):
				case strings.Contains(text, repeatMark):
					repeats++ // of a preview that may or may not have arrived
				default:
					answers++
				}
			}
			if answers > 1 || answers+repeats == 0 {
				t.Errorf("%s was answered %d times, and %d times with a mark", w, answers, repeats)
			}
		}
	}
	if n := turnsIn(t, env); n != a.n {
		t.Errorf("%d turns were opened for %d questions", n, a.n)
	}
	t.Logf("%d questions in %d events, brought %d times", a.n, b.Totals.Events, b.Totals.Delivered)
	if b.Totals.Delivered <= b.Totals.Events || b.Totals.GivenUp > 0 {
		t.Errorf("brought %d times, %d given up", b.Totals.Delivered, b.Totals.GivenUp)
	}
}

// Somebody sends a flood on every network at once. They get what the limits
// allow and one note on each; everybody else is answered. (F17)
func TestF17_AFloodCostsItsSenderAndNobodyElse(t *testing.T) {
	beside(t)
	env := gatewaytest.Open(t, gatewaytest.Options{
		Networks: gatewaytest.AllNetworks(),
		OnSlack:  func(o *slack.Options) { o.AckTimeout = -1 }, // however long it takes
		Change: func(c *settings.Config) {
			c.Limits = policy.Limits{PersonPerMinute: 1, PersonBurst: 5, GroupPerMinute: -1, Queue: -1, BotLoop: -1}
		},
	})
	gw := env.Start()
	began := time.Now()
	var others asking
	flood := size(10_000) / 3
	for _, n := range gatewaytest.AllNetworks() {
		flooder := env.Direct(n, 6666)
		for i := range flood {
			flooder.Say(fmt.Sprintf("flood%dend", i))
			if i%(flood/5) == 0 {
				others.ask(env.Direct(n, 7001+i))
			}
		}
		last := env.Direct(n, 7000) // behind the flood
		others.ask(last)
		last.AwaitWords(others.asked[last]...)
	}
	others.await()
	took := time.Since(began)
	inSlack(t, env, "the end of the flood", func(b slack.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
	env.Await("the end of the flood", func(b telegram.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
	for _, n := range gatewaytest.AllNetworks() {
		env.Direct(n, 6666).Await("what was taken of the flood", func(shown []string) bool {
			return len(shown) > 5 // answers, and a note
		})
	}
	gw.Stop()
	others.check(t)
	minutes := int(time.Since(began).Minutes()) + 1
	for _, n := range gatewaytest.AllNetworks() {
		answers, notes := 0, 0
		for _, text := range env.Direct(n, 6666).Texts() {
			if strings.Contains(text, "more than I can take") {
				notes++
			} else {
				answers++
			}
		}
		if answers < 5 || answers > 5+minutes || notes < 1 || notes > 1+answers-5 {
			t.Errorf("on %s the flood of %d got %d answers and %d notes in %d minutes", n, flood, answers, notes, minutes)
		}
	}
	t.Logf("%d messages of one person on each network, %d of others, in %s", flood, others.n, took.Round(10*time.Millisecond))
}
