package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/costs"
	"parley/gateway/redaction"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// messagesAtOnce is how many messages of a transcript are read at a time.
const messagesAtOnce = 64

// sessionWriter writes one session: its streams, each in its own order, woven into the
// order in which they happened.
type sessionWriter struct {
	w     *writer
	s     sessions.Session
	turns []sessions.Turn // that were not written, oldest first

	messages     []transcript.Message // that were read and not written
	said         int                  // messages that were written
	requests     *stream[sessions.Recording]
	costs        *stream[costs.Entry]
	answers      *stream[sessions.Delivery]
	stopRequests func()
	stopCosts    func()
	stopAnswers  func()
	err          error // of the streams

	logged  uint64 // envelopes up to this place were written
	logDone bool   // those that follow are another session's
}

func (t *sessionWriter) write() error {
	for {
		r, ok := t.requests.peek()
		if !ok {
			break
		}
		t.requests.advance()
		if err := t.writeMessagesUpTo(r.Upto); err != nil {
			return err
		}
		if err := t.writeRequest(r); err != nil {
			return err
		}
		if err := t.writeCostsUpTo(r); err != nil {
			return err
		}
	}
	if err := t.writeMessagesUpTo(-1); err != nil {
		return err
	}
	for len(t.turns) > 0 { // opened, and nothing was said
		if err := t.writeTurn(); err != nil {
			return err
		}
	}
	if err := t.writeEnvelopes(0); err != nil {
		return err
	}
	for {
		e, ok := t.costs.peek()
		if !ok {
			break
		}
		if err := t.writeCost(e); err != nil {
			return err
		}
	}
	return t.writeDeliveries(func(sessions.Delivery) bool { return true })
}

// writeMessagesUpTo writes the messages up to number n, or all when n is -1.
func (t *sessionWriter) writeMessagesUpTo(n int) error {
	for n < 0 || t.said < n {
		if len(t.messages) == 0 {
			ms, err := t.w.s.Store.MessagesAfter(t.w.ctx, t.s.ID, t.said, messagesAtOnce)
			if err != nil {
				return err
			}
			if len(ms) == 0 {
				return nil
			}
			t.messages = ms
		}
		m := t.messages[0]
		t.messages = t.messages[1:]
		id, ours := transcript.ParseMessageID(m.ID)
		if len(t.turns) > 0 && ours && id.Kind == transcript.Opening && id.Turn == t.turns[0].ID {
			if err := t.writeTurn(); err != nil {
				return err
			}
		}
		if err := t.writeMessage(m); err != nil {
			return err
		}
	}
	return nil
}

// writeTurn writes the next turn, with what came before it.
func (t *sessionWriter) writeTurn() error {
	turn := t.turns[0]
	if err := t.writeDeliveries(func(d sessions.Delivery) bool { return d.At.Before(turn.OpenedAt) }); err != nil {
		return err
	}
	t.turns = t.turns[1:]
	if t.s.Parent == "" {
		if err := t.writeOpener(turn); err != nil {
			return err
		}
	}
	return t.w.writeLine(Turn{
		Type: TypeTurn, Session: t.s.ID, ID: turn.ID, Seq: turn.Seq, State: string(turn.State), Outcome: turn.Outcome,
		Attempts: turn.Attempts, Steps: turn.Steps, Tries: turn.Tries, Channel: turn.Channel, From: turn.From, ReplyTo: turn.ReplyTo,
		Sender: turn.Sender, Joined: turn.Joined, Received: turn.ReceivedAt, Opened: turn.OpenedAt, Ended: endTime(turn), Refused: turn.Refused,
	})
}

// writeOpener writes the envelopes up to the one that opened the turn, which may be
// in another log than the present one, or in none any more.
func (t *sessionWriter) writeOpener(turn sessions.Turn) error {
	if t.w.s.TurnID(t.w.generation, turn.Token, turn.Seq) != turn.ID {
		return t.w.writeLine(Envelope{Type: TypeEnvelope, Session: t.s.ID, Seq: turn.Seq, Pruned: true})
	}
	if t.logged == 0 {
		t.logged = turn.Seq - 1
	}
	return t.writeEnvelopes(turn.Seq)
}

// writeEnvelopes writes what is in the log up to the place seq, or, when that is 0,
// all that belongs to the session.
func (t *sessionWriter) writeEnvelopes(seq uint64) error {
	if t.s.Parent != "" || t.logDone || seq == 0 && t.logged == 0 {
		return nil
	}
	token := t.s.Key.Token()
	last := seq
	if seq == 0 {
		m, err := t.w.s.Store.Mailbox(t.w.ctx, token)
		if err != nil {
			return fmt.Errorf("look how far the log is read: %w", err)
		}
		last = m.LastRead
	}
	for t.logged < last {
		e, err := t.w.s.Log.NextAtLeast(t.w.ctx, token, t.logged, last)
		if errors.Is(err, broker.ErrNone) || err == nil && e.Seq > last {
			break
		}
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		t.logged = e.Seq
		if err := t.w.writeLine(Envelope{Type: TypeEnvelope, Session: t.s.ID, Seq: e.Seq, ID: e.ID, At: e.At.UTC(), Body: e.Body}); err != nil {
			return err
		}
		var m channels.Message
		if json.Unmarshal(e.Body, &m) == nil && m.Kind != channels.Edited && startsSession(m.Text) {
			t.logDone = seq == 0
			if t.logDone {
				return nil
			}
		}
	}
	if seq > 0 && t.logged < seq {
		t.logged = seq
		return t.w.writeLine(Envelope{Type: TypeEnvelope, Session: t.s.ID, Seq: seq, Pruned: true})
	}
	return nil
}

// writeMessage writes one entry of the transcript, and behind its calls the
// sub-agents that they started.
func (t *sessionWriter) writeMessage(m transcript.Message) error {
	t.said++
	// Encoded by hand: the encoder would change the provider's own form.
	body, err := m.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode message %d: %w", t.said, err)
	}
	id, err := redaction.EncodeJSON(t.s.ID)
	if err != nil {
		return err
	}
	line := fmt.Appendf(nil, `{"type":%q,"session":%s,"no":%d,"message":`, TypeMessage, id, t.said)
	if err := t.w.writeRaw(append(append(line, body...), '}')); err != nil {
		return err
	}
	of, ok := transcript.ParseMessageID(m.ID)
	if !ok || of.Kind != transcript.Answer {
		return nil
	}
	for _, c := range m.Calls() {
		child, ok := t.w.children[sessionkeys.ChildID(t.s.ID, of.Turn, of.Step, c.ID)]
		if !ok {
			continue
		}
		delete(t.w.children, child.ID)
		if err := t.w.writeSession(child); err != nil {
			return fmt.Errorf("record sub-agent %s: %w", child.ID, err)
		}
	}
	return nil
}

func (t *sessionWriter) writeRequest(r sessions.Recording) error {
	if !t.w.frames[r.Template] {
		t.w.frames[r.Template] = true
		body, err := t.w.s.Store.RequestTemplate(t.w.ctx, r.Template)
		if err != nil {
			return err
		}
		if err := t.w.writeLine(Template{Type: TypeFrame, Name: r.Template, Template: body}); err != nil {
			return err
		}
	}
	line := Request{
		Type: TypeRequest, Session: t.s.ID, Turn: r.Turn, ID: r.ID, At: r.At, Upper: r.Upper, Template: r.Template,
		Messages: r.Upto, MaxTokens: r.MaxTokens, Digest: r.Digest,
	}
	for _, m := range r.Tail {
		b, err := m.MarshalJSON()
		if err != nil {
			return fmt.Errorf("encode what request %s ends with: %w", r.ID, err)
		}
		line.Tail = append(line.Tail, b)
	}
	return t.w.writeLine(line)
}

// writeCostsUpTo writes the rows of the ledger up to that of the request.
func (t *sessionWriter) writeCostsUpTo(r sessions.Recording) error {
	for {
		e, ok := t.costs.peek()
		if !ok || e.ID != r.ID && !e.At.Before(r.At) {
			return nil
		}
		if err := t.writeCost(e); err != nil || e.ID == r.ID {
			return err
		}
	}
}

func (t *sessionWriter) writeCost(e costs.Entry) error {
	t.costs.advance()
	return t.w.writeLine(Cost{Type: TypeCost, Session: t.s.ID, Entry: e})
}

// writeDeliveries writes the next answers as long as they fit.
func (t *sessionWriter) writeDeliveries(fits func(sessions.Delivery) bool) error {
	for {
		d, ok := t.answers.peek()
		if !ok || !fits(d) {
			return nil
		}
		t.answers.advance()
		line := Delivery{
			Type: TypeDelivery, Session: t.s.ID, ID: d.ID, Turn: d.Turn, Channel: d.Channel, To: d.To, ReplyTo: d.ReplyTo, Text: d.Text,
			At: d.At, Parts: []Part{},
		}
		if d.File != nil {
			line.File = &File{d.File.Name, d.File.MIME, d.File.Size}
		}
		for _, p := range d.Parts {
			line.Parts = append(line.Parts, Part{
				Body: p.Body, State: string(p.State), Attempts: p.Attempts, MessageID: p.MessageID,
				Repeats: p.Repeats, Reason: string(p.Reason), Problem: p.Problem, At: p.At,
			})
		}
		if err := t.w.writeLine(line); err != nil {
			return err
		}
	}
}

// endTime returns when the turn ended, and zero while it is open.
func endTime(t sessions.Turn) (at time.Time) {
	if t.State == sessions.Done {
		at = t.EndedAt
	}
	return at
}
