package intake_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
)

// abuse M4: a stranger's words that somebody answers come marked, and no more of
// them than shows what is answered.
func TestQuotes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ö", 200<<10)
	listed, stranger := channels.Sender{ID: ben}, channels.Sender{ID: "6666"}
	for name, c := range map[string]struct {
		quote     channels.Quote
		untrusted bool
		most      int
	}{
		"of somebody who may talk":     {channels.Quote{Text: long, Author: listed}, false, 16<<10 + 3},
		"of a stranger":                {channels.Quote{Text: long, Author: stranger}, true, 1<<10 + 3},
		"of nobody knows whom":         {channels.Quote{Text: long}, true, 1<<10 + 3},
		"of a name only":               {channels.Quote{Text: long, Author: channels.Sender{Name: "Ben", Anonymous: true}}, true, 1<<10 + 3},
		"of the bot":                   {channels.Quote{Text: long, FromBot: true}, false, 300 + 3},
		"of a piece of the bot's":      {channels.Quote{Text: long, FromBot: true, IsExcerpt: true}, false, 16<<10 + 3},
		"that claims not to need this": {channels.Quote{Text: long, Author: listed, Untrusted: true}, false, 16<<10 + 3},
	} {
		var w world
		m := dm(ann, "what?")
		m.ReplyTo = &c.quote
		if err := w.intake(policy.Access{People: []string{ann, ben}}).Accept(t.Context(), m); err != nil || len(w.published) != 1 {
			t.Fatalf("%s: %v, %v", name, err, w.counts)
		}
		var got channels.Message
		noError(t, json.Unmarshal(w.published[0].Body, &got))
		if q := got.ReplyTo; q.Untrusted != c.untrusted || len(q.Text) > c.most || len(q.Text) < c.most-5 || !strings.HasSuffix(q.Text, "ö…") {
			t.Errorf("a quote %s: untrusted %v, %d bytes, want %v, %d", name, q.Untrusted, len(q.Text), c.untrusted, c.most)
		}
	}
}

// abuse M5: nobody's words become another's command because they were passed on.
func TestForwardedWordsAreNoCommand(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/new", "/stop", "/status", "hello"} {
		var w world
		m := dm(ann, "")
		m.Forwarded = []channels.Quote{{Text: text, Author: channels.Sender{ID: "6666", Name: "Mallory"}}}
		if err := w.intake(policy.Access{People: []string{ann}}).Accept(t.Context(), m); err != nil || len(w.published) != 1 || w.trace() != 1 {
			t.Errorf("%s: %v, %v", text, err, w.counts)
		}
		var got channels.Message
		if err := json.Unmarshal(w.published[0].Body, &got); err != nil || !got.Forwarded[0].Untrusted {
			t.Errorf("%s: stored as %+v, %v", text, got.Forwarded, err)
		}
	}
	var w world
	m := dm(ann, "")
	m.Forwarded = []channels.Quote{{Text: strings.Repeat("x", messages.MaxText)}, {Text: "y"}}
	if err := w.intake(policy.Access{Everyone: true}).Accept(t.Context(), m); err != nil || len(w.notices) != 1 || w.trace() != 1 {
		t.Errorf("more than is read: %v, %v", err, w.counts)
	}
}
