package worker

import (
	"context"
	"fmt"

	"parley/gateway/errands"
	"parley/tools"
)

// ownTools returns the tools that act for the turn alone.
func (j *journal) ownTools(ctx context.Context) (own []tools.Tool, err error) {
	send, err := j.sendTool(ctx)
	if err != nil {
		return nil, err
	}
	if send != nil {
		own = append(own, send)
	}
	if j.a.settings.Errands == nil || j.job != nil || j.asker == nil { // no run makes another one
		return own, nil
	}
	t, err := j.a.settings.Errands.Bind(errands.Caller{Channel: j.t.Channel, Sender: *j.asker, At: j.t.From})
	if err != nil {
		return nil, fmt.Errorf("bind a tool to the turn: %w", err)
	}
	return append(own, t), nil
}
