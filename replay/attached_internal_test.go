package replay

import (
	"slices"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/attachments"
	"parley/gateway/worker"
)

// firstday S9: what others said before a message is found again in a recording, beside
// the files of the message.
func TestBringBackFindsWhatWasSaidAroundAMessage(t *testing.T) {
	t.Parallel()
	around := worker.FormatQuotes([]channels.Quote{{Text: "one\ntwo", Author: channels.Sender{Name: "Ben"}}, {Text: "three"}})
	fs := []attachments.File{{Attachment: channels.Attachment{Kind: channels.Around}}, {Attachment: channels.Attachment{Kind: "photo"}}}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"both":       {"[ann] what?\n" + around + "\n(attached photo)", []string{around, "(attached photo)"}},
		"no context": {"[ann] what?\n(attached photo)", []string{"", "(attached photo)"}},
	} {
		all := attachments.UnreadableResults([][]attachments.File{fs})[0]
		restoreTexts(all, fs, strings.Split(c.text, "\n"))
		if got := []string{all[0].Line, all[1].Line}; !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
