package signal_test

import (
	"fmt"
	"testing"

	"parley/channels"
	sim "parley/simulators/signal"
)

// firstday T2, as on Telegram: what has no text is said in words, and never passed
// over in silence.
func TestWhatHasNoTextIsSaidInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	for _, c := range []struct {
		o          sim.SayOptions
		text, want string
	}{
		{sim.SayOptions{Sticker: "abcd"}, "", "(shared a sticker, which cannot be shown here)"},
		{sim.SayOptions{Contacts: []sim.Contact{{Given: "Eve", Family: "Cole", Number: "+4915550001009", Organization: "Eve Ltd"}, {Given: "Ben"}}}, "", "(shared a contact: Eve Cole, Eve Ltd, +4915550001009)\n(shared a contact: Ben)"},
		{sim.SayOptions{Contacts: []sim.Contact{{}}}, "", "(shared a contact, which cannot be shown here)"},
		{sim.SayOptions{Poll: &sim.Poll{Question: "Tea?", Options: []string{"yes", "no"}}}, "", "(shared a poll: Tea?\n- yes\n- no)"},
		{sim.SayOptions{Payment: &sim.Payment{Note: "for the tea"}}, "", "(sent a payment: for the tea)"},
		{sim.SayOptions{Payment: &sim.Payment{}}, "", "(shared a payment, which cannot be shown here)"},
		{sim.SayOptions{ViewOnce: true, Attachments: []sim.Attachment{*picture("once")}}, "look", "(shared a message to be seen once, which cannot be shown here)"},
		{sim.SayOptions{StoryReply: &sim.Quote{Timestamp: 5, Author: ourACI}}, "nice", "nice\n(answering a story, which cannot be shown here)"},
		{sim.SayOptions{Sticker: "abcd"}, "with words", "with words\n(shared a sticker, which cannot be shown here)"},
	} {
		r.say(t, sim.Chat{}, ann, c.text, c.o)
		if m := got.next(); m.Kind != channels.Said || m.Text != c.want || len(m.Attachments) != 0 {
			t.Errorf("%+v came as %s %q %+v (%s), want %q", c.o, m.Kind, m.Text, m.Attachments, m.Problem, c.want)
		}
	}
	// What signal-cli could not fetch has no id, and newer stickers have an emoji.
	for fields, want := range map[string]string{
		`"attachments":[{"contentType":"image/png","id":null,"size":3}]`: "(shared a file, which cannot be shown here)",
		`"sticker":{"packId":"ab","stickerId":1,"emoji":"\ud83c\udf89"}`: "\U0001f389",
		`"pollCreate":"changed"`: "(shared a poll, which cannot be shown here)",
	} {
		if _, err := r.Inject("", fmt.Appendf(nil, `{"envelope":{"source":%[1]q,"sourceUuid":%[1]q,"sourceDevice":1,"timestamp":%[2]d,"dataMessage":{"timestamp":%[2]d,"message":null,%[3]s}},"account":%[4]q}`,
			ann.ACI, 1000+len(fields), fields, number)); err != nil {
			t.Fatal(err)
		}
		if m := got.next(); m.Kind != channels.Said || m.Text != want {
			t.Errorf("%s came as %s %q (%s), want %q", fields, m.Kind, m.Text, m.Problem, want)
		}
	}
}
