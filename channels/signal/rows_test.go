package signal_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/channels"
	"parley/channels/signal"
	"parley/gateway/policy"
	"parley/sessionkeys"
	sim "parley/simulators/signal"
)

func did(t testing.TB) func(sim.ActionResult, error) sim.ActionResult {
	t.Helper()
	return func(s sim.ActionResult, err error) sim.ActionResult {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func id(s sim.ActionResult) string { return strconv.FormatInt(s.Timestamp, 10) + "." + s.Author }

// G27.
func TestAPersonIsOneWhetherTheirNumberIsShownOrNot(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hidden, shown := ann, ann
	hidden.Name, shown.SharesNumber = "", true
	noError(t, r.Meet(hidden))
	got := take(t, r.open(t, func(o *signal.Options) { o.Numbers = []string{ann.Number, "+4915559999999"} }), nil)
	r.say(t, sim.Chat{}, hidden, "hidden", sim.SayOptions{})
	r.say(t, sim.Chat{}, shown, "shown", sim.SayOptions{})
	a, b := got.next(), got.next()
	want := channels.Sender{ID: ann.ACI, Alias: ann.Number}
	if a.Sender != want || a.Address.Peer != ann.ACI || a.Address != b.Address || a.Address.Account != number {
		t.Errorf("hidden: %+v", a)
	}
	want.Name = "Ann"
	if b.Sender != want {
		t.Errorf("shown: %+v", b.Sender)
	}
	// Either id in the list lets them in, and nobody else's.
	for _, listed := range []string{ann.ACI, ann.Number} {
		if v := (policy.Access{People: []string{listed}}).Authorize(a, policy.NoRuling); !v.Allowed {
			t.Errorf("listed as %s: refused, %s", listed, v.Hint)
		}
	}
	if v := (policy.Access{People: []string{bob.ACI, bob.Number, ""}}).Authorize(a, policy.NoRuling); v.Allowed {
		t.Error("allowed although only somebody else is listed")
	}
}

// G27. What was learned of a number is kept, and the account's own ACI is asked
// for once.
func TestWhatIsKnownOfPeopleSurvivesARestart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	shown, hidden := ann, ann
	shown.SharesNumber = true
	first := take(t, r.open(t, func(o *signal.Options) { o.ACI = "" }), nil)
	r.say(t, sim.Chat{}, shown, "one", sim.SayOptions{})
	first.next()
	noError(t, r.AwaitAcknowledged(t.Context(), 1))
	first.stop()
	second := take(t, r.open(t, func(o *signal.Options) { o.ACI = "" }), nil)
	r.say(t, sim.Chat{}, hidden, "two", sim.SayOptions{})
	if m := second.next(); m.Sender.ID != ann.ACI || m.Sender.Alias != ann.Number {
		t.Errorf("after a restart the sender is %+v", m.Sender)
	}
	asked := 0
	for _, c := range r.Books().Calls {
		if c.Method == "listIdentities" {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the account's own ACI was asked for %d times", asked)
	}
}

// G28.
func TestWhatNobodySaidMakesNoTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	said := r.say(t, team, ann, "in the group", sim.SayOptions{})
	named := got.next()
	do := did(t)
	// What is nobody's message to us is not even offered.
	do(r.Synced(number, sim.Sync{}))
	do(r.Synced(number, sim.Sync{Text: "to ann", To: ann.ACI}))
	do(r.Synced(number, sim.Sync{Text: "to myself"}))
	do(r.Synced(number, sim.Sync{Blocked: []string{bob.Number}}))
	do(r.Synced(number, sim.Sync{Read: &sim.Quote{Timestamp: said.Timestamp, Author: ann.ACI}}))
	do(r.Echo(number, "an echo"))
	do(r.Receipt(sim.Chat{}, ann, "read", 1))
	do(r.Type(sim.Chat{}, ann, false))
	do(r.Type(team, ann, true))
	do(r.Story(sim.Chat{}, ann, "a story"))
	do(r.Call(sim.Chat{}, ann))
	// What somebody did, but did not say, is offered as something unused.
	do(r.React(sim.Chat{}, ann, sim.Quote{Timestamp: said.Timestamp, Author: ann.ACI}, "👍", false))
	do(r.Delete(team, ann, said.Timestamp))
	do(r.SetTimer(sim.Chat{}, ann, 3600))
	do(r.Rename(sim.Chat{Group: team.Group, Name: "Another"}, ann))
	r.say(t, sim.Chat{}, ann, "", sim.SayOptions{}) // as news of a group call, or of a profile, come
	problems := map[string]int{}
	for range 5 { // chats stand side by side
		m := got.next()
		problems[m.Problem]++
		want := channels.Unhandled
		if m.Problem == "a message was deleted" { // of which one, is said
			want = channels.Deleted
		}
		if m.Kind != want || (m.MessageID == named.MessageID) != (want == channels.Deleted) || m.Text != "" || m.Sender.ID != ann.ACI {
			t.Errorf("what is no message came as %+v", m)
		}
	}
	if want := map[string]int{
		"a reaction": 1, "a message was deleted": 1, "a message without text or file": 1, "a change of the timer": 1, "a change of a group": 1,
	}; !maps.Equal(problems, want) {
		t.Errorf("what is no message came as %v", problems)
	}
	// An exception is a dead letter and an operator's matter.
	do(r.Unreadable(sim.Chat{}, bob, "InvalidMessageStructureException", "no"))
	if m := got.next(); m.Kind != channels.Unreadable || !strings.Contains(m.Problem, "InvalidMessageStructureException") || !json.Valid(m.Raw) {
		t.Errorf("an exception came as %+v", m)
	}
	r.say(t, sim.Chat{}, ann, "a message", sim.SayOptions{})
	if m := got.next(); m.Kind != channels.Said || m.Text != "a message" {
		t.Errorf("a message came as %+v", m)
	}
}

// G28. What signal-cli keeps back because of a key comes after it is trusted, as
// an event of its own.
func TestWhatWasKeptBackComesWhenTheKeyIsTrusted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	r.say(t, sim.Chat{}, ann, "before", sim.SayOptions{})
	got.next()
	noError(t, r.Reinstall(ann))
	r.say(t, sim.Chat{}, ann, "kept back", sim.SayOptions{})
	back := got.next()
	if back.Kind != channels.Unreadable || !strings.Contains(back.Problem, "Untrusted") {
		t.Fatalf("a message under another key came as %+v", back)
	}
	got.stop()
	again := take(t, r.open(t, func(o *signal.Options) { o.Trust = "always" }), nil)
	if m := again.next(); m.Text != "kept back" || m.Event == back.Event {
		t.Errorf("then came %+v", m)
	}
}

// G29.
func TestMentionsAreRangesInUTF16Units(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	us := sim.Mention{Name: "@us", ACI: ourACI}
	shown := bob
	shown.SharesNumber = true
	noError(t, r.Meet(shown))
	for _, c := range []struct {
		text     string
		mentions []sim.Mention
		want     string
		ours     bool
	}{
		{"@us look", []sim.Mention{us}, "look", true},
		{"@us: /status", []sim.Mention{us}, "/status", true},
		{"👨‍👩‍👧‍👦 hi @us, and @bob", []sim.Mention{us, {Name: "@bob", ACI: bob.ACI}}, "👨‍👩‍👧‍👦 hi @" + number + ", and @" + bob.Number, true},
		{"@bob look", []sim.Mention{{Name: "@bob", ACI: bob.ACI}}, "@" + bob.Number + " look", false},
		{"@us typed, " + number + " " + ourACI, nil, "@us typed, " + number + " " + ourACI, false},
		{"@us @bob", []sim.Mention{us, {Name: "@bob", ACI: bob.ACI}}, "@" + bob.Number, true},
	} {
		r.say(t, team, ann, c.text, sim.SayOptions{Mentions: c.mentions})
		m := got.next()
		if m.Text != c.want || m.Mentioned != c.ours || m.Address.Kind != sessionkeys.Group || m.Address.Peer != team.Group {
			t.Errorf("%q came as %q, mentioned %v, want %q, %v (%+v)", c.text, m.Text, m.Mentioned, c.want, c.ours, m.Address)
		}
	}
}

// G29.
func TestALongTextIsFetchedWhole(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	long := strings.Repeat("Ein langer Satz mit Äpfeln und 😀. ", 200)
	r.say(t, sim.Chat{}, ann, long, sim.SayOptions{})
	r.say(t, sim.Chat{}, ann, "after", sim.SayOptions{})
	if m := got.next(); m.Text != long || len(m.Attachments) != 0 {
		t.Errorf("of %d bytes came %d, with %+v", len(long), len(m.Text), m.Attachments)
	}
	if m := got.next(); m.Text != "after" {
		t.Errorf("then came %q", m.Text)
	}
	r.say(t, team, ann, "@us "+long, sim.SayOptions{Mentions: []sim.Mention{{Name: "@us", ACI: ourACI}}})
	if m := got.next(); m.Text != long || !m.Mentioned {
		t.Errorf("of a long mention came %d bytes, mentioned %v", len(m.Text), m.Mentioned)
	}
}

// G29.
func TestAnEditIsOfTheFirstVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	first := r.say(t, sim.Chat{}, ann, "one", sim.SayOptions{})
	m := got.next()
	if m.MessageID != id(first) {
		t.Errorf("message id %s, want %s", m.MessageID, id(first))
	}
	do := did(t)
	second := do(r.Edit(sim.Chat{}, ann, first.Timestamp, "two", sim.SayOptions{}))
	e := got.next()
	if e.Kind != channels.Edited || e.MessageID != m.MessageID || e.Text != "two" || e.Event == m.Event {
		t.Errorf("the edit came as %+v", e)
	}
	noError(t, r.AwaitAcknowledged(t.Context(), 2))
	got.stop()
	// The next edit names the second version; a restart forgets nothing of it.
	got = take(t, r.open(t), nil)
	do(r.Edit(sim.Chat{}, ann, second.Timestamp, "three", sim.SayOptions{}))
	if e := got.next(); e.Kind != channels.Edited || e.MessageID != m.MessageID || e.Text != "three" {
		t.Errorf("the edit of the edit came as %+v", e)
	}
}

// G29.
func TestQuotesSayWhatIsAnsweredAlsoOfWhatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	got := take(t, ch, nil)
	said := r.say(t, team, ann, "a question", sim.SayOptions{})
	m := got.next()
	receipt, err := ch.Send(t.Context(), channels.Reply{To: m.Address, ReplyTo: m.MessageID, Body: channels.Body{Text: "an answer"}})
	if err != nil {
		t.Fatal(err)
	}
	entry := r.Books().Messages[0]
	if q := entry.Quote; q == nil || q.Timestamp != said.Timestamp || q.Author != ann.ACI || q.Text != "a question" || entry.Chat != team.Group {
		t.Errorf("sent %+v with the quote %+v", entry, entry.Quote)
	}
	// Answering us is addressing us.
	r.say(t, team, bob, "why?", sim.SayOptions{Quote: &sim.Quote{Timestamp: entry.Timestamp, Author: ourACI}})
	if a := got.next(); !a.Mentioned || a.ReplyTo == nil || !a.ReplyTo.FromBot || a.ReplyTo.MessageID != receipt.MessageID || a.ReplyTo.Text != "an answer" || a.ReplyTo.Author.ID == "" {
		t.Errorf("an answer to us came as %+v, %+v", a, a.ReplyTo)
	}
	// Answering somebody else is not.
	did(t)(r.Delete(team, ann, said.Timestamp))
	got.next()
	r.say(t, team, bob, "gone", sim.SayOptions{Quote: &sim.Quote{Timestamp: said.Timestamp, Author: ann.ACI}})
	if a := got.next(); a.Mentioned || a.ReplyTo == nil || a.ReplyTo.FromBot || a.ReplyTo.MessageID != m.MessageID || a.ReplyTo.Text != "" || a.Text != "gone" {
		t.Errorf("an answer to what is gone came as %+v, %+v", a, a.ReplyTo)
	}
}

// An answer may be sent while its question is still being taken.
func TestAnAnswerQuotesAQuestionThatIsStillBeingTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	got := take(t, ch, func(m channels.Message) error {
		_, err := ch.Send(t.Context(), channels.Reply{To: m.Address, ReplyTo: m.MessageID, Body: channels.Body{Text: "an answer"}})
		return err
	})
	r.say(t, team, ann, "a question", sim.SayOptions{})
	got.next()
	if q := r.Books().Messages[0].Quote; q == nil || q.Text != "a question" {
		t.Errorf("sent with the quote %+v", q)
	}
}

func TestFilesComeByReference(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	r.say(t, sim.Chat{}, ann, "", sim.SayOptions{Attachments: []sim.Attachment{
		{ContentType: "image/png", Filename: "a\u202Eb\n.png", Data: []byte("png")},
		{ContentType: "text/plain", Filename: "notes.txt", Data: []byte("notes")},
	}})
	m := got.next()
	if m.Kind != channels.Said || len(m.Attachments) != 2 {
		t.Fatalf("%+v", m)
	}
	if a := m.Attachments[0]; a.Kind != "photo" || a.Name != "ab .png" || a.Size != 3 || a.Ref == "" || a.MIME != "image/png" {
		t.Errorf("%+v", a)
	}
	if a := m.Attachments[1]; a.Kind != "document" || a.Name != "notes.txt" {
		t.Errorf("%+v", a)
	}
}

func TestWhoWritesDirectlySeesThatItWasReadIfTheOperatorWantsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t, func(o *signal.Options) {
		o.ReadReceipts = true
		o.IsRelevant = func(_ context.Context, m channels.Message) bool { return m.Sender.ID == ann.ACI }
	}), nil)
	r.say(t, team, ann, "in a group", sim.SayOptions{})
	r.say(t, sim.Chat{}, bob, "as a stranger", sim.SayOptions{})
	said := r.say(t, sim.Chat{}, ann, "directly", sim.SayOptions{})
	got.texts(3)
	b := r.await(t, "a receipt", func(b sim.Book) bool { return len(b.Signals) > 0 })
	if s := b.Signals[0]; len(b.Signals) != 1 || s.Kind != "receipt" || s.Text != "read" || s.Target != said.Timestamp || s.Chat != ann.ACI {
		t.Errorf("%+v", b.Signals)
	}
}

// abuse M7: for whom nobody listens to nothing is fetched.
func TestOfAStrangerNoTextIsFetched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t, func(o *signal.Options) {
		o.IsRelevant = func(_ context.Context, m channels.Message) bool { return m.Sender.ID == ann.ACI }
	}), nil)
	long := strings.Repeat("a long sentence. ", 300)
	r.say(t, sim.Chat{}, bob, long, sim.SayOptions{})
	r.say(t, sim.Chat{}, ann, long, sim.SayOptions{})
	var lengths []int
	for range 2 {
		lengths = append(lengths, len(got.next().Text))
	}
	if slices.Sort(lengths); lengths[0] >= len(long) || lengths[1] != len(long) {
		t.Errorf("the texts have %d bytes, want less than %d and that", lengths, len(long))
	}
}
