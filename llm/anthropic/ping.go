package anthropic

import (
	"context"

	"parley/llm"
)

var _ llm.Pinger = (*Model)(nil)

// Ping asks the Models API for the model, which costs nothing; see [llm.Pinger].
func (m *Model) Ping(ctx context.Context) (llm.Pong, error) {
	_, pong, err := m.Ask(ctx, "v1/models/"+m.Name())
	pong.Listed = err == nil
	return pong, err // an *llm.Error, as Pinger wants it
}
