package slack_test

import (
	"fmt"
	"testing"

	"parley/channels"
)

// firstday T2, as on Telegram: what has no text is said in words, and never passed
// over in silence. The forms are those of Slack's reference of events and blocks.
func TestWhatHasNoTextIsSaidInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.run(t)
	r.connected(t)
	for i, c := range []struct{ fields, want string }{
		{`"blocks":[{"type":"call","call_id":"R1","call":{"v1":{"id":"R1","name":"Tea"}}}]`, "(shared a call: Tea, which cannot be shown here)"},
		{`"blocks":[{"type":"image","image_url":"https://example.org/a.gif","alt_text":"a dancing cat"}]`, "(shared a picture: a dancing cat, which cannot be shown here)"},
		{`"blocks":[{"type":"video","alt_text":"x","title":{"type":"plain_text","text":"How to"}}]`, "(shared a video: How to, which cannot be shown here)"},
		{`"blocks":[{"type":"poll_of_the_future","title":["odd"]}]`, "(shared something, which cannot be shown here)"},
		{`"blocks":"odd","subtype":"huddle_thread","text":"A huddle started"`, "(began a call, which cannot be joined here)"},
		{`"attachments":[{"is_share":true,"text":"","author_id":"U0BOB"}]`, "(passed on a message without a text, which cannot be shown here)"},
		{`"files":[{"id":"F1","mode":"tombstone"}]`, "(shared a file, which was deleted)"},
		{`"files":[{"id":"F2","mode":"hidden_by_limit"},{"id":"F3","mode":"hidden_by_limit"}]`, "(shared a file, which the plan of the workspace hides)"},
		{`"text":"words","blocks":[{"type":"image","alt_text":"a cat"}]`, "words"},
	} {
		r.inject(t, fmt.Sprintf(`{"type":"message","channel":"D0ANN","channel_type":"im","user":%q,"ts":"1700000000.0001%02d",%s}`, ann.ID, i, c.fields))
		if m := x.next(); m.Kind != channels.Said || m.Text != c.want {
			t.Errorf("%s came as %s %q (%s), want %q", c.fields, m.Kind, m.Text, m.Problem, c.want)
		}
	}
	// What Slack itself says of a channel is nobody's word, and an empty post none.
	for i, fields := range []string{`"subtype":"channel_topic","text":"x"`, `"text":""`, `"blocks":[{"type":"rich_text"}]`} {
		r.inject(t, fmt.Sprintf(`{"type":"message","channel":"D0ANN","channel_type":"im","user":%q,"ts":"1700000000.0002%02d",%s}`, ann.ID, i, fields))
		if m := x.next(); m.Kind != channels.Unhandled {
			t.Errorf("%s came as %s %q", fields, m.Kind, m.Text)
		}
	}
}
