package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/gateway/gatewaytest"
	"parley/simulators/model"
)

// The real binary is killed between the tries of calls that fail, and while a summary is made.
// The next process knows how often each call has failed, and of what kind that was: one that may
// succeed is made four times in all, and one that would fail in the same way is not made again.
// A person who says stop ends the summary that it makes, and a turn, and neither is left half
// done. (requirements F24, TX11; issues 13 and 14)
func TestAKillForgetsNoFailureAndAStopEndsTurnAndSummary(t *testing.T) {
	t.Parallel()
	var searches atomic.Int64
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		searches.Add(1)
		http.Error(w, "try again", http.StatusServiceUnavailable)
	}))
	t.Cleanup(engine.Close)
	waits := make(chan string, 8) // what the model has begun, and will never finish
	var killed atomic.Bool
	env := gatewaytest.Open(t, gatewaytest.Options{Keep: 1 << 10, Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		asked := p.LastText()
		wait := func(what string) model.Answer {
			waits <- what
			<-ctx.Done()
			return model.Reply(model.Say("too late"))
		}
		switch {
		case strings.HasPrefix(asked, "Provide a detailed but concise summary"):
			return wait("summary")
		case strings.HasSuffix(asked, "Wait"): // behind what was stopped
			return wait("turn")
		case strings.HasSuffix(asked, "Which colour"):
			facts, _ := knownFrom(p)
			return model.Reply(model.Say(facts["colour"]))
		case asked != "Look":
			return honest(ctx, p)
		}
		if !killed.Load() && searches.Load() == 2 {
			return wait("look")
		}
		for _, r := range p.Answering() {
			if strings.Contains(r.Text, "failed 4 times in a row") {
				return model.Reply(model.Say(told(p)))
			}
		}
		return model.Reply(model.Use("web_search", map[string]string{"query": "cod"}), model.Use("read_file", map[string]string{"path": "none.txt"}))
	}})
	config := longConfig(t, env, t.TempDir(), 9000)
	text, err := os.ReadFile(config)
	noError(t, err)
	text = bytes.Replace(text, []byte("pace: 1000,"), []byte("pace: 1000, activity: {direct: off},"), 1)
	text = append(text, fmt.Sprintf("web: {search: {kind: searxng, url: %q}}\ntitles: {off: true}\n", engine.URL)...)
	noError(t, os.WriteFile(config, text, 0o600))
	begun := func(want ...string) {
		t.Helper()
		for left := slices.Clone(want); len(left) > 0; {
			select {
			case got := <-waits:
				i := slices.Index(left, got)
				if i < 0 {
					t.Fatalf("the model is asked for a %s, and %q should come", got, left)
				}
				left = slices.Delete(left, i, i+1)
			case <-time.After(gatewaytest.Patience):
				t.Fatalf("the model is not asked for %q", left)
			}
		}
	}
	first := start(t, config)
	ann, ben := env.Direct(gatewaytest.Telegram, 1), env.Direct(gatewaytest.Telegram, 2)
	ask := func(text, want string) {
		t.Helper()
		n := len(ben.Texts())
		ben.Say(text)
		if got := ben.Await("an answer to "+text, func(shown []string) bool { return len(shown) > n })[n]; got != want {
			t.Fatalf("%q was answered with %q, not %q", text, got, want)
		}
	}
	ask("Mark FACT:colour=green.", "Go on.")
	ask("And now "+strings.Repeat("this and that ", 200), "Go on.")
	ben.Say("/compact")
	ann.Say("Look")
	begun("summary", "look")
	first.kill()
	killed.Store(true)

	start(t, config)
	begun("summary")
	ask("/stop", "Stopped.")
	ben.Say("Wait")
	begun("turn")
	ask("/stop", "Stopped.")
	ask("Which colour", "green")
	const want = "web_search: 4 failed, 1 not run. read_file: 1 failed, 4 not run."
	got := ann.Await("an answer", func(shown []string) bool { return len(shown) > 0 })[0]
	if got != want || searches.Load() != 4 {
		t.Errorf("the model was told %q, not %q; the engine was asked %d times", got, want, searches.Load())
	}
	for _, e := range env.Model.Bill().Entries {
		if e.Outcome == model.Refused {
			t.Errorf("the provider refused a request: %s", e.Error)
		}
	}
}

// told returns what a request says of the calls of each tool.
func told(p *model.Prompt) string {
	failed, unrun := map[string]int{}, map[string]int{}
	for _, m := range p.Messages {
		for _, r := range m.Results {
			switch {
			case strings.Contains(r.Text, "failed 4 times in a row and was not run again"),
				strings.Contains(r.Text, "would fail in the same way, and was not run again"):
				unrun[r.Name]++
			case r.Error:
				failed[r.Name]++
			}
		}
	}
	var says []string
	for _, n := range []string{"web_search", "read_file"} {
		says = append(says, fmt.Sprintf("%s: %d failed, %d not run.", n, failed[n], unrun[n]))
	}
	return strings.Join(says, " ")
}
