package worker_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"parley/costs"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

// asksForSummary reports whether q is a request for a summary.
func asksForSummary(q llm.Request) bool {
	return strings.HasPrefix(q.Messages[len(q.Messages)-1].Text(), "Provide a detailed but concise summary")
}

// summariser answers requests for a summary with one, and all others by what they hold:
// a fact that is nowhere in them cannot be known.
func summariser(_ int, q llm.Request) llmtest.Turn {
	var all strings.Builder
	for _, m := range q.Messages {
		all.WriteString(m.Text() + "\n")
	}
	fact := "unknown"
	if strings.Contains(all.String(), "the code is 4711") {
		fact = "the code is 4711"
	}
	switch last := q.Messages[len(q.Messages)-1].Text(); {
	case asksForSummary(q):
		return llmtest.Turn{llmtest.Text(fact)}
	case last == "which code?":
		return llmtest.Turn{llmtest.Text(fact)}
	default:
		return llmtest.Turn{llmtest.Text(strings.Repeat("abc ", 500))}
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	window := func(o *worker.Options) {
		ag := o.Settings.Agents["main"]
		ag.Window, ag.MaxTokens = 8000, 500
		o.Settings.Agents["main"] = ag
	}
	last := func(r *fixture) string {
		all := r.answers(1)
		return all[len(all)-1]
	}
	t.Run("requirements AI03: summarises, keeps the history, and can be taken back", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.model.Reply = summariser
			p := r.start("w", window)
			for _, text := range []string{"/compact", "note: the code is 4711", "two", "three", "/compact the code", "which code?", "/compact undo", "/compact undo", "which code?"} {
				r.say(1, text)
				r.idle()
			}
			got := r.answers(1)
			for i, want := range map[int]string{
				0: "There is nothing to summarise yet.", 4: "I have summarised what was said before", 5: "the code is 4711",
				6: "The summary is taken back", 7: "There is no summary to take back.", 8: "the code is 4711",
			} {
				if len(got) != 9 || !strings.HasPrefix(got[i], want) {
					t.Fatalf("answer %d of %d: %.200q, want %q", i, len(got), got[i], want)
				}
			}
			var summaries int
			for i, q := range r.model.Requests() {
				if !asksForSummary(q) {
					continue
				}
				summaries++
				if words := q.Messages[len(q.Messages)-1].Text(); !strings.HasSuffix(words, "above all: the code") {
					t.Errorf("request %d does not say what is wanted: …%s", i, words[len(words)-60:])
				}
			}
			if summaries != 1 {
				t.Errorf("%d summaries were asked for", summaries)
			}
			history, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
			if err != nil {
				t.Fatal(err)
			}
			kinds := map[transcript.OverlayKind]int{}
			for _, m := range history {
				if o, ok := m.Overlay(); ok {
					kinds[o.Kind]++
				}
			}
			if len(history) != 18+2 || kinds[transcript.Summarised] != 1 || kinds[transcript.Undone] != 1 {
				t.Errorf("%d messages are stored, overlays %v", len(history), kinds)
			}
			p.end(t)
		})
	})
	t.Run("requirements TX22: of a long conversation the end is read, and what a summary stands for when it is taken back", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.model.Reply = summariser
			p := r.start("w", window)
			r.say(1, "note: the code is 4711")
			for range 270 {
				r.say(1, "more")
				r.idle()
			}
			p.end(t)
			p = r.start("w", window)
			for i, text := range []string{"which code?", "/compact undo", "which code?"} {
				r.say(1, text)
				r.idle()
				if n := p.store.readPages(); p.store.read() > 0 || n != []int{1, 3, 3}[i] {
					t.Errorf("%d pages of the history were read by the end of %q, and all of it %d times", n, text, p.store.read())
				}
			}
			got := r.answers(1)
			if got = got[len(got)-3:]; got[0] != "the code is 4711" || got[2] != "the code is 4711" || !strings.HasPrefix(got[1], "The summary is taken back") {
				t.Errorf("got %.200q", got)
			}
			p.end(t)
		})
	})
	t.Run("happens by itself before the window is full, and is paid as a summary", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.model.Reply = summariser
			r.start("w", window)
			r.say(1, "note: the code is 4711")
			for range 40 {
				r.say(1, "more")
				r.idle()
			}
			r.say(1, "which code?")
			r.idle()
			if got := last(r); got != "the code is 4711" {
				t.Errorf("after 41 turns the answer is %.200q", got)
			}
			summaries := 0
			for _, q := range r.model.Requests() {
				if asksForSummary(q) {
					summaries++
				}
			}
			if summaries < 2 || summaries > 10 {
				t.Errorf("%d summaries in 42 turns", summaries)
			}
			sums, err := r.store.Totals(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, s := range sums {
				found = found || s.Labels.Purpose == costs.Summary
			}
			if !found {
				t.Errorf("the ledger has no summary: %+v", sums)
			}
		})
	})
	t.Run("goes on after its worker died", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			reached, wait := make(chan struct{}, 8), make(chan struct{})
			r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
				if asksForSummary(q) {
					return append(llmtest.Turn{llmtest.Notify(reached), llmtest.Wait(wait)}, summariser(n, q)...)
				}
				return summariser(n, q)
			}
			p := r.start("w", window)
			for _, text := range []string{"note: the code is 4711", "two"} {
				r.say(1, text)
				r.idle()
			}
			r.say(1, "/compact")
			<-reached
			p.die()
			close(wait)
			r.start("w2", window)
			r.idle()
			if got := last(r); !strings.HasPrefix(got, "I have summarised") {
				t.Errorf("the answer is %.200q", got)
			}
		})
	})
	t.Run("requirements A05, N05, TX11: ends when a person says stop, and leaves the conversation usable", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			reached := make(chan struct{}, 8)
			r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
				if asksForSummary(q) {
					return llmtest.Turn{llmtest.Notify(reached), llmtest.Wait(make(chan struct{}))}
				}
				return summariser(n, q)
			}
			r.start("w", window)
			for _, text := range []string{"note: the code is 4711", "two", "/compact"} {
				r.say(1, text)
				if text != "/compact" {
					r.idle()
				}
			}
			<-reached
			r.say(1, "/stop")
			r.idle()
			r.say(1, "which code?")
			r.idle()
			if got := last(r); got != "the code is 4711" {
				t.Errorf("after the stop the answer is %.200q", got)
			}
			history, err := r.store.Messages(t.Context(), r.mailbox(1).Session)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range history {
				if o, ok := m.Overlay(); ok {
					t.Errorf("the summary that was stopped left %+v", o)
				}
			}
		})
	})
	t.Run("requirements A05, B14, N06, TX10: the summary stands on the user's side, in place of what it sums up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.model.Reply = summariser
			r.start("w", window)
			for _, text := range []string{"note: the code is 4711", "two", "three", "/compact", "which code?"} {
				r.say(1, text)
				r.idle()
			}
			all := r.model.Requests()
			ms := all[len(all)-1].Messages
			if ms[0].Role != transcript.User || !strings.Contains(ms[0].Text(), "the code is 4711") || len(ms[0].Text()) > 500 {
				t.Errorf("the request begins with %s %.300q", ms[0].Role, ms[0].Text())
			}
			for _, m := range ms {
				if strings.Contains(m.Text(), "note: the code") {
					t.Errorf("what was summed up is still sent: %.200q", m.Text())
				}
			}
		})
	})
}
