package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"parley/simulators/model"
)

// asks is a brain that calls the tool before it echoes; "": it echoes at once.
// A sub-agent, whose task is not the person's text, echoes its task.
func asks(tool, args string) model.Brain {
	return func(_ context.Context, p *model.Prompt) model.Answer {
		if text := p.LastText(); tool == "" || text == task || len(p.Answering()) > 0 {
			return model.Reply(model.Say(text))
		}
		return model.Reply(model.Use(tool, json.RawMessage(args)))
	}
}

const task = "count to one"

// ways are turns of one, two and three model calls: the third is a sub-agent's.
var ways = []struct{ name, tool, args string }{
	{"plain", "", ""},
	{"tool", "list_directory", `{"path":"."}`},
	{"subagent", "sessions_spawn", fmt.Sprintf(`{"task":%q}`, task)},
}

// BenchmarkSubagent is one person who asks, reads and asks again, where the
// model answers at once, or calls a tool first, or a sub-agent.
func BenchmarkSubagent(b *testing.B) {
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			w := newWorld(b, worldOptions{Brain: asks(way.tool, way.args)})
			c := start(b, w, "parley", turnsOnce)
			oneAfterAnother(b, w, c)
		})
	}
}

// BenchmarkSubagents is a thousand people whose turns are under way in the same
// moment: what a waiting parent and its running child hold in memory. The model
// thinks for two seconds each time it is called.
func BenchmarkSubagents(b *testing.B) {
	const people, thinks = 1000, 2 * time.Second
	for _, way := range ways[1:] {
		b.Run(fmt.Sprintf("%s/people=%d", way.name, people), func(b *testing.B) {
			w := newWorld(b, worldOptions{Latency: thinks, Brain: asks(way.tool, way.args)})
			c := start(b, w, "parley", people+turnsOnce)
			allAtOnce(b, w, c, people, 0)
		})
	}
}
