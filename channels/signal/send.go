package signal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf16"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// maxBody is the longest text in bytes that travels as a text. Longer ones
// become files.
const maxBody = markup.SignalBytes

// repeatMark stands before a message that may have arrived already: signal-cli
// gives each send a new timestamp, by which programs would know it, and cannot
// be asked what it sent.
const repeatMark = repeatText + "\n\n"

// repeatText stands beside a file that may have arrived already.
const repeatText = "(This may be a repeat.)"

// sender sends messages, files, reactions and signs of typing.
type sender struct {
	*client

	messages     messageCache
	typingSigns  typingSigns
	maybeOffline atomic.Bool // whether Signal can be reached
}

// Send sends one message, once. In a group a message that reached anybody is a
// success: it would come twice to them if it were repeated; who missed it is
// logged. After a send that was cut off by the network, nothing is sent until a
// sign of typing gets through, so that an outage leaves one message in doubt and
// not one for each try.
func (s *sender) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	const op = "send"
	to, err := recipientParams(op, r.To)
	if err != nil {
		return channels.Receipt{}, err
	}
	text, styles := r.Body.Text, stylesOf(r.Body)
	if s.floods.mayBeRepeat(r) {
		text, styles = markRepeat(text, styles)
	}
	p := s.params(to)
	p["message"] = text
	if len(styles) > 0 {
		p["textStyle"] = styleRanges(styles)
	}
	if err := s.addQuote(op, p, r); err != nil {
		return channels.Receipt{}, err
	}
	if err := s.checkSendable(ctx, op, r.To, to); err != nil {
		return channels.Receipt{}, err
	}
	raw, err := s.call(ctx, op, p)
	return s.settleSend(op, r, raw, err)
}

// addQuote adds what a message answers.
func (s *sender) addQuote(op string, p map[string]any, r channels.Reply) error {
	if r.ReplyTo == "" {
		return nil
	}
	at, author, ok := parseMessageID(r.ReplyTo)
	if !ok {
		return refusedError(op, "the id of the message to answer is none of Signal's")
	}
	p["quoteTimestamp"], p["quoteAuthor"] = at, author
	p["quoteMessage"] = s.messages.text(r.To.Peer, r.ReplyTo)
	return nil
}

// settleSend is what became of a message, by signal-cli's answer.
func (s *sender) settleSend(op string, r channels.Reply, raw json.RawMessage, err error) (channels.Receipt, error) {
	var result sendResult
	if err == nil {
		if json.Unmarshal(raw, &result) != nil || result.Timestamp == 0 {
			return channels.Receipt{}, &channels.Error{Kind: channels.Ambiguous, Op: op, Message: "the answer has no timestamp"}
		}
	} else {
		result = resultIn(err)
	}
	if (err == nil || len(result.Results) > 0) && result.Timestamp != 0 && result.reachedAny() {
		s.logMissed(r.To.Peer, result)
		s.maybeOffline.Store(false)
		s.floods.reset()
		s.typingSigns.forget(r.To.Peer)
		return channels.Receipt{MessageID: messageID(result.Timestamp, s.o.Account)}, nil
	}
	var e *channels.Error
	if err != nil {
		e = s.channelError(op, err)
	} else {
		e = &channels.Error{Op: op}
		s.classifyResults(e, result)
	}
	s.noteFailure(r.To, e, result)
	if l := result.first(rateLimited); e.Kind == channels.RateLimit && (l == nil || l.Token == "") {
		s.floods.note(r.ID)
	}
	return channels.Receipt{}, e
}

// resultIn returns what an error of signal-cli says of each recipient; nothing, if it says nothing.
func resultIn(err error) sendResult {
	var said *rpcError
	if errors.As(err, &said) {
		return said.Data.Response
	}
	return sendResult{}
}

// ShowTyping shows that the bot is writing, for TypingDuration. It does nothing while the last
// time is still shown for a while.
func (s *sender) ShowTyping(ctx context.Context, to sessionkeys.Address) error {
	const op = "sendTyping"
	t, err := recipientParams(op, to)
	if err != nil {
		return err
	}
	if err := s.Waits.Check(op, "", to.Peer); err != nil {
		return err
	}
	now := s.o.Now()
	if s.typingSigns.isFresh(to.Peer, now) || s.isNoteToSelf(to.Peer) { // a sign in the note to self is shown to no other person
		return nil
	}
	if err := s.sendTyping(ctx, to, t); err != nil {
		return err
	}
	s.typingSigns.noteSent(to.Peer, now)
	return nil
}

func (s *sender) sendTyping(ctx context.Context, to sessionkeys.Address, t map[string]any) error {
	const op = "sendTyping"
	raw, err := s.call(ctx, op, s.params(t))
	if err != nil {
		e := s.channelError(op, err)
		s.noteFailure(to, e, resultIn(err))
		return e
	}
	var result sendResult
	if json.Unmarshal(raw, &result) == nil && !result.reachedAny() {
		e := &channels.Error{Op: op}
		s.classifyResults(e, result)
		s.noteFailure(to, e, result)
		return e
	}
	return nil
}

// checkSendable says whether a message may be tried now.
func (s *sender) checkSendable(ctx context.Context, op string, to sessionkeys.Address, t map[string]any) error {
	if err := s.Waits.Check(op, "", to.Peer); err != nil {
		return err
	}
	if !s.maybeOffline.Load() || s.isNoteToSelf(to.Peer) {
		return nil
	}
	err := s.sendTyping(ctx, to, t)
	var e *channels.Error
	switch {
	case err == nil:
		s.maybeOffline.Store(false)
	case errors.As(err, &e) && (e.Kind == channels.Ambiguous || e.Kind == channels.Unsent):
		// The sign may have left; the message has not.
		return &channels.Error{Kind: channels.Unsent, Op: op, Message: "signal-cli has no connection to Signal yet", Err: e}
	}
	return nil // what else is wrong the message itself finds out
}

// noteFailure keeps what a failure says of later calls.
func (s *sender) noteFailure(to sessionkeys.Address, e *channels.Error, result sendResult) {
	switch e.Kind {
	case channels.RateLimit:
		chat := to.Peer
		if result.first(rateLimited) == nil && (e.Status == codeRateLimit || e.Status == codeCaptcha) {
			chat = "" // signal-cli names no recipient, so the whole account has to wait
		}
		s.Waits.Note("", chat, e.RetryAfter)
	case channels.Ambiguous:
		if e.Status == codeIO || result.first(networkFail) != nil || isUploadCutOff(strings.ToLower(e.Message)) {
			s.maybeOffline.Store(true)
		}
	}
}

// recipientParams is whom a call is for, as its parameters.
func recipientParams(op string, a sessionkeys.Address) (map[string]any, error) {
	switch {
	case a.Channel != Network:
		return nil, refusedError(op, "the address is of another network")
	case a.Thread != "":
		return nil, refusedError(op, "Signal has no threads")
	case a.Kind == sessionkeys.DM && CheckPerson(a.Peer) == nil:
		return map[string]any{"recipient": []string{a.Peer}}, nil
	case a.Kind == sessionkeys.Group && CheckGroup(a.Peer) == nil:
		return map[string]any{"groupId": a.Peer}, nil
	}
	return nil, refusedError(op, "the id of the chat is none of Signal's")
}

// messageID names a message by when it was sent and by whom.
func messageID(at int64, author string) string { return strconv.FormatInt(at, 10) + "." + author }

func parseMessageID(id string) (at int64, author string, ok bool) {
	left, author, ok := strings.Cut(id, ".")
	at, err := strconv.ParseInt(left, 10, 64)
	return at, author, ok && err == nil && at > 0 && CheckPerson(author) == nil
}

// stylesOf reads what Render stored. Markup that cannot be read is dropped: the
// text says the same.
func stylesOf(b channels.Body) []markup.SignalStyle {
	var styles []markup.SignalStyle
	if len(b.Markup) == 0 || json.Unmarshal(b.Markup, &styles) != nil {
		return nil
	}
	return styles
}

// styleRanges writes styles as signal-cli reads them.
func styleRanges(styles []markup.SignalStyle) []string {
	out := make([]string, len(styles))
	for i, s := range styles {
		out[i] = fmt.Sprintf("%d:%d:%s", s.Start, s.Length, s.Style)
	}
	return out
}

// markRepeat puts the mark before a text and moves its styles behind it.
func markRepeat(text string, styles []markup.SignalStyle) (string, []markup.SignalStyle) {
	shift := len(utf16.Encode([]rune(repeatMark)))
	moved := make([]markup.SignalStyle, len(styles))
	for i, s := range styles {
		s.Start += shift
		moved[i] = s
	}
	return repeatMark + text, moved
}

func refusedError(op, why string) error {
	return &channels.Error{Kind: channels.Refused, Op: op, Message: why}
}
