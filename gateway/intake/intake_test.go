package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/commands"
	"parley/gateway/intake"
	"parley/sessionkeys"
	"parley/sessions"
)

var errDown = errors.New("it does not answer")

// world is the log, the book, the desk's store and the counters of one intake.
type world struct {
	mu        sync.Mutex
	fail      string // the method that fails
	published []broker.Envelope
	dead      []broker.DeadLetter
	notices   []sessions.Outgoing
	requests  []sessions.Control
	signals   []string
	seen      map[sessions.InboxID]bool
	counts    map[string]int
	most      int  // bytes of a body; 0: any
	full      bool // the dead letters

	chats   map[string]sessions.Chat // by every id
	changes []string                 // of chats
	waiting int                      // messages in the mailbox
}

func (w *world) do(method string, f func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail == method {
		return errDown
	}
	f()
	return nil
}

func (w *world) count(words ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[strings.Join(words, " ")]++
}

func (w *world) Publish(_ context.Context, e broker.Envelope) (uint64, error) {
	if w.most > 0 && len(e.Body) > w.most {
		return 0, fmt.Errorf("publish: %w", broker.ErrTooLarge)
	}
	return 1, w.do("Publish", func() { w.published = append(w.published, e) })
}

func (w *world) DeadLetter(_ context.Context, d broker.DeadLetter) error {
	if w.most > 0 && len(d.Body) > w.most {
		return fmt.Errorf("dead letter: %w", broker.ErrTooLarge)
	}
	if w.full {
		return fmt.Errorf("dead letter: %w", broker.ErrFull)
	}
	return w.do("DeadLetter", func() { w.dead = append(w.dead, d) })
}

func (w *world) Last(context.Context, string) (uint64, error) { return 7, w.do("Last", func() {}) }

func (w *world) Signal(_ context.Context, s broker.Signal) error {
	return w.do("Signal", func() { w.signals = append(w.signals, s.Topic) })
}

func (w *world) known(e sessions.InboxID) bool {
	was := w.seen[e]
	w.seen[e] = true
	return was
}

func (w *world) Notice(_ context.Context, e sessions.InboxID, rs []sessions.Outgoing, _ time.Time) (added bool, err error) {
	return added, w.do("Notice", func() {
		if added = !w.known(e); added {
			w.notices = append(w.notices, rs...)
		}
	})
}

func (w *world) Request(_ context.Context, c sessions.Control) (added bool, err error) {
	return added, w.do("Request", func() {
		if added = !w.known(c.Event); added {
			w.requests = append(w.requests, c)
		}
	})
}

func (w *world) Waiting(context.Context, string, uint64) (n int, err error) {
	return n, w.do("Waiting", func() { n = w.waiting })
}

func (w *world) Mailbox(context.Context, string) (sessions.Mailbox, error) {
	if w.waiting > 0 {
		return sessions.Mailbox{Touched: 9}, nil
	}
	return sessions.Mailbox{}, errors.Join(sessions.ErrNotFound, w.do("Mailbox", func() {}))
}

func (w *world) Received(c string, dm bool)    { w.count("received", c, fmt.Sprint(dm)) }
func (w *world) Ignored(c, why string)         { w.count("ignored", c, why) }
func (w *world) Deduplicated(c, why string)    { w.count("deduplicated", c, why) }
func (w *world) DeadLettered(c, reason string) { w.count("dead", c, reason) }
func (w *world) trace() int                    { return len(w.published) + len(w.notices) + len(w.requests) }

func (w *world) intake(a intake.Access) *intake.Intake {
	w.seen, w.counts = map[sessions.InboxID]bool{}, map[string]int{}
	now := func() time.Time { return time.Unix(1700000000, 0).UTC() }
	return &intake.Intake{
		Sources: map[string]intake.Source{"tg": {Agent: "main", Access: a}},
		Log:     w, Book: w, Observer: w, Logger: slog.New(slog.DiscardHandler), Now: now,
		Desk: &commands.Desk{Store: desk{world: w}, Now: now, Model: func(string) string { return "m" }},
	}
}

// desk is the world as the desk sees it; nothing was said in it yet, so nobody
// asks the Reader that is not there.
type desk struct {
	*world
	commands.Reader
}

func (d desk) Mailbox(ctx context.Context, token string) (sessions.Mailbox, error) {
	if d.fail == "Mailbox" {
		return sessions.Mailbox{}, errDown
	}
	return d.world.Mailbox(ctx, token)
}

func (desk) Session(context.Context, sessionkeys.SessionID) (sessions.Session, error) {
	return sessions.Session{}, sessions.ErrNotFound
}

func (desk) Spent(context.Context, sessions.Scope, time.Time) (settled, held costs.Amount, err error) {
	return 0, 0, nil
}

const (
	ann     = "1001"
	ben     = "1002"
	kitchen = "-2001"
)

func dm(from, text string) channels.Message {
	return channels.Message{
		Event: "e1", Kind: channels.Said, Channel: "tg", MessageID: "m1", Text: text, Mentioned: true,
		Address: sessionkeys.Address{Channel: sessionkeys.Telegram, Account: "42", Kind: sessionkeys.DM, Peer: from},
		Sender:  channels.Sender{ID: from, Name: "somebody"},
	}
}

func group(from, text string) channels.Message {
	m := dm(from, text)
	m.Address.Kind, m.Address.Peer = sessionkeys.Group, kitchen
	return m
}

// kinds are all values of channels.EventKind, read from its source: a kind that
// is added there and has no case here fails the test.
func kinds(t *testing.T) []channels.EventKind {
	t.Helper()
	src, err := os.ReadFile("../../channels/channels.go")
	if err != nil {
		t.Fatal(err)
	}
	var ks []channels.EventKind
	for _, m := range regexp.MustCompile(`(?m)^\s+\w+\s+EventKind = "(\w+)"`).FindAllStringSubmatch(string(src), -1) {
		ks = append(ks, channels.EventKind(m[1]))
	}
	return ks
}

// What each kind of event of somebody who may talk leads to.
var leadsTo = map[channels.EventKind]string{
	channels.Said:       "published",
	channels.Edited:     "published",
	channels.Pressed:    "ignored tg unsupported",
	channels.Membership: "", // the network says so, not the sender: see chats_test.go
	channels.Migrated:   "",
	channels.Unhandled:  "ignored tg unsupported",
	channels.Deleted:    "ignored tg unsupported",
	channels.Unreadable: "dead tg unreadable",
}

func TestNoKindOfEventOfSomebodyWhoMayNotTalkLeavesATrace(t *testing.T) {
	t.Parallel()
	all := kinds(t)
	if len(all) != len(leadsTo) {
		t.Fatalf("there are %d kinds of events, and %d cases: %v", len(all), len(leadsTo), all)
	}
	open := intake.Access{Everyone: true}
	lists := intake.Access{People: []string{ann}, Groups: []string{kitchen}}
	bot := func(m channels.Message) channels.Message { m.Sender.Bot = true; return m }
	anonymous := func(m channels.Message) channels.Message { m.Sender.Anonymous = true; return m }
	nameless := func(m channels.Message) channels.Message { m.Sender.ID = ""; return m }
	elsewhere := func(m channels.Message) channels.Message { m.Address.Peer = "-3000"; return m }
	for _, c := range []struct {
		name    string
		access  intake.Access
		message channels.Message
		allowed bool
	}{
		{"the zero access is nobody, in a DM", intake.Access{}, dm(ann, "hi"), false},
		{"the zero access is nobody, in a group", intake.Access{}, group(ann, "hi"), false},
		{"groups alone are nobody", intake.Access{Groups: []string{kitchen}}, group(ann, "hi"), false},
		{"groups alone are nobody in a DM", intake.Access{Groups: []string{ann}}, dm(ann, "hi"), false},
		{"a listed person in a DM", intake.Access{People: []string{ann}}, dm(ann, "hi"), true},
		{"an unlisted person in a DM", lists, dm(ben, "hi"), false},
		{"a listed person in an unlisted group", intake.Access{People: []string{ann}}, group(ann, "hi"), false},
		{"a listed person in another group", lists, elsewhere(group(ann, "hi")), false},
		{"a listed person in a listed group", lists, group(ann, "hi"), true},
		{"an unlisted person in a listed group", lists, group(ben, "hi"), false},
		{"the id of a listed person with a space", lists, dm(ann+" ", "hi"), false},
		{"everyone, in a DM", open, dm(ben, "hi"), true},
		{"everyone, in a group", open, group(ben, "hi"), true},
		{"a bot, with everyone", open, bot(dm(ben, "hi")), false},
		{"a bot that is listed", lists, bot(dm(ann, "hi")), false},
		{"an anonymous sender, with everyone", open, anonymous(group(ben, "hi")), false},
		{"an anonymous sender that is listed", lists, anonymous(group(ann, "hi")), false},
		{"no sender, with everyone", open, nameless(dm(ben, "hi")), false},
		{"no sender, and an empty id is listed", intake.Access{People: []string{""}}, nameless(dm(ben, "hi")), false},
	} {
		for _, kind := range all {
			for _, text := range []string{"hi", "/stop", "/status", "/new", strings.Repeat("x", intake.MaxText+1)} {
				var w world
				in := w.intake(c.access)
				m := c.message
				m.Kind, m.Text = kind, text
				if err := in.Accept(t.Context(), m); err != nil {
					t.Fatalf("%s, %s: %v", c.name, kind, err)
				}
				if kind == channels.Unreadable {
					// It names no chat. What names nobody may be anybody's.
					s, kept := m.Sender, 0
					if s.ID == "" || !s.Bot && !s.Anonymous && (c.access.Everyone || slices.Contains(c.access.People, s.ID)) {
						kept = 1
					}
					if w.trace() != 0 || w.counts["dead tg unreadable"] != kept || len(w.dead) != kept {
						t.Errorf("%s, unreadable: %+v", c.name, w.counts)
					}
					continue
				}
				if leadsTo[kind] == "" {
					if w.trace()+len(w.dead)+len(w.signals)+len(w.changes) != 0 {
						t.Errorf("%s, %s: left %v %v", c.name, kind, w.published, w.changes)
					}
					continue
				}
				if !c.allowed {
					if w.trace()+len(w.dead)+len(w.signals) != 0 {
						t.Errorf("%s, %s %.10q: left %v %v %v %v", c.name, kind, text, w.published, w.dead, w.notices, w.requests)
					}
					if w.counts["ignored tg not_allowed"] != 1 {
						t.Errorf("%s, %s: counted %v", c.name, kind, w.counts)
					}
					continue
				}
				want := leadsTo[kind]
				if kind == channels.Edited && text != "hi" { // neither runs a command nor is too long again
					want = "deduplicated tg edit"
				}
				if want == "published" && text == "hi" {
					if len(w.published) != 1 {
						t.Errorf("%s, %s: published %v", c.name, kind, w.published)
					}
				} else if kind != channels.Said && (w.counts[want] != 1 || w.trace() != 0) {
					t.Errorf("%s, %s: want %s, counted %v, left %v", c.name, kind, want, w.counts, w.published)
				}
			}
		}
	}
}

func TestInAGroupOnlyWhatMentionsTheBotIsTaken(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"hi", "/stop", "/status", "/new", strings.Repeat("x", intake.MaxText+1)} {
		var w world
		m := group(ann, text)
		m.Mentioned = false
		if err := w.intake(intake.Access{Everyone: true}).Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if w.trace() != 0 || w.counts["ignored tg not_mentioned"] != 1 {
			t.Errorf("%.10q: %v", text, w.counts)
		}
	}
	var w world
	m := dm(ann, "hi")
	m.Mentioned = false
	if err := w.intake(intake.Access{Everyone: true}).Accept(t.Context(), m); err != nil || len(w.published) != 1 {
		t.Errorf("a direct message: %v, %v", err, w.counts)
	}
}

func TestEachTextGoesItsWay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hi": "published", "/new": "published", "/clear": "published", "/NEW x": "published", "/usr/bin": "published",
		"/stop": "request", "/STOP": "request", "/stop now": "request",
		"/status": "notice", "/cost": "notice", "/help": "notice", "/start": "notice", "/nonsense": "notice",
		strings.Repeat("x", intake.MaxText): "published", strings.Repeat("x", intake.MaxText+1): "notice",
		"/stop " + strings.Repeat("x", intake.MaxText): "notice",
	} {
		var w world
		if err := w.intake(intake.Access{Everyone: true}).Accept(t.Context(), dm(ann, text)); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{"published": len(w.published), "request": len(w.requests), "notice": len(w.notices)}
		for way, n := range got {
			if (n == 1) != (way == want) {
				t.Errorf("%.20q: %v, want %s", text, got, want)
			}
		}
	}
}

func TestAnEmptyMessageIsNotUsedButAFileIs(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(intake.Access{Everyone: true})
	if err := in.Accept(t.Context(), dm(ann, "")); err != nil || w.trace() != 0 || w.counts["ignored tg unsupported"] != 1 {
		t.Errorf("%v, %v", err, w.counts)
	}
	m := dm(ann, "")
	m.Attachments = []channels.Attachment{{Kind: "photo", Ref: "x"}}
	if err := in.Accept(t.Context(), m); err != nil || len(w.published) != 1 {
		t.Errorf("%v, %v", err, w.counts)
	}
}

func TestHostileIDsNeverPanicAndNeverReachAnotherMailbox(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("A", 64<<10)
	hostile := []string{
		"", "x", "1001:thread:5", "a:b", "a%3Ab", "*", ">", "in.v1.*", "a.b", "../../etc", "\x00", "\r\nNats-Rollup: all", "\u202e",
		"\xff", "\xfe", "\xff\xfe", "\ufffd", " ", "1001 ", long, long + "B", strings.Repeat(":", 255), strings.Repeat("\xff", 64<<10),
	}
	fields := map[string]func(*channels.Message, string){
		"event":   func(m *channels.Message, s string) { m.Event = s },
		"network": func(m *channels.Message, s string) { m.Address.Channel = s },
		"account": func(m *channels.Message, s string) { m.Address.Account = s },
		"kind":    func(m *channels.Message, s string) { m.Address.Kind = sessionkeys.Kind(s) },
		"peer":    func(m *channels.Message, s string) { m.Address.Peer = s },
		"thread":  func(m *channels.Message, s string) { m.Address.Thread = s },
		"sender":  func(m *channels.Message, s string) { m.Sender.ID = s },
		"name":    func(m *channels.Message, s string) { m.Sender.Name = s },
		"message": func(m *channels.Message, s string) { m.MessageID = s },
		"quote":   func(m *channels.Message, s string) { m.ReplyTo = &channels.Quote{MessageID: s, Text: s} },
		"file":    func(m *channels.Message, s string) { m.Attachments = []channels.Attachment{{Kind: s, Name: s, Ref: s}} },
		"moved":   func(m *channels.Message, s string) { m.MovedTo = s },
		"problem": func(m *channels.Message, s string) { m.Problem = s },
		"raw":     func(m *channels.Message, s string) { m.Raw = json.RawMessage(s) },
	}
	for name, set := range fields {
		places := map[string]string{} // token: the address that has it
		for _, text := range []string{"hi", "/stop", "/status"} {
			for _, s := range hostile {
				var w world
				m := group(ann, text)
				m.Mentioned = true
				set(&m, s)
				if err := w.intake(intake.Access{Everyone: true}).Accept(t.Context(), m); err != nil {
					t.Errorf("%s %.20q: %v", name, s, err)
				}
				for _, e := range w.published {
					var back channels.Message
					if err := json.Unmarshal(e.Body, &back); err != nil || back.Address != m.Address || back.Event != m.Event || back.Sender.ID != m.Sender.ID {
						t.Errorf("%s %.20q: published %+v, %v", name, s, back, err)
					}
					k, err := sessionkeys.Parse(e.Key)
					if err != nil || k.Address() != m.Address || k.Token() != e.Token {
						t.Errorf("%s %.20q: key %.80s, %v", name, s, e.Key, err)
					}
					where := fmt.Sprintf("%q", m.Address)
					if was, ok := places[e.Token]; ok && was != where {
						t.Errorf("%s: %s and %s share a mailbox", name, was, where)
					}
					places[e.Token] = where
				}
				for _, d := range w.dead {
					if len(d.Problem) > 4<<10 || len(d.Key) > 4<<10 {
						t.Errorf("%s: a dead letter's words have %d and %d bytes", name, len(d.Problem), len(d.Key))
					}
				}
			}
		}
	}
}

func TestEachEventHasAWordOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	var w world
	in := w.intake(intake.Access{Everyone: true})
	in.Sources["tg2"] = in.Sources["tg"]
	for _, m := range []struct{ channel, account, peer, event string }{
		{"tg", "1", "3", "131"},
		{"tg", "1", "31", "31"},
		{"tg", "13", "1", "31"},
		{"tg2", "1", "3", "131"},
		{"tg", "1", "4", "131"},
		{"tg", "1", "3", `131","`},
		{"tg", "1", `3","131`, ""},
		{"tg", "1", "3", "1\ufffd"},
	} {
		x := dm(ann, "hi")
		x.Channel, x.Address.Account, x.Address.Peer, x.Event = m.channel, m.account, m.peer, m.event
		n, d := len(w.published), len(w.dead)
		if err := in.Accept(t.Context(), x); err != nil {
			t.Fatal(err)
		}
		id := ""
		switch {
		case len(w.published) > n:
			id = w.published[n].ID
		case len(w.dead) > d:
			id = w.dead[d].ID
		}
		where := fmt.Sprintf("%q", m)
		if was, ok := seen[id]; ok || id == "" {
			t.Errorf("%s and %s have the id %q", was, where, id)
		}
		seen[id] = where
		if err := in.Accept(t.Context(), x); err != nil || len(w.published) > n && w.published[len(w.published)-1].ID != id {
			t.Errorf("%s: the same event again has another id", where)
		}
	}
}

func TestWhenNothingWasStoredTheNetworkIsNotToldSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fail, text string
		kind       channels.EventKind
	}{
		{"Publish", "hi", channels.Said},
		{"Publish", "/new", channels.Said},
		{"DeadLetter", "hi", channels.Unreadable},
		{"Last", "/stop", channels.Said},
		{"Request", "/stop", channels.Said},
		{"Notice", "/help", channels.Said},
		{"Mailbox", "/status", channels.Said},
		{"Notice", strings.Repeat("x", intake.MaxText+1), channels.Said},
		{"Chat", "hi", channels.Said},
	} {
		w := world{fail: c.fail}
		in := w.intake(intake.Access{Everyone: true})
		m := dm(ann, c.text)
		m.Kind = c.kind
		if err := in.Accept(t.Context(), m); !errors.Is(err, errDown) {
			t.Errorf("%s fails for %.10q: %v", c.fail, c.text, err)
		}
		// The adapter offers it again.
		w.fail = ""
		if err := in.Accept(t.Context(), m); err != nil || w.trace()+len(w.dead) != 1 {
			t.Errorf("%.10q again: %v, %v", c.text, err, w.counts)
		}
	}
	w := world{fail: "Signal"}
	if err := w.intake(intake.Access{Everyone: true}).Accept(t.Context(), dm(ann, "/stop")); err != nil {
		t.Errorf("a lost signal: %v", err)
	}
	if err := w.intake(intake.Access{Everyone: true}).Accept(t.Context(), channels.Message{Kind: channels.Said, Channel: "nobody's"}); err == nil {
		t.Error("an event of a channel that is not configured was taken")
	}
}

func TestTheSameEventAgainIsCountedAndNotAnsweredAgain(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(intake.Access{Everyone: true})
	for _, text := range []string{"/stop", "/help"} {
		m := dm(ann, text)
		m.Event = text
		for range 3 {
			if err := in.Accept(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(w.requests) != 1 || len(w.notices) != 1 || w.counts["deduplicated tg message_id"] != 4 {
		t.Errorf("%d requests, %d notices, %v", len(w.requests), len(w.notices), w.counts)
	}
	if d := cmp.Diff([]string{"control", "outbox"}, w.signals); d != "" {
		t.Error(d)
	}
	if c := w.requests[0]; c.Through != 7 || c.Sender != ann || c.ReplyTo != "" || c.Kind != "stop" {
		t.Errorf("the request is %+v", c)
	}
}

func TestAnswersInGroupsHangOnTheirQuestion(t *testing.T) {
	t.Parallel()
	if got := intake.ReplyTo(group(ann, "")); got != "m1" {
		t.Errorf("in a group: %q", got)
	}
	if got := intake.ReplyTo(dm(ann, "")); got != "" {
		t.Errorf("in a direct message: %q", got)
	}
}

func TestAccessRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "*", "@ann"} {
		for _, a := range []intake.Access{{People: []string{"1", bad}}, {Groups: []string{"1", bad}}} {
			if err := a.Validate(nil, nil); err == nil || !strings.Contains(err.Error(), "[1]") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if err := (intake.Access{People: slices.Repeat([]string{"1"}, 3), Groups: []string{"-100"}}).Validate(nil, nil); err != nil {
		t.Error(err)
	}
	odd := errors.New("odd")
	err := intake.Access{People: []string{"1", "@ann", "2"}, Groups: []string{"3", ""}}.Validate(
		func(id string) error {
			if id == "2" {
				return odd
			}
			return nil
		},
		func(string) error { return odd },
	)
	if !errors.Is(err, odd) {
		t.Fatal(err)
	}
	var places []string
	for line := range strings.Lines(err.Error()) {
		place, _, _ := strings.Cut(line, ":")
		places = append(places, place)
	}
	if want := []string{"people[1]", "people[2]", "groups[0]", "groups[1]"}; !slices.Equal(places, want) {
		t.Errorf("mistakes at %v, want all of %v", places, want)
	}
}

// abuse M7.
func TestHeeds(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(intake.Access{People: []string{ann}, Groups: []string{kitchen}})
	elsewhere := group(ann, "hi")
	elsewhere.Address.Peer = "-666"
	unknown := dm(ann, "hi")
	unknown.Channel = "other"
	for name, c := range map[string]struct {
		m    channels.Message
		want bool
	}{
		"who is listed":         {dm(ann, "hi"), true},
		"in a listed group":     {group(ann, "hi"), true},
		"in another group":      {elsewhere, false},
		"who is not":            {dm(ben, "hi"), false},
		"nor in a listed group": {group(ben, "hi"), false},
		"of another account":    {unknown, true},
	} {
		if got := in.Heeds(t.Context(), c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestACommandThatNobodySaidToTheBotIsNotAnswered(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/foo", "/help"} {
		var w world
		in := w.intake(intake.Access{Everyone: true, Groups: []string{kitchen}})
		m := group(ann, text)
		m.Mentioned = false
		if err := in.Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if w.trace() != 0 {
			t.Errorf("%s: %d answers, requests and messages, counted %v", text, w.trace(), w.counts)
		}
		m = group(ann, text)
		m.Mentioned, m.Event = true, "e2"
		if err := in.Accept(t.Context(), m); err != nil || len(w.notices) != 1 || len(w.published) != 0 {
			t.Errorf("%s, said to it: %d answers, %d messages, %v", text, len(w.notices), len(w.published), err)
		}
	}
}

// firstday S11: who asked where nobody else saw it is alone told that it is refused.
func TestARefusalOfWhatOneAskedAloneIsToldToThemAlone(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(intake.Access{People: []string{ann}, Groups: []string{kitchen}})
	for id, want := range map[string]string{channels.Asked + "U0ANN.1": channels.Only + "U0ANN.1", "17.0001": "17.0001"} {
		m := group(ann, strings.Repeat("x", intake.MaxText+1))
		m.Event, m.MessageID = id, id
		if err := in.Accept(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if last := w.notices[len(w.notices)-1]; last.ReplyTo != want {
			t.Errorf("%s was refused to %q, want %q", id, last.ReplyTo, want)
		}
	}
}

// abuse H3.
func TestUses(t *testing.T) {
	t.Parallel()
	var w world
	in := w.intake(intake.Access{People: []string{ann}, Groups: []string{kitchen}})
	other, follows, reaction := group(ann, "hi"), group(ann, "and?"), dm(ann, "")
	other.Mentioned, follows.Mentioned, follows.Follows, reaction.Kind = false, false, true, channels.Unhandled
	for name, c := range map[string]struct {
		m    channels.Message
		want bool
	}{
		"directly":               {dm(ann, "hi"), true},
		"where it is named":      {group(ann, "hi"), true},
		"where it is not":        {other, false},
		"in a thread, perhaps":   {follows, true},
		"what is no message":     {reaction, false},
		"who may not talk to it": {dm(ben, "hi"), false},
	} {
		if got := in.Uses(t.Context(), c.m); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
