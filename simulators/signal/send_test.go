package signal_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sim "parley/simulators/signal"
)

func (w *world) meet(ps ...sim.Person) {
	w.t.Helper()
	for _, p := range ps {
		if err := w.Meet(p); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestG30WhatCannotBeSentIsRefusedAsSignalCLIDoes(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	w.meet(ann)
	w.say(team, bob, "hi")
	w.say(news, bob, "hi")
	if _, err := w.Announce(news, bob, true); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Remove(team, bob, "b0700000-0000-4000-8000-000000000001"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		with args
		code int
		text string
	}{
		{"nothing", args{"recipient": ann.ACI, "message": ""}, -1, "Sending empty message is not allowed, either a message, attachment or sticker must be given."},
		{"nobody", args{"message": "x"}, -1, "No recipients given"},
		{"a strange number", args{"recipient": "12", "message": "x"}, -1, "Invalid phone number '12'"},
		{"an unknown group", args{"groupId": sim.MadeUpGroup(9), "message": "x"}, -1, "Group not found: " + sim.MadeUpGroup(9)},
		{"a strange group", args{"groupId": "?", "message": "x"}, -1, "Invalid group id: "},
		{"a group it is not in", args{"groupId": team.Group, "message": "x"}, -1, "User is not a member in group: Team (" + team.Group + ")"},
		{"a group in which only admins write", args{"groupId": news.Group, "message": "x"}, -1, "User is not allowed to send message to group: News (" + news.Group + ")"},
		{"an unknown style", args{"recipient": ann.ACI, "message": "x", "textStyle": "0:1:LOUD"}, -1, "Invalid style: LOUD"},
		{"a strange style", args{"recipient": ann.ACI, "message": "x", "textStyle": "x"}, -1, "Invalid textStyle syntax (x) expected 'start:length:STYLE'"},
		{"a strange mention", args{"recipient": ann.ACI, "message": "x", "mention": "x"}, -1, "Invalid mention syntax (x) expected 'start:length:recipientNumber'"},
		{"a missing file", args{"recipient": ann.ACI, "attachment": "/nowhere/at/all"}, -32603, "Failed to send message: /nowhere/at/all: "},
		{"a number as text", args{"recipient": ann.ACI, "message": "x", "editTimestamp": "5"}, -32603, "cannot be cast"},
		{"an unknown person", args{"recipient": sim.MadeUpACI(99), "message": "x"}, -1, "Failed to send message"},
		{"an unknown number", args{"recipient": "+4999999999", "message": "x"}, -1, "Failed to send message"},
	} {
		r := d.call("send", c.with)
		if r.Error == nil || r.Error.Code != c.code || !strings.HasPrefix(r.Error.Message, c.text) && !strings.Contains(r.Error.Message, c.text) {
			t.Errorf("%s: %+v", c.name, r)
		}
		if strings.Contains(c.name, "unknown person") && !strings.Contains(string(r.Error.Data), `{"response":{"results":[{"recipientAddress":{"uuid"`) &&
			!strings.Contains(string(r.Error.Data), "UNREGISTERED_FAILURE") {
			t.Errorf("%s: data %s", c.name, r.Error.Data)
		}
	}
	if b := w.Books(); len(b.Messages) != 0 || b.Totals.Refused != 14 {
		t.Errorf("books: %+v", b.Totals)
	}
}

func TestG30AGroupInWhichSomeAreNotReachedIsASuccess(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	w.say(team, ann, "hi")
	w.say(team, bob, "hi")
	if err := w.SetRegistered(bob, false); err != nil {
		t.Fatal(err)
	}
	r := d.send(args{"groupId": team.Group, "message": "to all"})
	got := map[string]string{}
	for _, one := range r.Results {
		got[*one.RecipientAddress.UUID] = one.Type
		if one.GroupID != team.Group {
			t.Errorf("result: %+v", one)
		}
	}
	if len(got) != 2 || got[ann.ACI] != "SUCCESS" || got[bob.ACI] != "UNREGISTERED_FAILURE" {
		t.Errorf("results: %v", got)
	}
	m := w.Books().Messages[0]
	if m.Chat != team.Group || m.Results[bob.ACI] != "UNREGISTERED_FAILURE" {
		t.Errorf("books: %+v", m)
	}
	if err := w.SetRegistered(bob, true); err != nil {
		t.Fatal(err)
	}
	for trouble, want := range map[sim.Trouble]string{sim.NetworkFailure: "NETWORK_FAILURE", sim.PreKeyFailure: "INVALID_PRE_KEY_FAILURE", sim.Untrusted: "IDENTITY_FAILURE", sim.Unregistered: "UNREGISTERED_FAILURE"} {
		if err := w.Plan(sim.Fault{Trouble: trouble, Chat: ann.ACI}); err != nil {
			t.Fatal(err)
		}
		e := d.call("send", args{"recipient": ann.Number, "message": "x"}).Error
		if e == nil || !strings.Contains(string(e.Data), want) || (e.Code == -4) != (trouble == sim.Untrusted) {
			t.Errorf("%s: %+v", trouble, e)
		}
		// In a group it is one member's.
		got := map[string]string{}
		for _, one := range d.send(args{"groupId": team.Group, "message": "to all"}).Results {
			got[*one.RecipientAddress.UUID] = one.Type
		}
		if len(got) != 2 || got[ann.ACI] != want || got[bob.ACI] != "SUCCESS" {
			t.Errorf("%s in a group: %v", trouble, got)
		}
		w.ClearFaults()
	}
}

func TestG30ARateLimitHoldsUntilItsChallengeIsSolved(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	w.meet(ann)
	if err := w.Plan(sim.Fault{Trouble: sim.RateLimited, Next: 1}); err != nil {
		t.Fatal(err)
	}
	var token string
	for range 2 {
		e := d.call("send", args{"recipient": ann.ACI, "message": "x"}).Error
		if e == nil || e.Code != -5 || e.Message != "Failed to send message due to rate limiting" {
			t.Fatalf("send: %+v", e)
		}
		data := decode[struct{ Response sent }](t, e.Data).Response.Results[0]
		if data.Type != "RATE_LIMIT_FAILURE" || data.Token == "" || data.RetryAfter == nil || *data.RetryAfter != -1 {
			t.Errorf("data: %s", e.Data)
		}
		token = data.Token
	}
	for _, wrong := range []args{{"challenge": token, "captcha": "wrong"}, {"challenge": "x", "captcha": "signalcaptcha://x"}} {
		if e := d.call("submitRateLimitChallenge", wrong).Error; e == nil || e.Code != -6 {
			t.Errorf("%v: %+v", wrong, e)
		}
	}
	if r := d.call("submitRateLimitChallenge", args{"challenge": token, "captcha": "signalcaptcha://x"}); r.Error != nil || string(r.Result) != "{}" {
		t.Errorf("challenge: %+v", r)
	}
	d.send(args{"recipient": ann.ACI, "message": "x"})
}

func TestWhatAnAccountDoesStandsInTheBooks(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.NoReceipts = false })
	d := w.daemon()
	w.meet(bob)
	said := w.say(sim.Chat{}, ann, "hi")
	if _, err := w.SetTimer(sim.Chat{}, ann, 60); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := d.send(args{
		"recipient": []string{ann.ACI, bob.Number}, "message": "see https://example.org \uFFFC", "mentions": []string{"24:1:" + ann.ACI},
		"attachments": []string{path, "data:image/png;filename=a%20b.png;base64,cG5n"},
	})
	for method, with := range map[string]args{
		"sendReaction": {"recipient": ann.ACI, "emoji": "👀", "targetAuthor": ann.ACI, "targetTimestamp": said.Timestamp},
		"sendReceipt":  {"recipient": ann.ACI, "targetTimestamp": []int64{said.Timestamp}},
		"sendTyping":   {"recipient": ann.ACI},
		"remoteDelete": {"recipient": bob.Number, "targetTimestamp": r.Timestamp},
	} {
		if got := d.call(method, with); got.Error != nil {
			t.Errorf("%s: %+v", method, got.Error)
		}
	}
	d.send(args{"recipient": ann.ACI, "message": "stray", "editTimestamp": 5})
	d.send(args{"recipient": number, "message": "to myself"})
	b := w.Books()
	first, second := b.Messages[0], b.Messages[1]
	v := first.Versions[0]
	sum := sha256.Sum256([]byte("notes"))
	if first.Chat != ann.ACI || second.Chat != bob.ACI || first.Timestamp != second.Timestamp || first.ExpiresIn != 60 || second.ExpiresIn != 0 ||
		!first.Deleted.IsZero() || second.Deleted.IsZero() {
		t.Errorf("messages: %+v", b.Messages)
	}
	if v.Mentions[0] != (sim.MentionEntry{ACI: ann.ACI, Start: 24, Length: 1}) ||
		v.Attachments[0] != (sim.AttachmentSent{ContentType: "text/plain; charset=utf-8", Filename: "notes.txt", Size: 5, SHA256: hex.EncodeToString(sum[:])}) ||
		v.Attachments[1].Filename != "a b.png" || v.Attachments[1].ContentType != "image/png" {
		t.Errorf("version: %+v", v)
	}
	kinds := map[string]int{}
	for _, s := range b.Signals {
		kinds[s.Kind+" "+s.Text]++
		if s.Chat != ann.ACI || s.Process != 1 {
			t.Errorf("signal: %+v", s)
		}
	}
	if len(kinds) != 3 || kinds["reaction 👀"] != 1 || kinds["receipt read"] != 1 || kinds["typing "] != 1 {
		t.Errorf("signals: %v", kinds)
	}
	if b.Totals.StrayEdits != 1 || b.Totals.Sent != 3 || b.Totals.Deleted != 1 {
		t.Errorf("totals: %+v", b.Totals)
	}
	all := strings.Join(d.journal.await(t, 4), "\n")
	if strings.Count(all, `"isDelivery":true`) != 2 || strings.Contains(all, "to myself") {
		t.Errorf("journal:\n%s", all)
	}
}

func TestGroupsAndPeopleAreListed(t *testing.T) {
	t.Parallel()
	w := start(t)
	d := w.daemon()
	w.meet(bob)
	w.say(team, ann, "hi")
	if _, err := w.SetTimer(team, ann, 30); err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID, Name              string
		IsMember              bool
		MessageExpirationTime int
		Members               []struct{ UUID string }
	}
	rows := decode[[]row](t, d.call("listGroups", nil).Result)
	if len(rows) != 1 || rows[0].ID != team.Group || rows[0].Name != "Team" || !rows[0].IsMember || rows[0].MessageExpirationTime != 30 || len(rows[0].Members) != 2 {
		t.Errorf("groups: %+v", rows)
	}
	status := decode[[]struct {
		UUID         *string
		IsRegistered bool
	}](t, d.call("getUserStatus", args{"recipient": []string{ann.Number, "+4999999999"}}).Result)
	if len(status) != 2 || !status[0].IsRegistered || *status[0].UUID != ann.ACI || status[1].IsRegistered || status[1].UUID != nil {
		t.Errorf("status: %+v", status)
	}
	if r := d.call("listIdentities", nil); r.Error != nil {
		t.Errorf("listIdentities: %+v", r.Error)
	}
}

func TestTwoAccountsOfOneDaemonHearEachOtherAndNeedTheirName(t *testing.T) {
	t.Parallel()
	const other = "+4915550000002"
	w := start(t, func(o *sim.Options) {
		o.Accounts = append(o.Accounts, sim.Account{Number: other, Name: "Other"})
	})
	d := w.daemon(func(o *sim.DaemonOptions) { o.Account = "" })
	if r := d.call("listAccounts", nil); !strings.Contains(string(r.Result), other) || !strings.Contains(string(r.Result), `"aci"`) {
		t.Errorf("listAccounts: %s", r.Result)
	}
	for _, c := range []struct {
		with args
		text string
	}{
		{args{"recipient": other, "message": "x"}, "Method requires valid account parameter"},
		{args{"account": "+4900000000", "message": "x"}, "Specified account does not exist"},
	} {
		if e := d.call("send", c.with).Error; e == nil || e.Code != -32602 || e.Message != c.text {
			t.Errorf("%v: %+v", c.with, e)
		}
	}
	e := d.events("?account=%2B4915550000002")
	w.say(sim.Chat{}, ann, "for the first only")
	if r := d.call("send", args{"account": number, "recipient": other, "message": "from a bot"}); r.Error != nil {
		t.Fatalf("send: %+v", r.Error)
	}
	if got := e.next(); !strings.Contains(got, `"message":"from a bot"`) || !strings.Contains(got, `"account":"`+other+`"`) || !strings.Contains(got, fmt.Sprintf(`"sourceNumber":%q`, number)) {
		t.Errorf("the other account got %s", got)
	}
}
