package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/channels"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/gateway/tracing"
	"parley/gateway/tracing/tracingtest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// traced sends traces to a server.
func traced(url string) func(*settings.Config) {
	return func(c *settings.Config) {
		c.Tracing = tracing.Config{Endpoint: url, Headers: map[string]channels.Secret{"Authorization": channels.NewSecret("Bearer secret-of-the-collector")}}
	}
}

// collect starts a collector.
func collect(t *testing.T) (*tracingtest.Collector, string) {
	t.Helper()
	c := &tracingtest.Collector{}
	s := httptest.NewServer(c)
	t.Cleanup(s.Close)
	return c, s.URL
}

// awaitSpans waits until there are spans of all these names, each as often as it stands there.
func awaitSpans(t *testing.T, c *tracingtest.Collector, names ...string) []tracingtest.Span {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	all, err := c.Await(ctx, func(all []tracingtest.Span) bool {
		for _, name := range names {
			has := 0
			for _, s := range all {
				if s.Name == name {
					has++
				}
			}
			wants := 0
			for _, n := range names {
				if n == name {
					wants++
				}
			}
			if has < wants {
				return false
			}
		}
		return true
	})
	if err != nil {
		t.Fatalf("%v; there are\n%s", err, tracingtest.Tree(all))
	}
	return all
}

// exploring has a child list a folder, and says what the child found.
func exploring(_ context.Context, p *model.Prompt) model.Answer {
	switch rs := p.Answering(); {
	case strings.HasPrefix(p.LastText(), "look at the kitchen") && len(rs) == 0:
		return model.Reply(model.Say("I look."), model.Use("list_directory", map[string]string{"path": "."}))
	case strings.HasPrefix(p.LastText(), "look at the kitchen"):
		return model.Reply(model.Say("an empty kitchen"))
	case len(rs) > 0:
		return model.Reply(model.Say("there is nothing to eat"))
	}
	return model.Reply(model.Use("sessions_spawn", map[string]string{"task": "look at the kitchen", "label": "hungry Ann"}))
}

// Issue 16: one trace goes from the event of the network to the delivery of the answer, with the
// calls of models and tools and the sub-agent between them, under the names of the conventions; and
// it holds nothing that anybody said.
func TestTraceOfAMessage(t *testing.T) {
	t.Parallel()
	collector, url := collect(t)
	var log syncBuffer
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: exploring, Change: traced(url), Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	gw := env.Start()
	if got := gw.Ask(gatewaytest.Ann, "what is there to eat?"); got != "there is nothing to eat" {
		t.Fatalf("Ann was told %q", got)
	}
	all := awaitSpans(t, collector, "receive tg", "invoke_agent main", "invoke_agent main", "send tg", "chat demo", "chat demo", "chat demo", "chat demo")
	const want = `receive tg (consumer) parley.chat=dm
  invoke_agent main (internal) parley.chat=dm parley.outcome=end_turn
    chat demo (client) gen_ai.response.finish_reasons=[tool_use] parley.outcome=ok parley.purpose=root
    execute_tool sessions_spawn (internal) parley.outcome=ok
      invoke_agent main (internal) parley.outcome=ok
        chat demo (client) gen_ai.response.finish_reasons=[tool_use] parley.outcome=ok parley.purpose=subagent
        execute_tool list_directory (internal) parley.outcome=ok
        chat demo (client) gen_ai.response.finish_reasons=[end_turn] parley.outcome=ok parley.purpose=subagent
    chat demo (client) gen_ai.response.finish_reasons=[end_turn] parley.outcome=ok parley.purpose=root
  send tg (client) parley.chat=dm parley.outcome=ok
`
	if got := tracingtest.Tree(all, "gen_ai.response.finish_reasons", "parley.outcome", "parley.purpose", "parley.chat"); got != want {
		t.Errorf("the trace is\n%s, not\n%s", got, want)
	}
	var turn struct{ Turn string }
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `"turn finished"`) {
			noError(t, json.Unmarshal([]byte(line), &turn))
		}
	}
	for _, s := range all {
		if s.Trace != strings.TrimPrefix(turn.Turn, "t-") {
			t.Errorf("%s is in the trace %s, and the turn is %s", s.Name, s.Trace, turn.Turn)
		}
	}
	holdsNoContent(t, all)
	for _, h := range collector.Headers() {
		if h.Get("Authorization") != "Bearer secret-of-the-collector" {
			t.Errorf("the collector was sent %q", h)
		}
	}
	for _, r := range env.Model.Requests() {
		if r.Header.Get("Traceparent") != "" {
			t.Error("the provider is told which trace a call belongs to")
		}
	}
	if strings.Contains(log.String(), "secret-of-the-collector") {
		t.Error("the log holds the collector's key")
	}
	gw.AwaitMetrics(fmt.Sprintf(`parley_trace_spans_total{outcome="exported"} %d`, len(all)))
}

// holdsNoContent reports spans that hold what somebody said, or who they are.
func holdsNoContent(t *testing.T, all []tracingtest.Span) {
	t.Helper()
	for _, s := range all {
		text := fmt.Sprint(s.Name, s.Message, slices.Collect(maps.Values(s.Attributes)), slices.Collect(maps.Values(s.Service)))
		for _, secret := range []string{"eat", "kitchen", "Ann", "ann", "1001", "I look", "nothing to"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %q: %s", s.Name, secret, text)
			}
		}
	}
}

// A collector that is not there costs spans and nothing else: people are answered, the log says it
// once, and the spans are counted.
func TestTracesWithoutACollector(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	var log syncBuffer
	env := gatewaytest.Open(t, gatewaytest.Options{Change: traced(gone.URL), Log: slog.New(slog.NewTextHandler(&log, nil))})
	gw := env.Start()
	for range 3 {
		if got := gw.Ask(gatewaytest.Ann, "hello"); !strings.Contains(got, "hello") {
			t.Fatalf("Ann was told %q", got)
		}
	}
	gw.Stop()
	if n := strings.Count(log.String(), `msg="traces not exported`); n > 1 {
		t.Errorf("the log says %d times that nobody takes the traces:\n%s", n, log.String())
	}
	if !strings.Contains(log.String(), "last traces not exported") {
		t.Errorf("the log does not say that traces were lost:\n%s", log.String())
	}
}

// What waits is sent when the gateway ends.
func TestTracesOfTheLastMoment(t *testing.T) {
	t.Parallel()
	collector, url := collect(t)
	env := gatewaytest.Open(t, gatewaytest.Options{Change: traced(url)})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "hello")
	gw.Stop()
	names := map[string]bool{}
	for _, s := range collector.Spans() {
		names[s.Name] = true
	}
	for _, name := range []string{"receive tg", "invoke_agent main", "chat demo", "send tg"} {
		if !names[name] {
			t.Errorf("%s is not among what was sent: %v", name, names)
		}
	}
}

// A turn that another gateway goes on with is one trace: each take has a span, and the answer hangs
// on the same message. A queued command and its answer are one, too.
func TestTraceOfATurnThatIsHandedOver(t *testing.T) {
	t.Parallel()
	collector, url := collect(t)
	asked, again := make(chan struct{}), make(chan struct{})
	var once sync.Once
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(ctx context.Context, _ *model.Prompt) model.Answer {
			first := false
			once.Do(func() { first = true; close(asked) })
			if first {
				<-ctx.Done()
			} else {
				close(again)
			}
			return model.Reply(model.Say("done"))
		},
		Change: func(c *settings.Config) {
			traced(url)(c)
			c.Worker.Grace = 1 // nanosecond: turns are handed over at once
			c.Titles.Off = true
		},
	})
	first := env.Start()
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, "hello")
	<-asked
	first.Stop()
	second := env.Start()
	<-again
	second.NextDelivered()
	second.Ask(gatewaytest.Ann, "/new")
	second.Stop()
	const want = `receive tg (consumer)
  invoke_agent main (internal) failed error.type=handed_over
    chat demo (client) gen_ai.response.finish_reasons=[error]
  invoke_agent main (internal)
    chat demo (client) gen_ai.response.finish_reasons=[end_turn]
  send tg (client)
receive tg (consumer)
  send tg (client)
`
	if got := tracingtest.Tree(collector.Spans(), "error.type", "gen_ai.response.finish_reasons"); got != want {
		t.Errorf("the traces are\n%s, not\n%s", got, want)
	}
}

// wantTraceOverProcesses waits for a trace whose message was received and answered by a front, and whose
// turn a worker had.
func wantTraceOverProcesses(t *testing.T, c *tracingtest.Collector) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	all, err := c.Await(ctx, func(all []tracingtest.Span) bool {
		by := map[string]string{} // by trace, which processes had which part of it
		for _, s := range all {
			part, _, _ := strings.Cut(s.Name, " ")
			process, _, _ := strings.Cut(fmt.Sprint(s.Service["service.instance.id"]), "-")
			by[s.Trace] += part + " " + process + "\n"
		}
		for _, parts := range by {
			if strings.Contains(parts, "receive front\n") && strings.Contains(parts, "invoke_agent worker\n") && strings.Contains(parts, "send front\n") {
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Errorf("no trace goes over the processes: %v\n%s", err, tracingtest.Tree(all))
	}
}

// syncBuffer is a log that is read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
