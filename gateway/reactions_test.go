package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// withReactions has every account put reactions on messages.
func withReactions(done bool) func(*settings.Config) {
	return func(c *settings.Config) {
		tick := func(working, tick string) channels.Reactions {
			if !done {
				tick = ""
			}
			return channels.Reactions{Working: working, Done: tick}
		}
		for name, a := range c.Channels.Telegram {
			a.Reactions = tick("👀", "👍")
			c.Channels.Telegram[name] = a
		}
		for name, a := range c.Channels.Slack {
			a.Reactions = tick("eyes", "white_check_mark")
			c.Channels.Slack[name] = a
		}
		for name, a := range c.Channels.Signal {
			a.Reactions = tick("👀", "✅")
			c.Channels.Signal[name] = a
		}
	}
}

// reacting opens an environment whose Slack app has what the manifest of such accounts asks for.
func reacting(t *testing.T, o gatewaytest.Options) *gatewaytest.Env {
	t.Helper()
	o.OnSlack = func(so *slack.Options) {
		c := settings.Config{Channels: settings.ChannelsConfig{Slack: map[string]settings.SlackConfig{"sl": {}}}}
		withReactions(true)(&c)
		manifest, err := settings.SlackManifest(c, "sl", "")
		if err != nil {
			t.Fatal(err)
		}
		app, err := slack.Create(manifest)
		if err != nil {
			t.Fatal(err)
		}
		so.Apps[0].Scopes = app.Scopes
	}
	return gatewaytest.Open(t, o)
}

// reactionsOn are the reactions that the messages of a network show, by message: what came
// and went, in order, as "👀", "ok" and "-".
func reactionsOn(h *gatewaytest.Env, n gatewaytest.Network) map[string][]string {
	return reactionsIn(n, func() telegram.Book { return h.Telegram.Books() }, func() slack.Book { return h.Slack.Books() }, func() signal.Book { return h.Signal.Books() })
}

func reactionsIn(n gatewaytest.Network, tg func() telegram.Book, sl func() slack.Book, sig func() signal.Book) map[string][]string {
	seen := map[string][]string{}
	name := map[string]string{"👀": "👀", "eyes": "👀", "👍": "ok", "✅": "ok", "white_check_mark": "ok", "": "-"}
	switch n {
	case gatewaytest.Telegram:
		for _, s := range tg().Signals {
			if s.Kind == "reaction" {
				seen[s.ID] = append(seen[s.ID], name[s.Text])
			}
		}
	case gatewaytest.Slack:
		for _, s := range sl().Signals {
			switch s.Kind {
			case "reaction":
				seen[s.TS] = append(seen[s.TS], name[s.Text])
			case "unreaction":
				seen[s.TS] = append(seen[s.TS], "-")
			}
		}
	case gatewaytest.Signal:
		for _, s := range sig().Signals {
			id := fmt.Sprint(s.Target)
			switch s.Kind {
			case "reaction":
				seen[id] = append(seen[id], name[s.Text])
			case "reaction_removed":
				seen[id] = append(seen[id], "-")
			}
		}
	}
	return seen
}

// awaitReactions waits until done is true of the reactions of a network.
func awaitReactions(t *testing.T, h *gatewaytest.Env, n gatewaytest.Network, what string, done func(map[string][]string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), gatewaytest.Patience)
	defer cancel()
	var err error
	switch n {
	case gatewaytest.Telegram:
		_, err = h.Telegram.Await(ctx, func(b telegram.Book) bool {
			return done(reactionsIn(n, func() telegram.Book { return b }, nil, nil))
		})
	case gatewaytest.Slack:
		_, err = h.Slack.Await(ctx, func(b slack.Book) bool {
			return done(reactionsIn(n, nil, func() slack.Book { return b }, nil))
		})
	case gatewaytest.Signal:
		_, err = h.Signal.Await(ctx, func(b signal.Book) bool {
			return done(reactionsIn(n, nil, nil, func() signal.Book { return b }))
		})
	}
	if err != nil {
		t.Fatalf("waiting for %s: %v; there are %v", what, err, reactionsOn(h, n))
	}
}

// all reports whether n messages show this, and nothing else does.
func all(n int, want ...string) func(map[string][]string) bool {
	return func(seen map[string][]string) bool {
		for _, s := range seen {
			if !slices.Equal(s, want) {
				return false
			}
		}
		return len(seen) == n
	}
}

// firstday A4: what a turn works on has 👀, from when it is taken up, and what joins the
// turn has it, too; when the turn ends it goes, however it ended.
func TestAReactionSaysWhatATurnWorksOnOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		brain, asked, canceled, release := held()
		env := reacting(t, gatewaytest.Options{Networks: []gatewaytest.Network{n}, Brain: brain, Change: withReactions(false)})
		gw := env.Start()
		p := env.Group(n, 8001, 7001)
		p.Say("please hold on")
		<-asked
		awaitReactions(t, env, n, "a sign of work", all(1, "👀"))
		gw.AskAt(p, "/stop")
		<-canceled
		awaitReactions(t, env, n, "its end", all(1, "👀", "-"))
		release()
		direct := env.Direct(n, 7002)
		gw.AskAt(direct, "good morning")
		awaitReactions(t, env, n, "the end of a quick answer", all(2, "👀", "-"))
		gw.Stop()
	})
}

// firstday A4: a message that joins the turn that runs has it, too.
func TestAMessageThatJoinsATurnHasAReactionOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		answer := make(chan struct{})
		brain := func(ctx context.Context, p *model.Prompt) model.Answer {
			wait := answer
			if !strings.Contains(p.LastText(), "and here") {
				wait = nil // until it is interrupted
			}
			select {
			case <-wait:
			case <-ctx.Done():
			}
			return model.Reply(model.Say("both"))
		}
		env := reacting(t, gatewaytest.Options{Networks: []gatewaytest.Network{n}, Brain: brain, Change: func(c *settings.Config) {
			withReactions(true)(c)
			tg, sl, sig := c.Channels.Telegram["tg"], c.Channels.Slack["sl"], c.Channels.Signal["sig"]
			tg.WhileBusy, sl.WhileBusy, sig.WhileBusy = policy.Interrupt, policy.Interrupt, policy.Interrupt
			for name := range c.Channels.Telegram {
				c.Channels.Telegram[name] = tg
			}
			for name := range c.Channels.Slack {
				c.Channels.Slack[name] = sl
			}
			for name := range c.Channels.Signal {
				c.Channels.Signal[name] = sig
			}
		}})
		gw := env.Start()
		p := env.Direct(n, 7001)
		p.Say("look")
		awaitReactions(t, env, n, "a sign of work", all(1, "👀"))
		p.Say("and here")
		awaitReactions(t, env, n, "one on what joined", all(2, "👀"))
		close(answer)
		gw.NextDelivered()
		want := []string{"👀", "ok"}
		if n == gatewaytest.Slack { // where they stand side by side
			want = append(want, "-")
		}
		awaitReactions(t, env, n, "the answer", all(2, want...))
		gw.Stop()
	})
}

// firstday A4: a turn that fails has nothing to show for it.
func TestTheReactionOfATurnThatFailsGoesOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		brain := func(context.Context, *model.Prompt) model.Answer {
			return model.Answer{Refuse: &model.Refusal{Status: 400, Message: "no"}}
		}
		env := reacting(t, gatewaytest.Options{Networks: []gatewaytest.Network{n}, Brain: brain, Change: withReactions(true)})
		gw := env.Start()
		gw.AskAt(env.Direct(n, 7001), "hello")
		awaitReactions(t, env, n, "the end", all(1, "👀", "-"))
		gw.Stop()
	})
}

// firstday A4: a process that hands a turn over takes its sign away, and the one that goes
// on with the turn shows its own, until the answer.
func TestTheReactionOfATurnOutlivesItsProcessOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		brain, asked, _, release := held()
		env := reacting(t, gatewaytest.Options{Networks: []gatewaytest.Network{n}, Brain: brain, Change: withReactions(false)})
		first := env.StartAs(func(c *settings.Config) { c.Worker.Grace = time.Millisecond })
		p := env.Direct(n, 7001)
		p.Say("please hold on")
		<-asked
		awaitReactions(t, env, n, "a sign of work", all(1, "👀"))
		first.Stop()
		second := env.Start()
		<-asked
		awaitReactions(t, env, n, "another sign of work", func(seen map[string][]string) bool {
			for _, s := range seen {
				return s[len(s)-1] == "👀"
			}
			return false
		})
		release()
		second.NextDelivered()
		awaitReactions(t, env, n, "its end", func(seen map[string][]string) bool {
			for _, s := range seen {
				return s[len(s)-1] == "-"
			}
			return false
		})
		second.Stop()
		if got := strings.Join(p.Texts(), " "); !strings.Contains(got, "please hold on") {
			t.Errorf("the answer is %q", got)
		}
	})
}
