package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"parley/simulators/internal/stage"
)

// hookJob is one update on its way to a webhook.
type hookJob struct {
	account *account
	hook    *webhook
	update  pending
	ghost   bool
	fault   *Fault
	beside  int // calls of the bot that were under way then, this one included
	began   time.Time
}

// lane is how the calls for one chat fare.
type lane struct {
	busy    bool
	fails   int       // in a row
	retryAt time.Time // real clock
}

// slowest bounds the pauses between calls that fail: 1, 2, 4 … 64 times
// Options.WebhookRetry.
const slowest = 6

// deliverHooks posts updates to webhooks until ctx ends, and waits for the
// calls under way: up to max_connections at once, the chats side by side, each
// chat's oldest first, again and again until a 2xx confirms it. Redirects are
// not followed. A method call in the body of the response is ignored.
func (s *inboxes) deliverHooks(ctx context.Context) {
	client := &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 100},
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		job, wait := s.nextHook()
		if job != nil {
			calls.Go(func() {
				status, err := postHook(ctx, client, job)
				s.hookDone(job, status, err)
			})
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-s.hooked:
		case <-time.After(wait):
		}
	}
}

// nextHook picks what to post now, or says how long nothing is due.
func (s *inboxes) nextHook() (*hookJob, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := time.Hour
	if s.stop.Err() != nil {
		return nil, wait
	}
	for _, a := range s.accounts {
		w := a.inbox.hook
		if w.url == "" || w.flying >= w.limit {
			continue
		}
		job, due := s.pickHook(a, w)
		if job == nil {
			wait = min(wait, due)
			continue
		}
		w.flying++
		job.beside, job.began = w.flying, s.opts.Now()
		job.update.entry.Handed++
		if !job.ghost {
			w.sending[job.update.id] = true
			w.lane(job.update).busy = true
		}
		return job, 0
	}
	return nil, wait
}

// pickHook finds an update of a whose time has come. The caller holds the lock.
func (s *inboxes) pickHook(a *account, w *webhook) (*hookJob, time.Duration) {
	in := &a.inbox
	job := &hookJob{account: a, hook: w}
	wait := in.nextRedelivery(s.opts.Now(), time.Hour)
	for i, g := range in.ghosts {
		if g.isDue(s.opts.Now()) || len(in.waiting) == 0 && g.at.IsZero() {
			job.update, job.ghost = g.pending, true
			in.ghosts = append(in.ghosts[:i:i], in.ghosts[i+1:]...)
			return job, 0
		}
	}
	found := false
	for _, p := range in.waiting {
		l := w.lanes[p.entry.ChatID]
		if l != nil && l.busy || w.sending[p.id] {
			continue
		}
		if l != nil {
			if left := time.Until(l.retryAt); left > 0 {
				wait = min(wait, left)
				continue
			}
		}
		job.update, found = p, true
		break
	}
	if !found {
		return nil, wait
	}
	job.fault = s.draw(a.bot.Username, "webhook", job.update.entry.ChatID, false)
	if job.fault == nil {
		return job, 0
	}
	s.books.totals.Faults++
	if job.fault.Trouble == Reordered {
		var free []pending
		for _, p := range in.waiting {
			if !w.sending[p.id] {
				free = append(free, p)
			}
		}
		job.update = free[s.rng.IntN(len(free))]
	}
	return job, 0
}

// What Telegram says of a call that a fault spoils.
var (
	errHookDropped = errors.New("Connection timed out")      //nolint:staticcheck // the platform's words
	errHookLost    = errors.New("Read timeout expired")      //nolint:staticcheck // as above
	errHookStopped = errors.New("the simulator was stopped") // nobody hears it
)

// postHook gives the status of the response, or 0, and why it is no success.
func postHook(ctx context.Context, client *http.Client, job *hookJob) (int, error) {
	trouble := job.fault.trouble()
	switch trouble {
	case Dropped:
		return 0, errHookDropped
	case Slow:
		if !stage.Pause(job.fault.Delay, ctx, ctx) {
			return 0, errHookStopped
		}
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, job.hook.url, bytes.NewReader(job.update.raw))
	if err != nil {
		return 0, err
	}
	q.Header.Set("Content-Type", "application/json")
	if job.hook.secret != "" {
		q.Header.Set("X-Telegram-Bot-Api-Secret-Token", job.hook.secret)
	}
	res, err := client.Do(q)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the address
		}
		return 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	switch {
	case trouble == Ambiguous:
		return 0, errHookLost
	case res.StatusCode/100 != 2:
		return res.StatusCode, fmt.Errorf("Wrong response from the webhook: %s", res.Status) //nolint:staticcheck // the platform's words
	}
	return res.StatusCode, nil
}

// hookDone confirms an update, or lets its chat rest before the next try.
func (s *inboxes) hookDone(job *hookJob, status int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, w, now := &job.account.inbox, job.hook, s.opts.Now()
	e := HookEntry{
		Bot: job.account.bot.Username, UpdateID: job.update.id, ChatID: job.update.entry.ChatID, Status: status,
		Again: job.update.entry.Handed > 1, Fault: job.fault.trouble(), Beside: job.beside, At: job.began, Took: now.Sub(job.began),
	}
	s.books.totals.Hooked++
	if err != nil {
		e.Problem = err.Error()
		s.books.totals.Unhooked++
	}
	s.books.hooks.Add(e)
	s.books.Notify()
	w.flying--
	for i := range in.ghosts {
		in.ghosts[i].polls--
	}
	defer in.wake()
	if err != nil {
		w.lastError, w.lastErrorDate = err.Error(), now.Unix()
	}
	if job.ghost {
		return
	}
	delete(w.sending, job.update.id)
	l := w.lane(job.update)
	l.busy = false
	if err != nil {
		l.retryAt = time.Now().Add(s.opts.WebhookRetry << min(l.fails, slowest))
		l.fails++
		return
	}
	delete(w.lanes, job.update.entry.ChatID)
	if in.hook != w {
		return // set anew in between: nobody listens to this answer
	}
	if i := slices.IndexFunc(in.waiting, func(p pending) bool { return p.id == job.update.id }); i >= 0 {
		s.settle(job.account, in.waiting[i], now, false)
		in.waiting = slices.Concat(in.waiting[:i], in.waiting[i+1:])
	}
}
