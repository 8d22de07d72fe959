package worker_test

import (
	"testing"
)

// Of what holds nothing that could be used the person hears, in one line, and no model is
// asked; of what holds a word, or one file that came, a model reads.
func TestNothingUsableCame(t *testing.T) {
	t.Parallel()
	const large = "I take at most 20 MB"
	lost := map[string]string{"large": large, "huge": large, "late": "it did not come in time, please send it again"}
	for name, row := range map[string]struct {
		text string
		refs []string
		want string
	}{
		"one file":           {"", []string{"large"}, "I could not use the file that you sent: " + large + "."},
		"two, of one reason": {"", []string{"large", "huge"}, "I could not use any of the files that you sent: " + large + "."},
		"two, of two":        {"", []string{"large", "late"}, "I could not use any of the files that you sent: " + large + "; " + lost["late"] + "."},
		"one of two came":    {"", []string{"large", "cat"}, "re: (file m1 large in 1)\n(file m1 cat in 1)"},
		"with words":         {"look", []string{"large"}, "re: look\n(file m1 large in 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(_ *testing.T, r *fixture) {
				p := newPorter(r, false)
				p.lost = lost
				r.start("w", p.with)
				r.send(row.text, row.refs...)
				r.wantAnswers(1, row.want)
				r.say(1, "and now?")
				r.idle()
				r.wantAnswers(1, row.want, "re: and now?")
			})
		})
	}
}
