package slack

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"unicode"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/sessionkeys"
)

// streams are the messages that grow at present, by their ts. Only the process
// that began one can make it longer; any can end it.
type streams struct {
	mu  sync.Mutex
	off bool // the app or the workspace cannot do it
	all map[stream]*streamState
}

type stream struct{ channel, ts string }

type streamState struct {
	thread   string
	text     string // what was sent of it
	diverged bool   // what is there is not how the answer begins, or not known
}

// maxStreams bounds what is remembered: one whose end was never told stays
// behind, and Slack ends it by itself.
const maxStreams = 1024

func (s *streams) begin(to sessionkeys.Address, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil || len(s.all) >= maxStreams {
		s.all = map[stream]*streamState{}
	}
	s.all[stream{to.Peer, ts}] = &streamState{thread: to.Thread, text: text}
}

// update runs f with the message, under the lock; it is false when it does not grow.
func (s *streams) update(to sessionkeys.Address, ts string, f func(g *streamState)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.all[stream{to.Peer, ts}]
	if g != nil {
		f(g)
	}
	return g != nil
}

func (s *streams) end(to sessionkeys.Address, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, stream{to.Peer, ts})
}

// forgetThread forgets what grew in a thread: a person has stopped it.
func (s *streams) forgetThread(at sessionkeys.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, g := range s.all {
		if k.channel == at.Peer && g.thread == at.Thread {
			delete(s.all, k)
		}
	}
}

func (s *streams) isOff() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.off
}

func (s *streams) turnOff() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.off = true
}

// cannotStream are the words with which Slack says that it never will.
var cannotStream = []string{"unknown_method", "method_deprecated", "missing_scope", "not_allowed_token_type", "no_permission", "access_denied", "feature_not_enabled", "team_not_found"}

// StartStream sends the first of a growing answer: as a stream in a thread of a direct
// message, and as a message elsewhere or when Slack refuses to. In a channel a stream
// is seen by one person: everybody else sees how it begins and, when it has ended, the
// whole.
func (c *Channel) StartStream(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	const method = "chat.startStream"
	if c.o.NoStream || c.streams.isOff() || r.To.Thread == "" || r.Repeat || r.To.Kind != sessionkeys.DM {
		return c.beginByEdits(ctx, r)
	}
	if err := checkAddress(method, r.To); err != nil {
		return channels.Receipt{}, err
	}
	text := stablePrefix(markdownOf(r.Body))
	options := []slack.MsgOption{slack.MsgOptionTS(r.To.Thread)}
	if text != "" {
		options = append(options, slack.MsgOptionMarkdownText(text))
	}
	if p := c.threads.latestSpeaker(r.To); p.user != "" {
		options = append(options, slack.MsgOptionRecipientTeamID(p.team), slack.MsgOptionRecipientUserID(p.user))
	}
	result, err := c.callIfRoom(ctx, method, r.To.Peer, preview, func(ctx context.Context) error {
		_, _, err := c.api.StartStreamContext(ctx, r.To.Peer, options...)
		return err
	})
	switch {
	case err == nil:
		sent, err := receipt(method, result)
		if err == nil {
			c.streams.begin(r.To, sent.MessageID, text)
			c.threads.notePosted(r.To)
			c.status.clear(r.To)
			c.sessions.note(r.To, true) // which Slack begins with the stream
		}
		return sent, err
	case isRefused(err):
		if hasErrorCode(err, cannotStream...) {
			c.streams.turnOff()
			c.o.Log.Info("slack refused to stream for this app, answers grow by edits", "error", err)
		}
		return c.beginByEdits(ctx, r)
	}
	return channels.Receipt{}, err
}

// beginByEdits is Begin by a message, when there is room for it and for its last edit.
func (c *Channel) beginByEdits(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	if err := c.limiter.checkPost(r.To.Peer); err != nil {
		return channels.Receipt{}, err
	}
	return c.post(ctx, r)
}

// growByEdit shows more of a message, when there is room for what is for show.
func (c *Channel) growByEdit(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	if err := c.limiter.checkGrow(stream{to.Peer, messageID}); err != nil {
		return err
	}
	return c.update(ctx, to, messageID, b)
}

// isRefused reports whether Slack understood a call and did not do it.
func isRefused(err error) bool {
	var e *channels.Error
	return errors.As(err, &e) && (e.Kind == channels.Refused || e.Kind == channels.Unauthorized)
}

// UpdateStream shows more of what Begin sent.
func (c *Channel) UpdateStream(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) error {
	const method = "chat.appendStream"
	more, stuck := "", false
	grows := c.streams.update(to, messageID, func(g *streamState) {
		rest, ok := strings.CutPrefix(stablePrefix(markdownOf(b)), g.text)
		if !ok {
			g.diverged = true // Markdown that reads otherwise by now; the end mends it
		}
		more, stuck = rest, g.diverged
	})
	switch {
	case !grows:
		return c.growByEdit(ctx, to, messageID, b)
	case stuck || more == "":
		return nil
	}
	_, err := c.callIfRoom(ctx, method, to.Peer, preview, func(ctx context.Context) error {
		_, _, err := c.api.AppendStreamContext(ctx, to.Peer, messageID, slack.MsgOptionMarkdownText(more))
		return err
	})
	var e *channels.Error
	switch errors.As(err, &e); {
	case err == nil:
		c.streams.update(to, messageID, func(g *streamState) { g.text += more })
	case isRefused(err): // it expired, or somebody stopped it
		c.streams.end(to, messageID)
		return c.growByEdit(ctx, to, messageID, b)
	case e != nil && e.Kind == channels.Ambiguous:
		c.streams.update(to, messageID, func(g *streamState) { g.diverged = true })
	}
	return err
}

// finishStream ends a message that grows with the rest of its text, and leaves the
// session in a status. It is false when the text must still be written over what is
// there.
func (c *Channel) finishStream(ctx context.Context, to sessionkeys.Address, messageID, markdown, session string) (done bool, err error) {
	rest, fits := "", false
	grows := c.streams.update(to, messageID, func(g *streamState) {
		rest, fits = strings.CutPrefix(markdown, g.text)
		fits = fits && !g.diverged && markdown != ""
		g.diverged = true // until it is known what became of the call
	})
	if !grows {
		return false, nil
	}
	if !fits {
		rest = ""
	}
	err = c.stopStream(ctx, to, messageID, rest, session)
	var e *channels.Error
	switch errors.As(err, &e); {
	case err == nil, isRefused(err):
		c.streams.end(to, messageID)
		return err == nil && fits, nil
	case fits && e != nil && e.Kind != channels.Ambiguous: // it surely did not arrive
		c.streams.update(to, messageID, func(g *streamState) { g.diverged = false })
	}
	return false, err
}

// SplitStream ends a message that grows with the rest of what was said in it; the session
// goes on. A message that grows by edits takes any text.
func (c *Channel) SplitStream(ctx context.Context, to sessionkeys.Address, messageID string, b channels.Body) (bool, error) {
	if err := checkAddress("chat.stopStream", to); err != nil {
		return false, err
	}
	if !c.streams.update(to, messageID, func(*streamState) {}) {
		return false, nil
	}
	done, err := c.finishStream(ctx, to, messageID, markdownOf(b), slack.AgentSessionStatusProcessing)
	if err == nil && !done && b.Text != "" {
		err = c.update(ctx, to, messageID, b)
	}
	return err == nil, err
}

// EndStream ends a message that grows as it stands.
func (c *Channel) EndStream(ctx context.Context, to sessionkeys.Address, messageID string) error {
	if err := checkAddress("chat.stopStream", to); err != nil {
		return err
	}
	if to.Thread == "" { // only in threads do messages grow
		return nil
	}
	err := c.stopStream(ctx, to, messageID, "", slack.AgentSessionStatusActive)
	var e *channels.Error
	over := errors.As(err, &e) && e.Kind == channels.Refused || hasErrorCode(err, cannotStream...)
	if err == nil || over { // it ended before, or never was one
		c.streams.end(to, messageID)
		c.tryStopTyping(ctx, to)
		return nil
	}
	return err
}

// stopStream ends a stream and says what its session does from then on.
func (c *Channel) stopStream(ctx context.Context, to sessionkeys.Address, messageID, rest, session string) error {
	// session_status is an argument that slack-go does not know:
	// https://docs.slack.dev/reference/methods/chat.stopStream
	options := []slack.MsgOption{slack.UnsafeMsgOptionEndpoint(c.o.APIURL+"chat.stopStream", func(v url.Values) { v.Set("session_status", session) })}
	if rest != "" {
		options = append(options, slack.MsgOptionMarkdownText(rest))
	}
	_, err := c.call(ctx, "chat.stopStream", to.Peer, func(ctx context.Context) error {
		_, _, err := c.api.StopStreamContext(ctx, to.Peer, messageID, options...)
		return err
	})
	if err == nil {
		c.sessions.note(to, session == slack.AgentSessionStatusProcessing)
	}
	return err
}

// stablePrefix returns the beginning of a text that is still being written which will
// stay as it is: without its last word, behind which marks may be closed that
// are not closed yet.
func stablePrefix(markdown string) string {
	return markdown[:strings.LastIndexFunc(markdown, unicode.IsSpace)+1]
}
