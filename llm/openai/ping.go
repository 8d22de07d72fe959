package openai

import (
	"context"
	"encoding/json"
	"slices"

	"parley/llm"
)

var (
	_ llm.Pinger = (*Model)(nil)
	_ llm.Pinger = (*Responses)(nil)
)

// Ping asks for the list of models, which costs nothing and which most compatible servers have;
// see [llm.Pinger].
func (b *base) Ping(ctx context.Context) (llm.Pong, error) {
	body, pong, err := b.Ask(ctx, "models")
	if err != nil {
		return pong, err // an *llm.Error, as Pinger wants it
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return pong, &llm.Error{Kind: llm.Malformed, Provider: b.Provider(), Model: b.Name(), Message: "the list of models is none", Err: err}
	}
	ids := make([]string, len(list.Data))
	for i, d := range list.Data {
		ids[i] = d.ID
	}
	pong.Listed = slices.Contains(ids, b.Name())
	return pong, nil
}
