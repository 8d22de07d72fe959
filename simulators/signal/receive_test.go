package signal_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sim "parley/simulators/signal"
)

func mode(m string) func(*sim.DaemonOptions) {
	return func(o *sim.DaemonOptions) { o.ReceiveMode = m }
}

// v013 is a signal-cli of the time before the service left its GUIDs out.
func v013(o *sim.Options) { o.Version, o.ServerGUID = sim.Version013, true }

func TestG26WithoutAClientAManualDaemonLeavesMessagesWithTheService(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon(mode(sim.Manual))
	w.say(sim.Chat{}, ann, "one")
	w.say(sim.Chat{}, ann, "two")
	if b := w.Books(); b.Pending[number] != 2 || b.Receiving[number] || b.Envelopes[0].Handed != 0 {
		t.Errorf("books: %+v", b)
	}
	e := d.events("")
	for _, want := range []string{"one", "two"} {
		if got := e.next(); !strings.Contains(got, want) {
			t.Errorf("%s, not %s", got, want)
		}
	}
	// The journal hears what a client made it receive.
	if l := d.journal.await(t, 2); len(l) != 2 {
		t.Errorf("journal: %q", l)
	}
}

func TestG26AClientThatIsGoneLosesWhatTheDaemonWroteToIt(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon(mode(sim.Manual), func(o *sim.DaemonOptions) { o.NoReceiveStdout = true })
	e := d.events("")
	w.await("receiving", func(b sim.Book) bool { return b.Receiving[number] })
	e.close()
	said := 0
	for {
		w.say(sim.Chat{}, ann, fmt.Sprintf("message %d", said))
		said++
		b := w.await("handled or left", func(b sim.Book) bool { return b.Totals.Handled == said || !b.Receiving[number] })
		if !b.Receiving[number] {
			break
		}
	}
	b := w.Books()
	lost := b.Totals.Acked
	if lost == 0 {
		t.Fatalf("nothing is lost: %+v", b.Totals)
	}
	w.say(sim.Chat{}, ann, "after")
	e = d.events("")
	for got := e.next(); !strings.Contains(got, "after"); got = e.next() {
		for i := range lost {
			if strings.Contains(got, fmt.Sprintf(`"message %d"`, i)) {
				t.Errorf("what was acknowledged comes again: %s", got)
			}
		}
	}
}

func TestG26OnStartTheJournalHasEverythingAndALateClientNothing(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	w.say(sim.Chat{}, ann, "early")
	d.journal.await(t, 1)
	e := d.events("")
	w.say(sim.Chat{}, ann, "late")
	if got := e.next(); !strings.Contains(got, "late") {
		t.Errorf("the client got %s", got)
	}
	if l := d.journal.await(t, 2); !strings.Contains(l[0], "early") || !strings.Contains(l[1], "late") {
		t.Errorf("journal: %q", l)
	}
}

func TestWhatAnUntrustedPersonWritesComesAfterTrust(t *testing.T) {
	t.Parallel()
	w := start(t)
	dir := t.TempDir()
	d := w.daemon(func(o *sim.DaemonOptions) { o.Config = dir })
	w.say(sim.Chat{}, ann, "first")
	d.journal.await(t, 1)
	if err := w.Reinstall(ann); err != nil {
		t.Fatal(err)
	}
	w.say(sim.Chat{}, ann, "secret")
	l := d.journal.await(t, 2)[1]
	if !strings.Contains(l, `"exception":{"message":"Untrusted identity: `) || !strings.Contains(l, `"type":"UntrustedIdentityException"`) ||
		strings.Contains(l, "secret") || strings.Contains(l, "dataMessage") {
		t.Errorf("journal: %s", l)
	}
	if r := d.call("send", args{"recipient": ann.ACI, "message": "x"}); r.Error == nil || r.Error.Code != -4 || !strings.Contains(string(r.Error.Data), "IDENTITY_FAILURE") {
		t.Errorf("send: %+v", r.Error)
	}
	w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 2 })
	if left, err := os.ReadDir(filepath.Join(dir, "msg-cache")); err != nil || len(left) != 1 {
		t.Errorf("the cache holds %v %v", left, err)
	}
	if r := d.call("trust", args{"recipient": ann.ACI, "trustAllKnownKeys": true}); r.Error != nil {
		t.Fatalf("trust: %+v", r.Error)
	}
	if l := d.journal.await(t, 3)[2]; !strings.Contains(l, "secret") || strings.Contains(l, "exception") {
		t.Errorf("journal: %s", l)
	}
	d.send(args{"recipient": ann.ACI, "message": "x"})

	careless := start(t)
	d = careless.daemon(func(o *sim.DaemonOptions) { o.Trust = "always" })
	careless.say(sim.Chat{}, ann, "first")
	if err := careless.Reinstall(ann); err != nil {
		t.Fatal(err)
	}
	careless.say(sim.Chat{}, ann, "second")
	if l := d.journal.await(t, 2)[1]; !strings.Contains(l, "second") {
		t.Errorf("with trust always: %s", l)
	}
}

func TestFaultsOfTheServiceReachTheJournal(t *testing.T) {
	t.Parallel()
	w := start(t)
	if err := w.Plan(
		sim.Fault{Trouble: sim.Redelivered, Next: 1},
		sim.Fault{Trouble: sim.Broken, Skip: 1, Next: 1, Chat: bob.ACI},
	); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		w.say(sim.Chat{}, []sim.Person{ann, bob}[i%2], fmt.Sprintf("message %d", i))
	}
	d := w.daemon()
	l := d.journal.await(t, 9)
	w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 9 && b.Pending[number] == 0 })
	all := strings.Join(l, "\n")
	seen := 0
	for i := range 8 {
		seen += strings.Count(all, fmt.Sprintf("message %d", i))
	}
	if seen != 8 || strings.Count(all, "ProtocolInvalidMessageException") != 1 {
		t.Errorf("%d messages:\n%s", seen, all)
	}
}

func TestAStreamThatIsCutEndsInHalfALine(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	e := d.events("")
	if err := w.Plan(sim.Fault{Trouble: sim.StreamCut, Next: 1}); err != nil {
		t.Fatal(err)
	}
	w.say(sim.Chat{}, ann, "whole only in the journal")
	if got := e.next(); strings.Contains(got, "journal") || !strings.HasPrefix(got, `{"envelope":`) {
		t.Errorf("the client got %s", got)
	}
	if l := d.journal.await(t, 1); !strings.Contains(l[0], "whole only in the journal") {
		t.Errorf("journal: %q", l)
	}
	b := w.await("handled", func(b sim.Book) bool { return b.Totals.Handled == 1 })
	if b.Envelopes[0].Clients != 0 || b.Envelopes[0].Journal != 1 {
		t.Errorf("books: %+v", b.Envelopes)
	}
}

func TestKeepAlivesCarryTheHeadOf013(t *testing.T) {
	t.Parallel()
	w := start(t, v013, func(o *sim.Options) { o.KeepAlive = time.Millisecond })
	d := w.daemon()
	d.events("").close() // it opens though nothing is received
}

// firstday G1: AsamK/signal-cli #2059, #2060.
func TestBefore0145WhatASealedSenderWritesIsConfirmedAndLost(t *testing.T) {
	t.Parallel()
	for version, lost := range map[string]bool{sim.Version013: true, sim.Version0144: true, "0.14.5": false, sim.Version014: false} {
		w := start(t, func(o *sim.Options) { o.Version = version })
		d := w.daemon(func(o *sim.DaemonOptions) { o.ReceiveMode = sim.OnStart })
		if _, err := w.Say(sim.Chat{}, ann, "sealed", sim.SayOptions{}); err != nil {
			t.Fatal(err)
		}
		open := bob
		open.Unsealed = true
		if _, err := w.Say(sim.Chat{}, open, "open", sim.SayOptions{}); err != nil {
			t.Fatal(err)
		}
		lines := d.journal.await(t, 2)
		const without = `{"envelope":{"source":null,"sourceNumber":null,"sourceUuid":null,"sourceName":null,"sourceDevice":null,"timestamp":`
		const says = `"exception":{"message":"getServerGuid(...) must not be null","type":"NullPointerException"}`
		if is := strings.HasPrefix(lines[0], without) && strings.Contains(lines[0], says); is != lost || strings.Contains(lines[0], "dataMessage") == lost {
			t.Errorf("%s: of a sealed sender the journal has %s", version, lines[0])
		}
		if !strings.Contains(lines[1], `"message":"open"`) {
			t.Errorf("%s: of another sender the journal has %s", version, lines[1])
		}
		if b := w.await("both are confirmed", func(b sim.Book) bool { return b.Totals.Acked == 2 }); b.Pending[number] != 0 {
			t.Errorf("%s: %v still wait", version, b.Pending)
		}
	}
}

// firstday G2: the manual page of signal-cli (updateGroup), AsamK/signal-cli #1160.
func TestWhoDoesNotHoldTheProfileKeyMakesThePendingMemberThatUpdateGroupAccepts(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon(func(o *sim.DaemonOptions) { o.ReceiveMode = sim.OnStart })
	const ours = "b0700000-0000-4000-8000-000000000001"
	invite := func(g sim.Chat, by sim.Person) {
		t.Helper()
		if _, err := w.Invite(g, by, ours); err != nil {
			t.Fatal(err)
		}
	}
	invite(team, ann)
	if l := d.journal.await(t, 1)[0]; !strings.Contains(l, `"type":"UPDATE"`) || !strings.Contains(l, team.Group) {
		t.Errorf("the invitation came as %s", l)
	}
	group := func(id string) (row struct {
		IsMember       bool                     `json:"isMember"`
		PendingMembers []struct{ UUID *string } `json:"pendingMembers"`
	},
	) {
		t.Helper()
		rows := []any{&row}
		if err := json.Unmarshal(d.call("listGroups", args{"groupId": id}).Result, &rows); err != nil {
			t.Fatal(err)
		}
		return row
	}
	if g := group(team.Group); g.IsMember || len(g.PendingMembers) != 1 || *g.PendingMembers[0].UUID != ours {
		t.Errorf("who was invited stands in the group as %+v", g)
	}
	w.say(team, ann, "before")
	if r := d.call("send", args{"groupId": team.Group, "message": "x"}); r.Error == nil || !strings.Contains(r.Error.Message, "not a member") {
		t.Errorf("who is pending sends: %+v", r)
	}
	if r := d.call("updateGroup", args{"groupId": team.Group}); r.Error != nil {
		t.Errorf("accepting: %+v", r.Error)
	}
	if g := group(team.Group); !g.IsMember || len(g.PendingMembers) != 0 {
		t.Errorf("who has accepted stands in the group as %+v", g)
	}
	w.say(team, ann, "after")
	if l := d.journal.await(t, 2)[1]; !strings.Contains(l, `"message":"after"`) {
		t.Errorf("after it was accepted came %s", l)
	}
	// Who was written to holds the key.
	d.call("send", args{"recipient": ann.ACI, "message": "hello"})
	other := sim.Chat{Group: sim.MadeUpGroup(2)}
	invite(other, ann)
	if g := group(other.Group); !g.IsMember {
		t.Errorf("who was added by somebody with the key stands in the group as %+v", g)
	}
}

// firstday G8: man/signal-cli-jsonrpc.5.
func TestSince0146EventsHaveIDsAndComeAgainBehindOne(t *testing.T) {
	t.Parallel()
	// read gives the ids and texts of the next n events behind last.
	read := func(d *daemon, last string, n int) (ids, texts []string) {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.HTTPAddr()+"/api/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Last-Event-ID", last)
		res, err := d.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		for s := bufio.NewScanner(res.Body); len(texts) < n && s.Scan(); {
			if id, ok := strings.CutPrefix(s.Text(), "id:"); ok {
				ids = append(ids, id)
			}
			if data, ok := strings.CutPrefix(s.Text(), "data:"); ok {
				_, text, _ := strings.Cut(data, `"message":"`)
				text, _, _ = strings.Cut(text, `"`)
				texts = append(texts, text)
			}
		}
		return ids, texts
	}
	w := start(t)
	d := w.daemon(func(o *sim.DaemonOptions) { o.ReceiveMode = sim.OnStart })
	for _, text := range []string{"one", "two", "three"} {
		w.say(sim.Chat{}, ann, text)
	}
	d.journal.await(t, 3)
	ids, texts := read(d, "of another daemon", 3)
	if len(ids) != 3 || !slices.Equal(texts, []string{"one", "two", "three"}) {
		t.Fatalf("behind an unknown event came %q, %q", ids, texts)
	}
	if again, texts := read(d, ids[0], 2); !slices.Equal(again, ids[1:]) || !slices.Equal(texts, []string{"two", "three"}) {
		t.Errorf("behind the first came %q, %q", again, texts)
	}
	old := start(t, func(o *sim.Options) { o.Version = "0.14.5" })
	d = old.daemon(func(o *sim.DaemonOptions) { o.ReceiveMode = sim.OnConnection }) // it keeps nothing for who comes later
	old.say(sim.Chat{}, ann, "one")
	if ids, texts := read(d, "1-1", 1); len(ids) != 0 || !slices.Equal(texts, []string{"one"}) {
		t.Errorf("before 0.14.6 came %q, %q", ids, texts)
	}
}
