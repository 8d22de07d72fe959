package slack

import (
	"context"
	"sync"
	"time"

	"github.com/slack-go/slack"

	"parley/sessionkeys"
)

const (
	// Slack: a status fades two minutes after it was set, or when the bot posts.
	statusFades   = 2 * time.Minute
	statusRefresh = time.Minute // one that is younger is not set again
	working       = "is working on it…"
	maxStatus     = 1024
)

// typing shows in threads that the bot is at work.
type typing struct {
	*webAPI

	sessions agentSessions
	status   status
}

// status remembers in which threads a status stands, and where there can be none.
type status struct {
	mu    sync.Mutex
	off   map[sessionkeys.Kind]bool
	shown map[thread]time.Time
}

// shouldSet reports whether a status is to be set.
func (s *status) shouldSet(to sessionkeys.Address, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off[to.Kind] {
		return false
	}
	k := thread{to.Peer, to.Thread}
	if ago := now.Sub(s.shown[k]); ago >= 0 && ago < statusRefresh {
		return false
	}
	if s.shown == nil || len(s.shown) >= maxStatus {
		s.shown = map[thread]time.Time{}
	}
	s.shown[k] = now
	return true
}

// clear notes that the bot posted, which takes the status away.
func (s *status) clear(to sessionkeys.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.shown, thread{to.Peer, to.Thread})
}

func (s *status) turnOff(kind sessionkeys.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off == nil {
		s.off = map[sessionkeys.Kind]bool{}
	}
	s.off[kind] = true
}

// ShowTyping shows that the bot works in a thread: by the thread's session, with the
// button to stop it, until the bot posts there or Rest; or, where the app has none, by
// a status, for TypingDuration or until the bot posts. Slack has no such sign outside of
// threads, and then nothing is shown.
func (y *typing) ShowTyping(ctx context.Context, to sessionkeys.Address) error {
	const method = "assistant.threads.setStatus"
	if err := checkAddress(method, to); err != nil {
		return err
	}
	if to.Thread == "" {
		return nil
	}
	if !y.sessions.isOff() {
		if y.sessions.isWorking(to) {
			return nil
		}
		if err := y.setSessionStatus(ctx, to, slack.AgentSessionStatusProcessing, cosmetic); err == nil || !y.sessions.isOff() {
			return err
		}
	}
	if !y.status.shouldSet(to, y.o.Now()) {
		return nil
	}
	_, err := y.callIfRoom(ctx, method, to.Peer, cosmetic, func(ctx context.Context) error {
		return y.api.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{
			ChannelID: to.Peer, ThreadTS: to.Thread, Status: working,
		})
	})
	if isRefused(err) {
		y.status.turnOff(to.Kind)
		y.o.Log.Info("slack refused the status of this app", "chat_kind", to.Kind, "error", err)
		return nil
	}
	if err != nil {
		y.status.clear(to)
	}
	return err
}

// TypingDuration is how long Slack shows a status.
func (*typing) TypingDuration() time.Duration { return statusFades }
