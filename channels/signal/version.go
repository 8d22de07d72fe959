package signal

import (
	"context"
	"encoding/json"
	"fmt"
)

// asked asks signal-cli for its version, which says that it lives.
func (c *Channel) asked(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Health, errTimeout)
	defer cancel()
	raw, err := c.rpc.call(ctx, "version", nil)
	if err != nil {
		return "", err
	}
	var answer struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("version: read the answer: %w", err)
	}
	return answer.Version, nil
}
