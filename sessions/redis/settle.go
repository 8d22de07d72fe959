package redis

import (
	"context"
	"fmt"

	"parley/costs"
	"parley/sessions"
	"parley/transcript"
)

// Settle implements [sessions.Turns].
func (s *Store) Settle(ctx context.Context, f sessions.Fence, st costs.Settlement, ms ...transcript.Message) error {
	if err := s.settleCall(ctx, f, st.Entry, ms); err != nil {
		return fmt.Errorf("settle call %s: %w", st.Entry.ID, err)
	}
	return nil
}

func (s *Store) settleCall(ctx context.Context, f sessions.Fence, e costs.Entry, ms []transcript.Message) error {
	entry, err := settlementOf(e)
	if err != nil {
		return err
	}
	bodies, err := messagesOf(ms)
	if err != nil {
		return err
	}
	_, err = s.record(ctx, "settle", &f, struct {
		Fence      fence      `json:"fence"`
		Settlement settlement `json:"settlement"`
		Messages   []message  `json:"messages"`
	}{of(f), entry, bodies})
	return refusedMoney(err, nil, costs.Reservation{})
}
