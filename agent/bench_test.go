package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/agent"
	"parley/agent/pressure"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/tools"
	"parley/transcript"
)

// memory is a journal that keeps a history and nothing else.
type memory struct{ history []transcript.Message }

func (m *memory) WholeHistory(ctx context.Context) ([]transcript.Message, error) {
	return m.Messages(ctx)
}

func (m *memory) Messages(context.Context) ([]transcript.Message, error) { return m.history, nil }

func (m *memory) Append(_ context.Context, ms ...transcript.Message) error {
	m.history = append(m.history, ms...)
	return nil
}
func (m *memory) Begin(context.Context, int, string) (bool, error) { return false, nil }

func (m *memory) Spent(context.Context) (costs.Amount, error) { return 0, nil }
func (m *memory) Used(context.Context) (int64, error)         { return 0, nil }

func (m *memory) Reserve(context.Context, costs.Estimate, transcript.RequestRecord) (costs.Reservation, error) {
	return costs.Reservation{}, nil
}

func (m *memory) ReserveTool(context.Context, costs.Estimate, int) (costs.Reservation, error) {
	return costs.Reservation{}, nil
}

func (m *memory) Settle(_ context.Context, _ costs.Settlement, ms ...transcript.Message) error {
	m.history = append(m.history, ms...)
	return nil
}

func (m *memory) Finish(_ context.Context, _ *costs.Settlement, _ agent.Outcome, ms ...transcript.Message) error {
	m.history = append(m.history, ms...)
	return nil
}

// conversationOf is a history of n messages in which a summary stands for all but the newest
// twenty, and that ends with the message that opens a turn.
func conversationOf(n int) (history []transcript.Message) {
	for i := range n / 2 {
		turn := fmt.Sprint("old-", i)
		opening := transcript.MessageID{Turn: turn, Kind: transcript.Opening}.String()
		answer := transcript.MessageID{Turn: turn, Kind: transcript.Answer, Step: 1}.String()
		history = append(history,
			transcript.Message{ID: opening, Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: strings.Repeat("what is it ", 10)}}},
			transcript.Message{ID: answer, Role: transcript.Assistant, Parts: []transcript.Part{
				transcript.Text{Text: strings.Repeat("it is this ", 20)},
				transcript.Finish{Reason: transcript.EndTurn, Size: transcript.RequestSize{Model: "scripted-1", Input: 1000, Output: 60, Guess: 1000}},
			}},
		)
	}
	if n > 20 {
		history = append(history, transcript.Message{ID: "old-0#overlay.1", Role: transcript.System, Parts: []transcript.Part{
			transcript.Overlay{Kind: transcript.Summarised, Through: n - 20, Summary: strings.Repeat("it was said ", 50)},
		}})
	}
	return append(history, transcript.Message{ID: "t1-user", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "and now?"}}})
}

// BenchmarkIteration is one iteration of the loop without its model: of a turn with sixteen
// calls of a tool. It must not grow with the history.
func BenchmarkIteration(b *testing.B) {
	const steps = 16
	set := setOf(b, tool(b, "look", tools.Read, func(context.Context, input, tools.Call) (tools.Result, error) {
		return tools.Result{Content: "nothing new"}, nil
	}))
	for _, n := range []int{10, 1000, 10_000} {
		history := conversationOf(n)
		opened := len(history)
		history = slices.Grow(history, 2*steps)
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				j := &memory{history[:opened]}
				l := agent.Loop{Journal: j, Pressure: pressure.Policy{}, Prices: prices{}, Now: at}
				asked := 0
				m := &llmtest.Script{Reply: func(int, llm.Request) llmtest.Turn {
					if asked++; asked < steps {
						return calls(llmtest.Call{ID: fmt.Sprint("c", asked), Name: "look", Input: "{}"})
					}
					return text("so it is")
				}}
				t := agent.Turn{ID: "t1", Session: "s1", Model: m, Tools: set, MaxTokens: 1000, Window: 200_000, MaxSteps: steps}
				if o, err := l.Run(b.Context(), t, nil); err != nil || o.Text != "so it is" {
					b.Fatalf("%+v, %v", o, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps), "ns/iteration")
		})
	}
}
