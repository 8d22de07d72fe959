package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"parley/agent"
	"parley/costs"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// usageTally counts what a turn took, in this process.
type usageTally struct {
	tools         int
	input, output int64  // tokens; input with what was cached
	model         string // that was called last; "": none was
}

// observe takes an event of the turn.
func (y *usageTally) observe(e agent.Event) {
	switch e.Type {
	case agent.ModelCalled:
		u, l := e.Call.Entry.Usage, e.Call.Entry.Labels
		if l.Purpose != costs.Transcription {
			y.model = l.Provider + "/" + l.Model
		}
		y.input += u.Input + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
		y.output += u.Output
	case agent.ToolResulted:
		y.tools++
	}
}

// logTurn writes the one line of the log that every turn has.
func (w *Worker) logTurn(t sessions.Turn, key sessionkeys.Key, a Agent, out agent.Outcome, y usageTally, cost costs.Amount) {
	level, said := slog.LevelInfo, "turn finished"
	about := []any{
		"session", t.Session, "turn", t.ID, "channel", t.Channel, "agent", key.Agent(), "model", cmp.Or(y.model, a.model()),
		"steps", out.Steps, "tools", y.tools, "input_tokens", y.input, "output_tokens", y.output, "cost_usd", strings.TrimPrefix(cost.String(), "$"),
		"duration", w.Now().Sub(t.OpenedAt).Round(time.Millisecond), "outcome", out.Finish,
	}
	if job := messages.JobOf(key, t.Sender, t.From); job != "" {
		about = append(about, "job", job)
	}
	switch {
	case errors.Is(out.Err, agent.ErrStopped): // a person stopped it
		said = "turn stopped"
	case out.Err != nil:
		level, said = slog.LevelWarn, "turn ended early"
		about = append(about, "error", out.Err)
	}
	w.Logger.Log(context.Background(), level, said, about...)
}

// model names the agent's model as the configuration does.
func (a Agent) model() string {
	if a.Model == nil {
		return ""
	}
	return modelName(a.Model)
}
