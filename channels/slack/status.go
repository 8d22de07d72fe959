package slack

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

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
	shown map[thread]shownStatus
}

type shownStatus struct {
	words string
	at    time.Time
}

// next returns the words of a status that is to be set: those given, or without any what
// stands there, that it does not fade; false: nothing is to be set.
func (s *status) next(to sessionkeys.Address, words string, now time.Time) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.off[to.Kind] {
		return "", false
	}
	k := thread{to.Peer, to.Thread}
	stands := s.shown[k]
	words = cmp.Or(words, stands.words, working)
	if ago := now.Sub(stands.at); words == stands.words && ago >= 0 && ago < statusRefresh {
		return "", false
	}
	if s.shown == nil || len(s.shown) >= maxStatus {
		s.shown = map[thread]shownStatus{}
	}
	s.shown[k] = shownStatus{words, now}
	return words, true
}

// stands reports whether other words stand there than that the bot works.
func (s *status) stands(to sessionkeys.Address) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := s.shown[thread{to.Peer, to.Thread}].words
	return words != "" && words != working
}

func (s *status) isOff(kind sessionkeys.Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off[kind]
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
	if err := checkAddress(setStatusMethod, to); err != nil {
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
	return y.setStatus(ctx, to, "")
}

// HasStatus reports whether to is a thread in which Slack shows a status.
func (y *typing) HasStatus(to sessionkeys.Address) bool {
	return to.Thread != "" && !y.status.isOff(to.Kind)
}

// ShowStatus shows beside a thread what the bot does, behind the app's name.
func (y *typing) ShowStatus(ctx context.Context, to sessionkeys.Address, line string) error {
	if err := checkAddress(setStatusMethod, to); err != nil {
		return err
	}
	words := statusWords(line)
	if to.Thread == "" || words == working && !y.status.stands(to) {
		return nil
	}
	return y.setStatus(ctx, to, words)
}

// maxStatusWords bounds a status, in characters.
const maxStatusWords = 140

// statusWords returns the words of a status for a line of Markdown with code spans. Slack
// shows them behind the app's name, and may read its own marks in them.
func statusWords(line string) string {
	line = strings.NewReplacer("`", "", "<", "‹", ">", "›", "&", "+").Replace(line)
	if line = strings.TrimSpace(line); line == "" {
		return working
	}
	first, n := utf8.DecodeRuneInString(line)
	words := []rune("is working: " + string(unicode.ToLower(first)) + line[n:])
	if len(words) > maxStatusWords {
		words = append(words[:maxStatusWords-1], '…')
	}
	return string(words)
}

const setStatusMethod = "assistant.threads.setStatus"

// setStatus sets the status of a thread; no words: what stands there stays.
func (y *typing) setStatus(ctx context.Context, to sessionkeys.Address, words string) error {
	words, ok := y.status.next(to, words, y.o.Now())
	if !ok {
		return nil
	}
	_, err := y.callIfRoom(ctx, setStatusMethod, to.Peer, cosmetic, func(ctx context.Context) error {
		return y.api.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{
			ChannelID: to.Peer, ThreadTS: to.Thread, Status: words,
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

// clearStatus takes away the words that stand in a thread. If that fails they fade.
func (y *typing) clearStatus(ctx context.Context, to sessionkeys.Address) {
	if !y.status.stands(to) {
		y.status.clear(to)
		return
	}
	y.status.clear(to)
	_, err := y.callIfRoom(ctx, setStatusMethod, to.Peer, cosmetic, func(ctx context.Context) error {
		return y.api.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{ChannelID: to.Peer, ThreadTS: to.Thread})
	})
	if err != nil {
		y.o.Log.Debug("status of a thread not taken away, it fades", "error", err)
	}
}

// TypingDuration is how long Slack shows a status.
func (*typing) TypingDuration() time.Duration { return statusFades }
