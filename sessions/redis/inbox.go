package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"parley/sessions"
)

// event is a sessions.InboxID in a request.
type event struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Chat    string `json:"chat"`
	Event   string `json:"event"`
}

// eventsOf are the events, each once.
func eventsOf(es []sessions.InboxID) []event {
	out, seen := make([]event, 0, len(es)), map[event]bool{}
	for _, e := range es {
		if e := event(e); !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	return out
}

// knownAmong is the error of a script that refused because it knew some of the
// events.
func knownAmong(err error, es []event) error {
	var refused *refusedWith
	if !errors.As(err, &refused) || refused.kind != "known" {
		return err
	}
	k := &sessions.KnownError{}
	for i := range refused.data {
		n, err := refused.data.int(i)
		if err != nil || n < 0 || int(n) >= len(es) {
			return fmt.Errorf("the script knows an event that was not asked about: %q", refused.data.text(i))
		}
		k.Events = append(k.Events, sessions.InboxID(es[n]))
	}
	return k
}

// wording is a sessions.Wording in a request.
type wording struct {
	Channel string `json:"channel"`
	Account string `json:"account"`
	Chat    string `json:"chat"`
	Message string `json:"message"`
	Sum     string `json:"sum"`
}

func wordingsOf(ws []sessions.Wording) []wording {
	out := make([]wording, len(ws))
	for i, w := range ws {
		out[i] = wording(w)
	}
	return out
}

// Known implements [sessions.Turns].
func (s *Store) Known(ctx context.Context, events ...sessions.InboxID) ([]bool, error) {
	asked := make([]event, len(events))
	for i, e := range events {
		asked[i] = event(e)
	}
	a, err := s.look(ctx, "known", struct {
		Events []event `json:"events"`
	}{asked})
	if err != nil {
		return nil, fmt.Errorf("look the events up: %w", err)
	}
	known := make([]bool, len(events))
	for i := range known {
		known[i] = a.yes(i)
	}
	return known, nil
}

// Said implements [sessions.Turns].
func (s *Store) Said(ctx context.Context, w sessions.Wording) (sum string, found bool, err error) {
	a, err := s.look(ctx, "said", wording(w))
	if err != nil {
		return "", false, fmt.Errorf("look up what a message said: %w", err)
	}
	return a.text(1), a.yes(0), nil
}

// Notice implements [sessions.Turns].
func (s *Store) Notice(ctx context.Context, e sessions.InboxID, replies []sessions.Outgoing, _ time.Time) (bool, error) {
	rs, err := repliesOf(replies)
	var a answer
	if err == nil {
		a, err = s.record(ctx, "notice", nil, struct {
			Event   event   `json:"event"`
			Replies []reply `json:"replies"`
		}{event(e), rs})
	}
	if err != nil {
		return false, fmt.Errorf("queue a notice: %w", err)
	}
	return a.yes(0), nil
}
