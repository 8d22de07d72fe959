package signal

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/channels/internal/receive"
)

// userStatus is a part of what signal-cli says of a number.
type userStatus struct {
	Number string `json:"number"`
	UUID   string `json:"uuid"`
}

// fetchACIs asks the service whose numbers these are.
func (r *receiver) fetchACIs(ctx context.Context, numbers ...string) (map[string]string, error) {
	const op = "getUserStatus"
	var all []userStatus
	if err := r.query(ctx, op, map[string]any{"recipient": numbers}, &all); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, s := range all {
		if numberForm.MatchString(s.Number) && aciForm.MatchString(s.UUID) {
			found[s.Number] = strings.ToLower(s.UUID)
		}
	}
	return found, nil
}

// How soon the service is asked again for the ACIs of numbers that it did not know,
// or could not be asked for.
const (
	retryUnknown = 10 * time.Minute
	retryFailed  = time.Minute
)

// lookups is when which numbers may be asked for again.
type lookups struct {
	mu   sync.Mutex // held while the service is asked: who needs the answer waits for it
	next map[string]time.Time
}

// isDue reports whether a number is to be asked for. The caller holds mu.
func (l *lookups) isDue(number string, now time.Time) bool {
	at, ok := l.next[number]
	return !ok || !now.Before(at) || at.Sub(now) > retryUnknown // the clock was set back
}

// note says when numbers may be asked for again. The caller holds mu.
func (l *lookups) note(numbers []string, at time.Time) {
	if l.next == nil || len(l.next) > maxPeople {
		l.next = map[string]time.Time{}
	}
	for _, n := range numbers {
		l.next[n] = at
	}
}

// lookUpSender makes sure, before what somebody says is offered, that they are known
// by the ids by which others know them: who hides their number by the number that
// is listed, and who shows nothing but a number by their ACI. It says whether
// more is known of them than e has. Only chats of people who are unknown in that
// way wait for the service, and not for ever.
func (r *receiver) lookUpSender(ctx context.Context, e event) bool {
	switch {
	case e.aci != "" && e.message.Sender.Alias == "":
		r.lookUp(ctx, r.o.Numbers)
		return r.people.number(e.aci) != ""
	case e.aci == "" && e.number != "" && e.message.Sender.ID == e.number:
		r.lookUp(ctx, []string{e.number})
		return r.people.aci(e.number) != ""
	}
	return false
}

// lookUp asks whose those numbers are that nobody is known to have.
func (r *receiver) lookUp(ctx context.Context, numbers []string) {
	r.lookups.mu.Lock()
	defer r.lookups.mu.Unlock()
	var due []string
	for _, n := range numbers {
		if r.people.aci(n) == "" && r.lookups.isDue(n, r.o.Now()) {
			due = append(due, n)
		}
	}
	if len(due) == 0 {
		return
	}
	found, err := r.fetchACIsWithRetry(ctx, due)
	if ctx.Err() != nil {
		return
	}
	for n, aci := range found {
		r.people.note(aci, n)
	}
	again := retryUnknown
	if err != nil {
		again = retryFailed
	}
	r.lookups.note(due, r.o.Now().Add(again))
	if err != nil || len(found) < len(due) {
		r.o.Log.Warn("ACIs of some listed numbers unknown, so people who hide their number are refused: list them by ACI, as the log lines of refused messages show it",
			"unknown", len(due)-len(found), "error", err)
	}
}

// fetchACIsWithRetry asks again while signal-cli cannot be reached, for LookUpWithin.
func (r *receiver) fetchACIsWithRetry(ctx context.Context, numbers []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.LookUpWithin, errTimeout)
	defer cancel()
	for pauses := receive.Pauses(r.o.Common); ; pauses.Wait(ctx) {
		found, err := r.fetchACIs(ctx, numbers...)
		var e *channels.Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &e) || e.Kind != channels.Unsent && e.Kind != channels.Ambiguous {
			return found, err
		}
	}
}
