package intake_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
)

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
	open := policy.Access{Everyone: true}
	lists := policy.Access{People: []string{ann}, Groups: []string{kitchen}}
	bot := func(m channels.Message) channels.Message { m.Sender.Bot = true; return m }
	anonymous := func(m channels.Message) channels.Message { m.Sender.Anonymous = true; return m }
	nameless := func(m channels.Message) channels.Message { m.Sender.ID = ""; return m }
	elsewhere := func(m channels.Message) channels.Message { m.Address.Peer = "-3000"; return m }
	for _, c := range []struct {
		name    string
		access  policy.Access
		message channels.Message
		allowed bool
	}{
		{"the zero access is nobody, in a DM", policy.Access{}, dm(ann, "hi"), false},
		{"the zero access is nobody, in a group", policy.Access{}, group(ann, "hi"), false},
		{"groups alone are nobody", policy.Access{Groups: []string{kitchen}}, group(ann, "hi"), false},
		{"groups alone are nobody in a DM", policy.Access{Groups: []string{ann}}, dm(ann, "hi"), false},
		{"a listed person in a DM", policy.Access{People: []string{ann}}, dm(ann, "hi"), true},
		{"an unlisted person in a DM", lists, dm(ben, "hi"), false},
		{"a listed person in an unlisted group", policy.Access{People: []string{ann}}, group(ann, "hi"), false},
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
		{"no sender, and an empty id is listed", policy.Access{People: []string{""}}, nameless(dm(ben, "hi")), false},
	} {
		for _, kind := range all {
			for _, text := range []string{"hi", "/stop", "/status", "/new", strings.Repeat("x", messages.MaxText+1)} {
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
	for _, text := range []string{"hi", "/stop", "/status", "/new", strings.Repeat("x", messages.MaxText+1)} {
		var w world
		m := group(ann, text)
		m.Mentioned = false
		noError(t, w.intake(policy.Access{Everyone: true}).Accept(t.Context(), m))
		if w.trace() != 0 || w.counts["ignored tg not_mentioned"] != 1 {
			t.Errorf("%.10q: %v", text, w.counts)
		}
	}
	var w world
	m := dm(ann, "hi")
	m.Mentioned = false
	if err := w.intake(policy.Access{Everyone: true}).Accept(t.Context(), m); err != nil || len(w.published) != 1 {
		t.Errorf("a direct message: %v, %v", err, w.counts)
	}
}

func TestEachTextGoesItsWay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"hi": "published", "/new": "published", "/clear": "published", "/NEW x": "published", "/usr/bin": "published",
		"/stop": "request", "/STOP": "request", "/stop now": "request",
		"/status": "notice", "/cost": "notice", "/help": "notice", "/start": "notice", "/nonsense": "notice",
		strings.Repeat("x", messages.MaxText): "published", strings.Repeat("x", messages.MaxText+1): "notice",
		"/stop " + strings.Repeat("x", messages.MaxText): "notice",
	} {
		var w world
		noError(t, w.intake(policy.Access{Everyone: true}).Accept(t.Context(), dm(ann, text)))
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
	in := w.intake(policy.Access{Everyone: true})
	if err := in.Accept(t.Context(), dm(ann, "")); err != nil || w.trace() != 0 || w.counts["ignored tg unsupported"] != 1 {
		t.Errorf("%v, %v", err, w.counts)
	}
	m := dm(ann, "")
	m.Attachments = []channels.Attachment{{Kind: "photo", Ref: "x"}}
	if err := in.Accept(t.Context(), m); err != nil || len(w.published) != 1 {
		t.Errorf("%v, %v", err, w.counts)
	}
}
