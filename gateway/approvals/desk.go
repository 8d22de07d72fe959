package approvals

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// Desk shows approvers, in their direct messages, what waits in other chats of their bot account,
// and finds what they decide about. Its methods may be called concurrently. It is not copied.
type Desk struct {
	Store DeskStore
	Now   func() time.Time

	mu    sync.Mutex
	shown map[showing]shown
}

// shown is how somebody was shown a request.
type shown struct {
	event string    // by which they asked for it
	until time.Time // when the request expires
}

// DeskStore is what a Desk reads.
type DeskStore interface {
	Reader
	Mailbox(ctx context.Context, token string) (sessions.Mailbox, error)
}

// showing is that somebody was shown a request.
type showing struct{ channel, person, request string }

// maxShowings bounds what a Desk remembers. Who is forgotten is shown the request once more.
const maxShowings = 4096

// Question is a request that waits, with the conversation that asked.
type Question struct {
	Request
	Key sessionkeys.Key
}

// Waiting returns what waits for a decision on a channel: what expires first stands first. Which
// conversations have ended is not in it.
func (d *Desk) Waiting(ctx context.Context, channel string) ([]Question, error) {
	now := d.Now()
	all, err := List(ctx, d.Store, "", now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return nil, err
	}
	var waiting []Question
	for _, r := range all {
		if r.Channel != channel || r.State != Pending || r.IsExpired(now) {
			continue
		}
		m, err := d.Store.Mailbox(ctx, r.Token)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
		case err != nil:
			return nil, err // the caller says what it looked for
		case m.Session == r.Session:
			waiting = append(waiting, Question{r, m.Key})
		}
	}
	slices.SortStableFunc(waiting, func(a, b Question) int { return a.Expires.Compare(b.Expires) })
	return waiting, nil
}

// Elsewhere returns the question that waits under a code on a channel, in another conversation
// than that of the mailbox own; nil: there is none, or more than one.
func (d *Desk) Elsewhere(ctx context.Context, channel, code, own string) (*Question, error) {
	waiting, err := d.Waiting(ctx, channel)
	if err != nil || code == "" {
		return nil, err
	}
	var found []Question
	for _, q := range waiting {
		switch {
		case q.Code != code:
		case q.Token == own:
			return nil, nil // it is asked here, which is no error
		default:
			found = append(found, q)
		}
	}
	if len(found) != 1 {
		return nil, nil // as the comment says
	}
	return &found[0], nil
}

// Private returns the question that waits under a code in the conversation of the mailbox own, if
// only those were shown it who may decide; nil: there is none.
func (d *Desk) Private(ctx context.Context, channel, code, own string) (*Question, error) {
	waiting, err := d.Waiting(ctx, channel)
	if err != nil || code == "" {
		return nil, err
	}
	for _, q := range waiting {
		if q.Code == code && q.Token == own && q.Private {
			return &q, nil
		}
	}
	return nil, nil // most questions are everybody's, which is no error
}

// Show notes that a person of the request's channel was shown it, in the answer to an event.
func (d *Desk) Show(person, event string, r Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown == nil {
		d.shown = map[showing]shown{}
	}
	if len(d.shown) >= maxShowings {
		now := d.Now()
		for k, s := range d.shown {
			if !now.Before(s.until) {
				delete(d.shown, k)
			}
		}
		if len(d.shown) >= maxShowings {
			clear(d.shown)
		}
	}
	d.shown[showing{r.Channel, person, r.ID}] = shown{event, r.Expires}
}

// WasShown reports whether this process has shown a request to a person before the event. Nobody
// decides in another chat about what they have not read there; an event that is brought again is
// not a second word.
func (d *Desk) WasShown(person, event string, r Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := d.shown[showing{r.Channel, person, r.ID}]
	return ok && s.event != event
}
