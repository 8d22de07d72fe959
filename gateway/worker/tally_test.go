package worker_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/gateway/budgets"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/transcript"
)

// lines is a log in JSON that several may write and read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// of returns the lines with the message, decoded.
func (l *lines) of(t *testing.T, message string) (all []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.b.String()) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v["msg"] == message {
			all = append(all, v)
		}
	}
	return all
}

// Every turn is one line of the log, which says what it was and cost.
func TestATurnIsOneLineOfTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, log := newRig(t), &lines{}
		r.start("w", func(o *worker.Options) {
			o.Logger, o.Config.TurnTimeout = slog.New(slog.NewJSONHandler(log, nil)), time.Second
		})
		r.say(1, "hello")
		r.wantAnswers(1, "re: hello")
		r.say(1, "wait for ever")
		r.wantAnswers(1, "re: hello", "This took too long, so I stopped.")
		r.say(1, "wait x")
		r.atGate("x")
		r.say(1, "/stop")
		r.idle()
		if stopped := log.of(t, "turn stopped"); len(stopped) != 1 || stopped[0]["level"] != "INFO" || stopped[0]["outcome"] != "canceled" {
			t.Errorf("of what a person stopped: %v", stopped)
		}
		answered, early := log.of(t, "turn finished"), log.of(t, "turn ended early")
		if len(answered) != 1 || len(early) != 1 {
			t.Fatalf("%d lines of answered turns, %d of others", len(answered), len(early))
		}
		for key, want := range map[string]any{
			"level": "INFO", "channel": "tg", "agent": "main", "steps": 1.0, "tools": 0.0, "outcome": "end_turn",
		} {
			if answered[0][key] != want {
				t.Errorf("%s is %v, want %v", key, answered[0][key], want)
			}
		}
		for _, key := range []string{"session", "turn", "model", "input_tokens", "output_tokens", "cost_usd", "duration"} {
			if v, ok := answered[0][key]; !ok || v == "" {
				t.Errorf("the line says no %s: %v", key, answered[0])
			}
		}
		if early[0]["level"] != "WARN" || early[0]["error"] == nil || early[0]["outcome"] != "canceled" {
			t.Errorf("of what ended early: %v", early[0])
		}
	})
}

// What another process spent before it died is in the turn's cost, where a budget for one turn
// counts it.
func TestTheCostOfATurnThatWasTakenOverIsAllOfIt(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		_, open := r.gate("x")
		r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
			if last := q.Messages[len(q.Messages)-1]; last.Role == transcript.Tool {
				reached, _ := r.gate("x")
				r.reach(reached)
				return llmtest.Turn{llmtest.Wait(open), llmtest.Text("done")}
			}
			return llmtest.Turn{llmtest.Call{ID: "c1", Name: "noted", Input: `{"text":"x"}`}}
		}
		var log lines
		priced := func(o *worker.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			o.Settings.Loop.Prices, o.Settings.Limits = evenPrices{}, budgets.Limits{Turn: 100 * aCent}
		}
		a := r.start("a", priced)
		r.say(1, "go")
		r.atGate("x")
		r.start("b", priced)
		a.die()
		r.open("x")
		r.wantAnswers(1, "done")
		r.idle()
		if got := log.of(t, "turn finished"); len(got) != 1 || got[0]["cost_usd"] != "0.02" {
			t.Errorf("a turn of two calls for a cent each, of two processes: %v", got)
		}
	})
}

// A turn that is given up has its line too, with what it cost before.
func TestATurnThatIsGivenUpHasItsLine(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.gate("x")
		r.model.Reply = func(_ int, q llm.Request) llmtest.Turn {
			if last := q.Messages[len(q.Messages)-1]; last.Role == transcript.Tool {
				reached, open := r.gate("x")
				r.reach(reached)
				return llmtest.Turn{llmtest.Wait(open)}
			}
			return llmtest.Turn{llmtest.Call{ID: "c1", Name: "noted", Input: `{"text":"x"}`}}
		}
		var log lines
		priced := func(o *worker.Options) {
			o.Logger = slog.New(slog.NewJSONHandler(&log, nil))
			o.Settings.Loop.Prices, o.Settings.Limits = evenPrices{}, budgets.Limits{Turn: 100 * aCent}
			o.Settings.Attempts = 1
		}
		a := r.start("a", priced)
		r.say(1, "go")
		r.atGate("x")
		r.start("b", priced)
		a.die()
		r.wantAnswers(1, "I could not handle that message: it failed every time I tried. It was put aside for the operator.")
		r.idle()
		got := log.of(t, "turn ended early")
		if len(got) != 1 || got[0]["outcome"] != "error" || got[0]["cost_usd"] != "0.01" || got[0]["model"] == "" {
			t.Errorf("a turn whose first call cost a cent, given up: %v", got)
		}
	})
}
