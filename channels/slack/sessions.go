package slack

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/pause"
	"parley/sessionkeys"
	"parley/wake"
)

const (
	// sessionLasts is how long Slack shows an agent at work of which it hears nothing.
	sessionLasts = time.Hour
	sessionCalls = "agents.sessions.setStatus"
	maxSessions  = 4096
	clocksApart  = time.Minute // at most, ours and Slack's
)

// agentSessions remembers which threads of an agent Slack shows as being worked in.
// Slack ends that by itself only after an hour, whatever the bot posts and whoever
// presses the button to stop it: https://docs.slack.dev/ai/agent-sessions.
type agentSessions struct {
	mu        sync.Mutex
	off       bool                // the app has none
	startedAt time.Time           // before, another process may have begun some
	all       map[thread]bool     // whether it is at work there; what is not here is not known
	owed      map[thread]struct{} // whose end could not be told
	wake      wake.Signal         // there is something owed
}

func (s *agentSessions) begin(on bool, now time.Time) {
	s.off, s.startedAt, s.wake = !on, now, wake.New()
	s.all, s.owed = map[thread]bool{}, map[thread]struct{}{}
}

func (s *agentSessions) isOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

func (s *agentSessions) turnOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
	clear(s.owed)
}

// note remembers what Slack shows.
func (s *agentSessions) note(to sessionkeys.Address, works bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off {
		return
	}
	if len(s.all) >= maxSessions {
		clear(s.all)
	}
	k := thread{to.Peer, to.Thread}
	s.all[k] = works
	delete(s.owed, k)
}

func (s *agentSessions) isWorking(to sessionkeys.Address) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[thread{to.Peer, to.Thread}]
}

// mustEnd reports whether Slack may show the bot at work there.
func (s *agentSessions) mustEnd(to sessionkeys.Address, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	works, known := s.all[thread{to.Peer, to.Thread}]
	if s.off || known {
		return works && !s.off
	}
	return now.Sub(s.startedAt) < sessionLasts && !beganAfter(to.Thread, s.startedAt)
}

// beganAfter reports whether a thread was surely begun after that time: its ts is when, by
// Slack's clock.
func beganAfter(thread string, t time.Time) bool {
	whole, _, _ := strings.Cut(thread, ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	return err == nil && time.Unix(n, 0).After(t.Add(clocksApart))
}

// queueEnd remembers that the end of a session is to be told again.
func (s *agentSessions) queueEnd(to sessionkeys.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.owed) < maxSessions {
		s.owed[thread{to.Peer, to.Thread}] = struct{}{}
	}
	s.wake.Send()
}

func (s *agentSessions) pendingEnds() (all []thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.owed {
		all = append(all, k)
	}
	return all
}

// setSessionStatus tells Slack what a session does. An app that is no agent has none, and
// it is not tried again.
func (y *typing) setSessionStatus(ctx context.Context, to sessionkeys.Address, status string, k class) error {
	_, err := y.callIfRoom(ctx, sessionCalls, to.Peer, k, func(ctx context.Context) error {
		_, err := y.api.SetAgentSessionStatusContext(ctx, slack.AgentSessionSetStatusParameters{
			Status: status, ChannelID: to.Peer, ThreadTS: to.Thread,
		})
		return err
	})
	switch {
	case err == nil:
		y.sessions.note(to, status == slack.AgentSessionStatusProcessing)
	case hasErrorCode(err, "not_authorized", "not_agent_app", "unknown_method", "missing_scope", "not_allowed_token_type", "feature_disabled"):
		y.sessions.turnOff()
		y.o.Log.Warn("slack does not treat this app as an agent: its manifest has no agent_view; see parley slack manifest, or view in the configuration", "error", err)
	}
	return err
}

// StopTyping ends the session of a thread, if one may be at work. What cannot be told now
// Receive tells later.
func (y *typing) StopTyping(ctx context.Context, to sessionkeys.Address) error {
	y.clearStatus(ctx, to)
	if to.Thread == "" || !y.sessions.mustEnd(to, y.o.Now()) {
		return nil
	}
	err := y.setSessionStatus(ctx, to, slack.AgentSessionStatusActive, ending)
	if err == nil || isRefused(err) {
		if err != nil {
			y.o.Log.Debug("session of a thread not ended", "error", err)
		}
		return nil
	}
	y.sessions.queueEnd(to)
	return err
}

// tryStopTyping is Rest behind a message that has arrived, which it makes no failure of.
func (y *typing) tryStopTyping(ctx context.Context, to sessionkeys.Address) {
	if err := y.StopTyping(ctx, to); err != nil {
		y.o.Log.Debug("end of a session reported later", "error", err)
	}
}

// runEndSessions runs endSessions until stop is called, which waits for it.
func (r *receiver) runEndSessions(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { r.endSessions(ctx) })
	return func() {
		cancel()
		work.Wait()
	}
}

// endSessions tells Slack, until ctx ends, what it could not be told at once.
func (r *receiver) endSessions(ctx context.Context) {
	every := r.o.MinPause
	for {
		owed := r.sessions.pendingEnds()
		if len(owed) == 0 {
			select {
			case <-r.sessions.wake:
				every = r.o.MinPause
				continue
			case <-ctx.Done():
				return
			}
		}
		wait := every
		for _, k := range owed {
			at := sessionkeys.Address{Channel: Network, Peer: k.channel, Thread: k.ts}
			if err := r.StopTyping(ctx, at); err != nil {
				if e := (*channels.Error)(nil); errors.As(err, &e) {
					wait = max(wait, e.RetryAfter)
				}
				break
			}
			r.sessions.note(at, false)
		}
		if len(r.sessions.pendingEnds()) == 0 {
			continue
		}
		if pause.For(ctx, wait) != nil {
			return
		}
		every = min(2*every, r.o.MaxPause)
	}
}
