package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/runtest"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite"
	"parley/sessions/sqlite/sqlitetest"
	"parley/simulators/model"
	"parley/simulators/telegram"
	"parley/transcript"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

type noLog struct{}

func (noLog) DeadLetters(context.Context, uint64, int) ([]broker.DeadLetter, error) { return nil, nil }

func (noLog) DeleteDeadLetter(context.Context, uint64) error { return nil }

func (noLog) Listen(context.Context, string) (*broker.Listener, error) {
	return nil, broker.ErrUnavailable
}

func (noLog) Stats(context.Context) (broker.Stats, error) { return broker.Stats{}, nil }

// shelf is a store without a gateway, and its operator.
type shelf struct {
	t     *testing.T
	store *sqlite.Store
	ask   *admin.Client
	ann   sessions.Worker
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	store := sqlitetest.Open(t, t.TempDir())
	socket := filepath.Join(t.TempDir(), "admin.sock")
	s, err := admin.New(t.Context(), admin.Options{
		Socket: socket, Version: "test", Store: store, Log: noLog{},
		Ready:    func(context.Context) (bool, map[string]string) { return true, nil },
		Channels: admin.NewChannels(channels.NopObserver{}, nil, time.Now), StoreSize: func() (int64, error) { return 0, nil },
		Redact: strings.NewReplacer("canary-secret", "[redacted]").Replace, Now: func() time.Time { return noon.Add(time.Hour) },
	})
	if err != nil {
		t.Fatal(err)
	}
	runtest.Start(t, "the server", func(ctx context.Context) error { return errors.Join(s.Run(ctx), s.Close()) })
	h := &shelf{t: t, store: store, ask: admin.NewClient(socket), ann: sessions.Worker{Name: "ann", Nonce: "1"}}
	h.ok(store.Heartbeat(t.Context(), h.ann, noon.Add(time.Hour)))
	return h
}

func (h *shelf) ok(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// opened is a chat with an open turn, in which a person said text.
func (h *shelf) opened(peer, text string) (sessions.Fence, sessions.Turn) {
	h.t.Helper()
	at := sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: peer}
	key, err := sessionkeys.For("main", at)
	h.ok(err)
	m, _, err := h.store.Touch(h.t.Context(), sessions.Touch{Token: key.Token(), Key: key, Seq: 1, By: h.ann, Take: true, Now: noon})
	h.ok(err)
	turn, _, err := h.store.Open(h.t.Context(), m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: "turn-" + peer, Seq: 1, Channel: "tg", From: at, Sender: peer, ReceivedAt: noon, OpenedAt: noon},
		Events:  []sessions.InboxID{{Channel: "telegram", Account: "bot", Chat: peer, Event: "1"}},
		Message: transcript.Message{ID: "said-" + peer, Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: text}}, CreatedAt: noon},
	})
	h.ok(err)
	return m.Fence(), turn
}

func (h *shelf) spawned(f sessions.Fence, parent sessionkeys.SessionID, name string) sessionkeys.SessionID {
	h.t.Helper()
	p, err := h.store.Session(h.t.Context(), parent)
	h.ok(err)
	key, err := p.Key.Child("scout")
	h.ok(err)
	c, _, err := h.store.Spawn(h.t.Context(), f, sessions.Session{
		ID: sessionkeys.ChildID(parent, "t", 1, name), Key: key, Parent: parent, ToolCallID: name, Role: "task", Title: "a canary-text of " + name, CreatedAt: noon,
	})
	h.ok(err)
	return c.ID
}

func (h *shelf) charged(f sessions.Fence, id sessionkeys.SessionID, turn string, step int, amount costs.Amount) {
	h.t.Helper()
	call := costs.CallID{Turn: turn, Step: step, Attempt: 1, Purpose: costs.RootTurn}
	labels := costs.Labels{Provider: "maker", Model: "model-1", Channel: "tg", Purpose: costs.RootTurn}
	r := costs.Reservation{ID: call.String(), At: noon, Estimate: costs.Estimate{Call: call, Labels: labels, Upper: amount, Priced: true}}
	h.ok(h.store.Reserve(h.t.Context(), f, sessions.Charge{Session: id, Turn: turn}, r))
	h.ok(h.store.Settle(h.t.Context(), f, costs.Settlement{Reservation: r, Entry: costs.Entry{
		ID: r.ID, Call: call, Labels: labels, Amount: amount, Priced: true, State: costs.Settled, Outcome: "ok", At: noon,
		Usage: costs.Usage{Input: 10, Output: 3, Source: costs.Reported},
	}}))
}

func TestASessionIsShownInItsTreeWithWhatEachCost(t *testing.T) {
	t.Parallel()
	h := newShelf(t)
	f, turn := h.opened("ann", "my canary-text and my canary-secret")
	a := h.spawned(f, turn.Session, "a")
	b := h.spawned(f, a, "b")
	c := h.spawned(f, turn.Session, "c")
	h.charged(f, turn.Session, turn.ID, 1, 5)
	h.charged(f, a, turn.ID, 2, 70)
	h.charged(f, b, turn.ID, 3, 600)
	h.charged(f, b, turn.ID, 4, 1)
	h.opened("ben", "another canary-text")

	for _, id := range []sessionkeys.SessionID{turn.Session, b} {
		d, err := h.ask.Session(t.Context(), string(id), false)
		h.ok(err)
		var got []string
		for _, n := range d.Tree {
			got = append(got, fmt.Sprintf("%d %s %s %s calls=%d own=%d subtree=%d", n.Depth, n.ID, n.Agent, n.State, n.Usage.Calls, n.Own, n.Subtree))
		}
		want := []string{
			fmt.Sprintf("0 %s main running calls=1 own=5 subtree=676", turn.Session),
			fmt.Sprintf("1 %s scout not started calls=1 own=70 subtree=671", a),
			fmt.Sprintf("2 %s scout not started calls=2 own=601 subtree=601", b),
			fmt.Sprintf("1 %s scout not started calls=0 own=0 subtree=0", c),
		}
		if !slices.Equal(got, want) || d.Asked != id {
			t.Errorf("%s:\n%s", id, strings.Join(got, "\n"))
		}
		if turns := len(d.Turns); turns != 1 && id == turn.Session || turns != 0 && id == b {
			t.Errorf("%s has %d turns", id, turns)
		}
		if text, _ := json.Marshal(d); strings.Contains(string(text), "canary") {
			t.Errorf("a text is shown that nobody asked for: %s", text)
		}
	}
	d, err := h.ask.Session(t.Context(), string(turn.Session), true)
	h.ok(err)
	text, _ := json.Marshal(d)
	if len(d.Transcript) != 1 || d.Transcript[0].Parts[0].Text != "my canary-text and my [redacted]" || d.Tree[1].Title != "a canary-text of a" || strings.Contains(string(text), "canary-secret") {
		t.Errorf("the transcript: %s", text)
	}
}

func TestListsNameNoTextAndKnowTheirStates(t *testing.T) {
	t.Parallel()
	h := newShelf(t)
	f, turn := h.opened("ann", "canary-text")
	h.charged(f, turn.Session, turn.ID, 1, 5)
	ben, first := h.opened("ben", "canary-text")
	h.charged(ben, first.Session, first.ID, 1, 50)
	_, err := h.store.Finish(t.Context(), ben, sessions.FinishTurn{Turn: first.ID, Outcome: transcript.EndTurn, At: noon.Add(time.Minute)})
	h.ok(err)
	m, _, err := h.store.Touch(t.Context(), sessions.Touch{Token: ben.Token, Key: mustKey(t, "ben"), Seq: 2, By: h.ann, Take: true, Now: noon})
	h.ok(err)
	_, err = h.store.Answer(t.Context(), m.Fence(), sessions.Command{Seq: 2, Fresh: "fresh", At: noon.Add(2 * time.Minute)})
	h.ok(err)
	_, _, err = h.store.Touch(t.Context(), sessions.Touch{Token: ben.Token, Key: mustKey(t, "ben"), Seq: 3, Now: noon})
	h.ok(err)

	for _, byCost := range []bool{false, true} {
		l, err := h.ask.Sessions(t.Context(), admin.SessionQuery{ByCost: byCost})
		h.ok(err)
		var got []string
		for _, s := range l.Sessions {
			got = append(got, fmt.Sprint(s.Key, " ", s.State, " ", int64(s.Subtree)))
		}
		want := []string{"main:bot:telegram:dm:ben waiting 0", "main:bot:telegram:dm:ben ended 50", "main:bot:telegram:dm:ann running 5"}
		if byCost {
			want = []string{want[1], want[2], want[0]}
		}
		if !slices.Equal(got, want) {
			t.Errorf("by cost %v: %q", byCost, got)
		}
		if text, _ := json.Marshal(l); strings.Contains(string(text), "canary") {
			t.Errorf("a text is in the list: %s", text)
		}
	}
	for q, want := range map[admin.SessionQuery]int{{Limit: 1}: 1, {Channel: "tg"}: 2, {Channel: "no"}: 0, {Since: noon.Add(30 * time.Second)}: 1, {Since: noon.Add(time.Hour)}: 0} {
		if l, err := h.ask.Sessions(t.Context(), q); err != nil || len(l.Sessions) != want {
			t.Errorf("%+v: %d, %v", q, len(l.Sessions), err)
		}
	}
}

func mustKey(t *testing.T, peer string) sessionkeys.Key {
	t.Helper()
	k, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "bot", Kind: sessionkeys.DM, Peer: peer})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestAnIdMayBeShortAndNeverHostile(t *testing.T) {
	t.Parallel()
	h := newShelf(t)
	f, turn := h.opened("ann", "hello")
	a, b := h.spawned(f, turn.Session, "a"), h.spawned(f, turn.Session, "b")
	for text, want := range map[string]sessionkeys.SessionID{
		string(turn.Session): turn.Session, string(turn.Session[:12]): turn.Session, strings.ToLower(string(turn.Session)): turn.Session, string(a[:20]): a,
	} {
		if d, err := h.ask.Session(t.Context(), text, false); err != nil || d.Asked != want {
			t.Errorf("%s is %s, %v", text, d.Asked, err)
		}
	}
	children := []string{string(a), string(b)}
	slices.Sort(children)
	for text, want := range map[string]string{
		"c-":                              "ambiguous: several sessions begin with c-: " + strings.Join(children, ", "),
		"c-nothing":                       "not_found: no session c-nothing",
		"":                                "invalid: an id has 1 to 80 characters",
		"..":                              `invalid: an id has letters, digits and -, not ".."`,
		"../usage":                        `invalid: an id has letters, digits and -, not "../usage"`,
		"%2e%2e":                          `invalid: an id has letters, digits and -, not "%2e%2e"`,
		"x?transcript=1":                  `invalid: an id has letters, digits and -, not "x?transcript=1"`,
		"' OR 1=1 --":                     `invalid: an id has letters, digits and -, not "' OR 1=1 --"`,
		"\x1b[2J":                         `invalid: an id has letters, digits and -, not "\x1b[2J"`,
		"\xff":                            `invalid: an id has letters, digits and -, not "\xff"`,
		strings.Repeat("a", 1<<20):        "invalid: an id has 1 to 80 characters",
		strings.Repeat("a", 80):           "not_found: no session " + strings.Repeat("a", 80),
		"％":                               `invalid: an id has letters, digits and -, not "％"`,
		"c-" + strings.Repeat("\x00", 30): `invalid: an id has letters, digits and -, not "c-` + strings.Repeat(`\x00`, 30) + `"`,
	} {
		_, err := h.ask.Session(t.Context(), text, false)
		e, ok := errors.AsType[*admin.Error](err)
		if !ok || string(e.Kind)+": "+e.Message != want {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// requirements M01, M02
func TestUsageIsTheLedgerWhateverItIsSummedUpBy(t *testing.T) {
	t.Parallel()
	gw, ask := newEnv(t, gatewaytest.Options{Brain: model.Demo(0)})
	for _, p := range []string{"what is 12*7", "list files", "what is 6*7"} {
		gw.Ask(gatewaytest.Ann, p)
		gw.Ask(gatewaytest.Ben, p)
	}
	st, err := ask.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range admin.Groupings() {
		var two []admin.Grouping
		for _, also := range admin.Groupings() {
			if also != by {
				two = append(two, also)
			}
		}
		for _, q := range []admin.UsageQuery{
			{By: by}, {By: by, Since: st.Since}, {By: by, Until: st.Now.Add(time.Hour)}, {By: by, Also: two[:1]}, {By: by, Also: two},
		} {
			u, err := ask.Usage(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			var sum admin.USD
			var calls int64
			for _, g := range u.Groups {
				sum += g.Cost
				calls += g.Calls
			}
			if sum != st.Spend.Settled || sum != u.Total.Cost || calls != u.Total.Calls || calls < 6 || u.Total.Output == 0 {
				t.Errorf("%+v: %s in %d calls, spent were %s", q, sum.Exact(), calls, st.Spend.Settled.Exact())
			}
		}
		if u, err := ask.Usage(t.Context(), admin.UsageQuery{By: by, Since: st.Now.Add(time.Hour)}); err != nil || len(u.Groups) != 0 || u.Total.Calls != 0 {
			t.Errorf("by %s in an hour: %+v, %v", by, u, err)
		}
	}
	for _, q := range []admin.UsageQuery{
		{By: "mood"}, {By: "model", Also: []admin.Grouping{"model"}}, {By: "model", Also: []admin.Grouping{""}}, {By: "model", Since: st.Now, Until: st.Now},
	} {
		_, err = ask.Usage(t.Context(), q)
		if e, ok := errors.AsType[*admin.Error](err); !ok || e.Kind != admin.Invalid {
			t.Errorf("%+v: %v", q, err)
		}
	}
	u, err := ask.Usage(t.Context(), admin.UsageQuery{By: admin.ByPerson, Also: []admin.Grouping{admin.ByGroup, sessions.ByChannel}})
	var names []string
	for _, g := range u.Groups {
		names = append(names, g.Group+" "+strings.Join(g.Also, " "))
	}
	slices.Sort(names)
	if want := []string{"tg/1001 direct messages tg", "tg/1002 direct messages tg"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("by person: %q, %v", names, err)
	}
	if u, err := ask.Usage(t.Context(), admin.UsageQuery{By: admin.ByPerson, Until: st.Since.Add(-time.Hour)}); err != nil || len(u.Groups) != 0 {
		t.Errorf("until before the beginning: %+v, %v", u, err)
	}
	list, err := ask.Sessions(t.Context(), admin.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range list.Sessions {
		d, err := ask.Session(t.Context(), string(one.ID), false)
		if err != nil {
			t.Fatal(err)
		}
		var sum admin.USD
		for _, turn := range d.Turns {
			sum += turn.Cost
		}
		if sum != d.Tree[0].Own || sum == 0 || len(d.TurnCosts()) != len(d.Turns) {
			t.Errorf("the turns of %s cost %s, and it %s", one.ID, sum.Exact(), d.Tree[0].Own.Exact())
		}
	}
}

// What is asked in a group counts for the group and for who asked.
func TestUsageByGroup(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: model.Demo(0), Change: func(c *settings.Config) {
		for name, a := range c.Channels.Telegram {
			a.Access = policy.Access{People: []string{"1001", "1002"}, Groups: []string{"-2001"}}
			c.Channels.Telegram[name] = a
		}
	}})
	gw := env.Start()
	for _, p := range []telegram.Person{gatewaytest.Ann, gatewaytest.Ben} {
		env.Say(gatewaytest.Kitchen, p, "@"+gatewaytest.Username+" what is 6*7")
		gw.NextDelivered()
	}
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "what is 6*7")
	gw.NextDelivered()
	u, err := admin.NewClient(gw.AdminSocket()).Usage(t.Context(), admin.UsageQuery{By: admin.ByGroup, Also: []admin.Grouping{admin.ByPerson}})
	var names []string
	var sum admin.USD
	for _, g := range u.Groups {
		names = append(names, g.Group+" "+g.Also[0])
		sum += g.Cost
	}
	slices.Sort(names)
	if want := []string{"direct messages tg/1001", "tg/-2001 tg/1001", "tg/-2001 tg/1002"}; err != nil || !slices.Equal(names, want) || sum != u.Total.Cost || sum == 0 {
		t.Errorf("%q, %s of %s, %v", names, sum.Exact(), u.Total.Cost.Exact(), err)
	}
}
