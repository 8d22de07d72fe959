package telegram

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// hookJob is one update on its way to a webhook.
type hookJob struct {
	account *account
	hook    webhook
	update  pending
	ghost   bool
}

// deliverHooks posts updates to webhooks until ctx ends: one at a time, oldest
// first, again and again until a 2xx confirms it. Redirects are not followed.
// A method call in the body of the response is ignored.
func (s *Server) deliverHooks(ctx context.Context) {
	client := &http.Client{
		Transport:     &http.Transport{},
		Timeout:       time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	for {
		job, wait := s.nextHook()
		if job != nil {
			s.hookDone(job, postHook(ctx, client, job))
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.hooked:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// nextHook picks what to post now, or says how long nothing is due.
func (s *Server) nextHook() (*hookJob, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := time.Hour
	if s.stop.Err() != nil {
		return nil, wait
	}
	for _, a := range s.accounts {
		in := &a.inbox
		if in.hook.url == "" || len(in.waiting) == 0 && len(in.ghosts) == 0 {
			continue
		}
		if left := time.Until(in.hook.retryAt); left > 0 {
			wait = min(wait, left)
			continue
		}
		job := &hookJob{account: a, hook: in.hook}
		for i, g := range in.ghosts {
			if g.polls <= 0 || len(in.waiting) == 0 {
				job.update, job.ghost = g.pending, true
				in.ghosts = append(in.ghosts[:i:i], in.ghosts[i+1:]...)
				break
			}
		}
		if !job.ghost {
			at := 0
			if f := s.draw(a.bot.Username, "webhook", 0, false); f != nil && f.Trouble == Reordered {
				at = s.rng.IntN(len(in.waiting))
				s.books.totals.Faults++
			}
			job.update = in.waiting[at]
		}
		job.update.entry.Handed++
		return job, 0
	}
	return nil, wait
}

func postHook(ctx context.Context, client *http.Client, job *hookJob) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, job.hook.url, bytes.NewReader(job.update.raw))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	if job.hook.secret != "" {
		q.Header.Set("X-Telegram-Bot-Api-Secret-Token", job.hook.secret)
	}
	res, err := client.Do(q)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("Wrong response from the webhook: %s", res.Status) //nolint:staticcheck // the platform's words
	}
	return nil
}

// hookDone confirms an update or lets the webhook rest before the next try.
func (s *Server) hookDone(job *hookJob, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := &job.account.inbox
	now := s.opts.Now()
	s.books.touch()
	if err != nil && in.hook.url == job.hook.url {
		in.hook.lastError, in.hook.lastErrorDate = err.Error(), now.Unix()
		in.hook.retryAt = time.Now().Add(s.opts.WebhookRetry)
	}
	for i := range in.ghosts {
		in.ghosts[i].polls--
	}
	if err != nil || job.ghost {
		return
	}
	for i, p := range in.waiting {
		if p.id == job.update.id {
			in.waiting = append(in.waiting[:i:i], in.waiting[i+1:]...)
			s.settle(job.account, p, now, false)
			return
		}
	}
}
