package redis

import (
	"context"
	"errors"
	"fmt"
)

const page = 200 // rows read at a time for a caller's function

// mostExact is the highest sequence that a script can hold.
const mostExact = 1 << 53

// Generation implements [sessions.Dispatch].
func (s *Store) Generation(ctx context.Context) (name string, highest uint64, err error) {
	a, err := s.look(ctx, "generation", struct{}{})
	var n int64
	if err == nil {
		n, err = a.int(1)
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the generation: %w", err)
	}
	return a.text(0), uint64(n), nil
}

// StartGeneration implements [sessions.Dispatch].
func (s *Store) StartGeneration(ctx context.Context, name string) (int, error) {
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	a, err := s.recordGeneration(ctx, struct {
		Name string `json:"name"`
	}{name})
	var lost int64
	if err == nil {
		lost, err = a.int(0)
	}
	if err != nil {
		return 0, fmt.Errorf("start generation %s: %w", name, err)
	}
	return int(lost), nil
}
