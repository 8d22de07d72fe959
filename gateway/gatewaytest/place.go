package gatewaytest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"parley/simulators/signal"
	"parley/simulators/slack"
	"parley/simulators/telegram"
)

// Conversation is where somebody speaks with the bot, on whichever network: for tests
// that hold for all of them.
type Conversation struct {
	Network Network
	// ID is the network's id of the chat; Thread that of the topic or the thread
	// in it, or "".
	ID, Thread string

	env   *Env
	say   func(text string) error
	texts func(s *snapshot) []string
	// await waits for done, which also gets how often the bot has written anything on
	// the network.
	await func(ctx context.Context, done func(shown []string, written int) bool) ([]string, error)
}

// String names the place.
func (p *Conversation) String() string { return fmt.Sprintf("%s %s/%s", p.Network, p.ID, p.Thread) }

// Say says text to the bot, by mentioning it where it does not listen to
// everything.
func (p *Conversation) Say(text string) {
	p.env.t.Helper()
	if err := p.say(text); err != nil {
		p.env.t.Fatal(err)
	}
}

// Texts returns what the bot said there, message by message, by the network's books as
// they stand. It copies them: for many places, [TextsIn] copies them once.
func (p *Conversation) Texts() []string { return p.texts(p.env.snapshot()) }

// TextsIn returns what the bot said in each of the places, which are of one environment.
func TextsIn(places iter.Seq[*Conversation]) map[*Conversation][]string {
	shown := map[*Conversation][]string{}
	var now *snapshot
	for p := range places {
		if now == nil {
			now = p.env.snapshot()
		}
		shown[p] = p.texts(now)
	}
	return shown
}

// snapshot is the books of an environment's networks at one moment.
type snapshot struct {
	telegram telegram.Book
	slack    slack.Book
	signal   signal.Book
}

func (h *Env) snapshot() *snapshot {
	s := &snapshot{}
	if h.Telegram != nil {
		s.telegram = h.Telegram.Books()
	}
	if h.Slack != nil {
		s.slack = h.Slack.Books()
	}
	if h.Signal != nil {
		s.signal = h.Signal.Books()
	}
	return s
}

// Await waits until what the bot said there satisfies done, for as long as the bot says
// anything on that network: much may be under way elsewhere.
func (p *Conversation) Await(what string, done func(shown []string) bool) []string {
	p.env.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	const silence = 3 * Patience
	silent := time.AfterFunc(silence, func() { cancel(fmt.Errorf("the bot said nothing for %v", silence)) })
	defer silent.Stop()
	before := 0
	shown, err := p.await(ctx, func(shown []string, written int) bool {
		if written > before {
			before = written
			silent.Reset(silence)
		}
		return done(shown)
	})
	if err != nil {
		p.env.t.Fatalf("waiting in %s for %s: %v; it shows %q", p, what, err, shown)
	}
	return shown
}

// AwaitWords waits until the bot has said each of the words there.
func (p *Conversation) AwaitWords(words ...string) []string {
	p.env.t.Helper()
	return p.Await(strings.Join(words, ", "), func(shown []string) bool {
		for _, w := range words {
			if !slices.ContainsFunc(shown, func(s string) bool { return strings.Contains(s, w) }) {
				return false
			}
		}
		return true
	})
}

// AskAt says text there and returns the answer. Nobody else may be answered
// meanwhile.
func (r *Running) AskAt(p *Conversation, text string) string {
	r.t.Helper()
	p.Say(text)
	return p.lastTexts(r.NextDelivered().Parts)
}

// lastTexts returns the last n messages that the place shows.
func (p *Conversation) lastTexts(n int) string {
	p.env.t.Helper()
	shown := p.Texts()
	if len(shown) < n {
		p.env.t.Fatalf("%s shows %d messages, %d were delivered", p, len(shown), n)
	}
	return strings.Join(shown[len(shown)-max(n, 1):], "\n")
}

// InTelegram returns where p speaks with the bot in c; thread is a topic of a forum, or
// 0.
func (h *Env) InTelegram(c telegram.Chat, p telegram.Person, thread int64) *Conversation {
	pl := &Conversation{Network: Telegram, ID: fmt.Sprint(c.ID), env: h}
	if thread != 0 {
		pl.Thread = fmt.Sprint(thread)
	}
	pl.say = func(text string) error {
		if c.Kind != telegram.Private {
			text = "@" + Username + " " + text
		}
		_, err := h.Telegram.Say(c, p, text, telegram.SayOptions{Thread: thread})
		return err
	}
	of := func(b telegram.Book) (out []string) {
		for _, m := range b.Messages {
			if m.Bot == Username && m.ChatID == c.ID && m.ThreadID == thread && m.Deleted.IsZero() {
				out = append(out, m.Text())
			}
		}
		return out
	}
	pl.texts = func(s *snapshot) []string { return of(s.telegram) }
	pl.await = func(ctx context.Context, done func([]string, int) bool) ([]string, error) {
		b, err := h.Telegram.Await(ctx, func(b telegram.Book) bool { return done(of(b), b.Totals.Sent+b.Totals.Edited) })
		return of(b), err
	}
	return pl
}

// InSlack returns where p speaks with the bot in c: a thread, which what is said first
// begins. Before that a direct message shows what the bot said in all of its threads.
func (h *Env) InSlack(c slack.Channel, p slack.Person) *Conversation {
	pl := &Conversation{Network: Slack, ID: c.ID, env: h}
	pl.say = func(text string) error {
		if c.Kind != slack.IM {
			text = "@" + Username + " " + text
		}
		said, err := h.Slack.Say(c, p, text, slack.SayOptions{ThreadTS: pl.Thread})
		if pl.Thread == "" {
			pl.Thread = said.TS
		}
		return err
	}
	of := func(b slack.Book) (out []string) {
		for _, m := range b.Messages {
			if m.App == Username && m.Channel == c.ID && (m.ThreadTS == pl.Thread || pl.Thread == "" && c.Kind == slack.IM) && m.Deleted.IsZero() {
				out = append(out, m.Text())
			}
		}
		return out
	}
	pl.texts = func(s *snapshot) []string { return of(s.slack) }
	pl.await = func(ctx context.Context, done func([]string, int) bool) ([]string, error) {
		b, err := h.Slack.Await(ctx, func(b slack.Book) bool { return done(of(b), b.Totals.Posted+b.Totals.Edited+b.Totals.Streamed) })
		return of(b), err
	}
	return pl
}

// InSignal returns where p speaks with the bot: directly, or in the group of c.
func (h *Env) InSignal(c signal.Chat, p signal.Person) *Conversation {
	pl := &Conversation{Network: Signal, ID: c.Group, env: h}
	if c.Group == "" {
		pl.ID = p.ACI
	}
	pl.say = func(text string) error {
		var o signal.SayOptions
		if c.Group != "" {
			const us = "@parley"
			text, o.Mentions = us+" "+text, []signal.Mention{{Name: us, ACI: SignalACI}}
		}
		_, err := h.Signal.Say(c, p, text, o)
		return err
	}
	of := func(b signal.Book) (out []string) {
		for _, m := range b.Messages {
			if m.Account == SignalNumber && m.Chat == pl.ID && m.Deleted.IsZero() {
				out = append(out, m.Text())
			}
		}
		return out
	}
	pl.texts = func(s *snapshot) []string { return of(s.signal) }
	pl.await = func(ctx context.Context, done func([]string, int) bool) ([]string, error) {
		b, err := h.Signal.Await(ctx, func(b signal.Book) bool { return done(of(b), b.Totals.Sent+b.Totals.Edited) })
		return of(b), err
	}
	return pl
}

// Direct returns where a person speaks with the bot directly: person n of each
// network, who has the same number and the same name on all of them.
func (h *Env) Direct(n Network, person int) *Conversation {
	switch n {
	case Slack:
		p := SlackPerson(person)
		return h.InSlack(slack.DM(p), p)
	case Signal:
		return h.InSignal(signal.Chat{}, SignalPerson(person))
	}
	p := TelegramPerson(person)
	return h.InTelegram(telegram.PrivateChat(p), p, 0)
}

// Group returns where person n mentions the bot in group g of a network. The groups of
// all networks have the same names.
func (h *Env) Group(n Network, g, person int) *Conversation {
	name := fmt.Sprintf("group %d", g)
	switch n {
	case Slack:
		return h.InSlack(slack.Channel{ID: fmt.Sprintf("C%d", g), Kind: slack.Public, Name: strings.ReplaceAll(name, " ", "-")}, SlackPerson(person))
	case Signal:
		return h.InSignal(signal.Chat{Group: signal.MadeUpGroup(g), Name: name}, SignalPerson(person))
	}
	return h.InTelegram(telegram.Chat{ID: -int64(g), Kind: telegram.Group, Title: name}, TelegramPerson(person), 0)
}

// TelegramPerson is person n of Telegram; they have the same number and name on
// the other networks.
func TelegramPerson(n int) telegram.Person {
	return telegram.Person{ID: int64(n), FirstName: fmt.Sprintf("Person %d", n)}
}

// SlackPerson is person n of Slack.
func SlackPerson(n int) slack.Person {
	name := fmt.Sprintf("Person %d", n)
	return slack.Person{ID: fmt.Sprintf("U%d", n), Name: strings.ToLower(strings.ReplaceAll(name, " ", "")), RealName: name}
}

// SignalPerson is person n of Signal.
func SignalPerson(n int) signal.Person {
	return signal.Person{ACI: signal.MadeUpACI(n), Name: fmt.Sprintf("Person %d", n)}
}
