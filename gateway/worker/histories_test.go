package worker_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asked is what the model was asked with last: the words of each message.
func (r *fixture) asked() (texts []string) {
	qs := r.model.Requests()
	for _, m := range qs[len(qs)-1].Messages {
		texts = append(texts, m.Text())
	}
	return texts
}

func TestAHistoryIsReadFromTheStoreOnceForManyTurns(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		p := r.start("w")
		var want []string
		for _, text := range []string{"one", "two", "three"} {
			r.say(1, text)
			r.await("the answer to "+text, func() bool { return slices.Contains(r.answers(1), "re: "+text) })
			r.idle()
			want = append(want, text)
			if d := cmp.Diff(want, r.asked()); d != "" {
				t.Errorf("the model was asked with another history:\n%s", d)
			}
			want = append(want, "re: "+text)
		}
		if n := p.store.read(); n != 1 {
			t.Errorf("the history was read %d times", n)
		}
		stored, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range stored {
			texts = append(texts, m.Text())
		}
		if d := cmp.Diff(want, texts); d != "" {
			t.Errorf("the store holds something else:\n%s", d)
		}
	})
}

func TestAHistoryThatAnotherWorkerWentOnWithIsReadAgain(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		a := r.start("a")
		r.say(1, "one")
		r.wantAnswers(1, "re: one")
		r.idle()

		// While a is cut off, b takes a message; then b goes.
		a.store.set(func(f *faults) { f.dead = true })
		b := r.start("b")
		r.say(1, "two")
		r.await("b's answer", func() bool { return slices.Contains(r.answers(1), "re: two") })
		r.idle()
		b.end(t)
		a.store.set(func(f *faults) { f.dead = false })

		r.say(1, "three")
		r.await("the last answer", func() bool { return slices.Contains(r.answers(1), "re: three") })
		if d := cmp.Diff([]string{"one", "re: one", "two", "re: two", "three"}, r.asked()); d != "" {
			t.Errorf("the model was asked with another history:\n%s", d)
		}
	})
}
