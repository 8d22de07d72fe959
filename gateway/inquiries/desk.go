package inquiries

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/messages"
	"parley/gateway/records"
	"parley/gateway/signals"
	"parley/sessionkeys"
	"parley/sessions"
)

// Why something is not asked. The text around each is for the program that asks.
var (
	// ErrInvalid means that it cannot be asked so, whenever.
	ErrInvalid = errors.New("cannot be asked")
	// ErrRefused means that it is not asked now.
	ErrRefused = errors.New("is not asked")
	// ErrNone means that nothing was asked with that key, or that it is forgotten by now.
	ErrNone = errors.New("nothing was asked with this key in the last days")
)

// Log carries hints, which may be lost.
type Log interface {
	Signal(ctx context.Context, s broker.Signal) error
}

// Desk asks people what programs want to know, and takes their answers. Its methods may be called
// concurrently, by several processes. It is not copied.
type Desk struct {
	Store Store
	// Present returns the settings in force. It must not block.
	Present func() Settings
	Log     Log
	Logger  *slog.Logger
	Now     func() time.Time

	asking sync.Mutex // held while what waits is counted and one more is asked
}

// People returns whom programs may ask.
func (d *Desk) People() []Person { return d.Present().People }

// RecordsOf returns the ids of the records of what programs asked somebody on a channel, by whichever
// of their ids. What cannot be read is passed over, and in the error.
func (d *Desk) RecordsOf(ctx context.Context, channel string, ids []string) (found []sessions.RecordID, err error) {
	all, err := list(ctx, d.Store, d.Now())
	for _, q := range all {
		if q.Channel == channel && (slices.Contains(ids, q.To.Peer) || slices.Contains(ids, q.Person)) {
			found = append(found, recordID(q.ID))
		}
	}
	return found, err
}

// RecordsOfSession returns the ids of the records of what calls of a session asked. What cannot be read
// is passed over, and in the error.
func (d *Desk) RecordsOfSession(ctx context.Context, id sessionkeys.SessionID) (found []sessions.RecordID, err error) {
	all, err := list(ctx, d.Store, d.Now())
	for _, q := range all {
		if q.Call != nil && q.Call.Session == id {
			found = append(found, recordID(q.ID))
		}
	}
	return found, err
}

// Ask asks a person, unless that was asked already: then it returns how that stands. The question
// is durable when Ask returns nil; after any error it may be asked again.
func (d *Desk) Ask(ctx context.Context, question Question) (Inquiry, error) {
	if err := question.Validate(); err != nil {
		return Inquiry{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	wanted := Inquiry{ID: IDOf(question.Key), Key: question.Key, Person: question.Person, Text: question.Text, Choices: question.Choices}
	return d.ask(ctx, wanted, func(people []Person) (Person, error) {
		i := slices.IndexFunc(people, func(p Person) bool { return p.Name == question.Person })
		if i < 0 {
			return Person{}, fmt.Errorf("%w: nobody of the name %q may be asked; %s", ErrInvalid, question.Person, namesOf(people))
		}
		return people[i], nil
	})
}

// callID returns the id of the inquiry of a call of a tool, which no program can name.
func callID(key string) string { return IDOf("\x00" + key) }

// AskForCall asks a person, in their chat, what a call of an agent needs. The call is named by
// question.Key; question.Person is not looked at.
func (d *Desk) AskForCall(ctx context.Context, question Question, p Person, c Call) error {
	if err := question.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	wanted := Inquiry{ID: callID(question.Key), Key: question.Key, Person: p.Name, Text: question.Text, Choices: question.Choices, Call: &c}
	_, err := d.ask(ctx, wanted, func([]Person) (Person, error) { return p, nil })
	return err
}

// answerServes is how long an answer waits for the call that it is about to be made again. It opens
// a turn that makes the call, so minutes are enough, also over a restart. A later call of the same
// arguments may have another cause than the one about which the person was asked.
const answerServes = 30 * time.Minute

// TakeUp returns the inquiry of a call that is made again, as by, which no other call is named. The
// answer is by's until Settle: nobody else gets it, and by does again, after a process was killed. An
// inquiry that has expired is forgotten, and so is an answer that no call has used in answerServes.
// ErrNone: nothing is asked for that call, or another has taken the answer up and may have used it.
func (d *Desk) TakeUp(ctx context.Context, key, by string) (Inquiry, error) {
	now := d.Now()
	q, found, err := read(ctx, d.Store, callID(key), now)
	switch {
	case err != nil:
		return q, err
	case !found:
		return q, ErrNone
	case q.State(now) == Waiting || q.TakenBy == by:
		return q, nil
	case q.State(now) == Expired:
		return q, d.forget(ctx, q)
	case q.TakenBy != "":
		if err := d.forget(ctx, q); err != nil {
			return q, err
		}
		return q, ErrNone
	}
	if !now.Before(q.AnsweredAt.Add(answerServes)) {
		if err := d.forget(ctx, q); err != nil {
			return q, err
		}
		return q, ErrNone
	}
	q.TakenBy = by
	if err := q.write(ctx, d.Store, now); errors.Is(err, sessions.ErrChanged) {
		return q, ErrNone // somebody else takes it up
	} else if err != nil {
		return q, err
	}
	return q, nil
}

// Settle ends what TakeUp began. An answer that was used is forgotten. One that was not is there for
// the next call, until its inquiry expires.
func (d *Desk) Settle(ctx context.Context, key, by string, used bool) error {
	now := d.Now()
	q, found, err := read(ctx, d.Store, callID(key), now)
	if err != nil || !found || q.TakenBy != by {
		return err
	}
	if used || !now.Before(q.Expires) {
		err = d.forget(ctx, q)
	} else {
		q.TakenBy = ""
		err = q.write(ctx, d.Store, now)
	}
	if errors.Is(err, ErrNone) || errors.Is(err, sessions.ErrChanged) { // somebody else has taken it away
		return nil
	}
	return err
}

// forget drops an inquiry. ErrNone: it has changed meanwhile.
func (d *Desk) forget(ctx context.Context, q Inquiry) error {
	switch err := d.Store.DropRecord(ctx, recordID(q.ID), q.revision); {
	case errors.Is(err, sessions.ErrChanged):
		return ErrNone
	case err != nil:
		return fmt.Errorf("forget the inquiry %s: %w", q.ID, err)
	}
	return nil
}

// ask asks whom find returns what is wanted, unless that was done already.
func (d *Desk) ask(ctx context.Context, wanted Inquiry, find func([]Person) (Person, error)) (Inquiry, error) {
	d.asking.Lock()
	defer d.asking.Unlock()
	now, s := d.Now().UTC(), d.Present()
	q, found, err := read(ctx, d.Store, wanted.ID, now)
	switch {
	case err != nil && !errors.Is(err, records.ErrUnreadable):
		return q, err
	case found && q.TakenBy != "": // a call has used the answer, or is about to
	case found && !q.asks(wanted):
		return q, fmt.Errorf("%w: the key %q is that of another question; take a new key for each", ErrInvalid, wanted.Key)
	case found && q.State(now) != Waiting:
		return q, nil
	case found:
		return q, d.post(ctx, q)
	}
	wanted.revision = q.revision
	p, err := find(s.People)
	if err != nil {
		return q, err
	}
	wanted.Sign, wanted.Channel, wanted.To, wanted.At, wanted.Expires = p.Sign, p.Channel, p.To, now, now.Add(s.Timeout)
	if wanted.Code, err = d.findRoom(ctx, p, s.PerPerson); err != nil {
		return q, err
	}
	if err := wanted.write(ctx, d.Store, now); errors.Is(err, sessions.ErrChanged) {
		return q, fmt.Errorf("%w: somebody asks with the key %q at this moment; ask again", ErrRefused, wanted.Key)
	} else if err != nil {
		return q, err
	}
	d.Logger.Info("person asked", "inquiry", wanted.ID, "channel", p.Channel, "person", p.Name, "by", wanted.asker())
	return wanted, d.post(ctx, wanted)
}

// findRoom returns a code for one more inquiry to somebody, if there may be one more.
func (d *Desk) findRoom(ctx context.Context, p Person, most int) (code string, err error) {
	now := d.Now()
	all, err := list(ctx, d.Store, now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return "", err
	}
	waiting := slices.DeleteFunc(slices.Clone(all), func(q Inquiry) bool { return q.State(now) != Waiting })
	theirs := 0
	for _, q := range waiting {
		if q.Channel == p.Channel && q.To.Peer == p.To.Peer {
			theirs++
		}
	}
	switch {
	case theirs >= most:
		return "", fmt.Errorf("%w: %d questions to %s wait for an answer already, and more may not", ErrRefused, theirs, p.Name)
	case len(waiting) >= maxWaiting:
		return "", fmt.Errorf("%w: %d questions wait for an answer already, and more may not", ErrRefused, len(waiting))
	}
	for {
		code = approvals.NewCode()
		if !slices.ContainsFunc(all, func(q Inquiry) bool { return q.Code == code }) {
			return code, nil
		}
	}
}

// DeliveryID is the id of the message that asks. A key that is forgotten may ask again, in another
// message.
func (q Inquiry) DeliveryID() string {
	return messages.ID{Kind: messages.Inquired, About: q.ID + "-" + q.Code}.String()
}

// post puts the message that asks into the outbox, once.
func (d *Desk) post(ctx context.Context, q Inquiry) error {
	now, id := d.Now(), q.DeliveryID()
	event := sessions.InboxID{Channel: q.To.Channel, Account: q.To.Account, Chat: q.To.Peer, Event: id}
	asks := sessions.Outgoing{ID: id, Channel: q.Channel, To: q.To, Text: q.question(), Choices: q.buttons(), At: now}
	if q.Call != nil {
		asks.Session = q.Call.Session
	}
	added, err := d.Store.Notice(ctx, event, []sessions.Outgoing{asks}, now)
	if err != nil {
		return fmt.Errorf("queue the question %s: %w", q.ID, err)
	}
	if added {
		d.signal(ctx, signals.OutboxTopic, signals.Outbox{Channel: q.Channel})
	}
	return nil
}

func (d *Desk) signal(ctx context.Context, topic string, body any) {
	b, err := json.Marshal(body)
	if err == nil {
		err = d.Log.Signal(ctx, broker.Signal{Topic: topic, Body: b})
	}
	if err != nil {
		d.Logger.Debug("signal not sent", "topic", topic, "error", err)
	}
}

// Restore puts what waits and was not asked yet into the outbox: the process that had taken it up
// was killed in between.
func (d *Desk) Restore(ctx context.Context) error {
	now := d.Now()
	all, err := list(ctx, d.Store, now)
	if errors.Is(err, records.ErrUnreadable) {
		d.Logger.Warn("inquiries not readable, nobody answers them", "error", err)
	} else if err != nil {
		return err
	}
	for _, q := range all {
		if q.State(now) != Waiting {
			continue
		}
		if err := d.post(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

// Look returns the inquiry of a program's key as it stands, or ErrNone.
func (d *Desk) Look(ctx context.Context, key string) (Inquiry, error) {
	q, found, err := read(ctx, d.Store, IDOf(key), d.Now())
	if err == nil && (!found || q.Call != nil) {
		return Inquiry{}, ErrNone
	}
	return q, err
}

// Take takes a message that answers an inquiry: the command c with its code, or a reply to the
// message that asked, in a direct message. Only the first answer counts; a message that comes
// again is taken as it was. An edit of a reply is no answer, and its sender is told so, since no
// agent is to read it. It returns what the sender reads; empty: m says nothing to any inquiry
// to them. If an agent waits for it, it returns in its place what m says to that agent, where that
// is: a reply may stand in a thread, which is a conversation of its own.
func (d *Desk) Take(ctx context.Context, m channels.Message, c messages.Command) (text string, toAgent *channels.Message, err error) {
	command, edited := c.Answers(), m.Kind == channels.Edited
	if m.Kind != channels.Said && (!edited || command) || m.Address.Kind != sessionkeys.DM || !command && (c.Name != "" || !mayReply(m)) {
		return "", nil, nil
	}
	all, err := list(ctx, d.Store, d.Now())
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return "", nil, err
	}
	all = slices.DeleteFunc(all, func(q Inquiry) bool { return !q.isFor(m.Channel, m.Sender) })
	if command {
		typed, words, _ := strings.Cut(c.Args, " ")
		i := slices.IndexFunc(all, func(q Inquiry) bool { return q.Code == approvals.ReadCode(typed) })
		if i < 0 {
			return "", nil, nil
		}
		return d.take(ctx, all[i], words, m)
	}
	q, found, err := d.findAsked(ctx, all, m)
	if err != nil || !found {
		return "", nil, err
	}
	return d.take(ctx, q, m.Text, m)
}

// quotesBot reports whether m quotes a message of ours.
func quotesBot(m channels.Message) bool { return m.ReplyTo != nil && m.ReplyTo.FromBot }

// mayReply reports whether m may be a reply to a message of ours.
func mayReply(m channels.Message) bool { return quotesBot(m) || m.Address.Thread != "" }

// isReplyTo reports whether m quotes the message of that id, or stands under it.
func isReplyTo(m channels.Message, id string) bool {
	return id != "" && (id == m.Address.Thread || quotesBot(m) && id == m.ReplyTo.MessageID)
}

// maxLooked is how many of somebody's inquiries, the latest, are found by the id of the message
// that asked. All are found by their code.
const maxLooked = 20

// findAsked returns the inquiry to whose message m is a reply. The id of that message is not known
// where the process that sent it was killed before it could note it; then the code in it counts.
func (d *Desk) findAsked(ctx context.Context, theirs []Inquiry, m channels.Message) (Inquiry, bool, error) {
	if quotesBot(m) {
		code := codeIn(m.ReplyTo.Text)
		if i := slices.IndexFunc(theirs, func(q Inquiry) bool { return q.Code == code }); i >= 0 {
			return theirs[i], true, nil
		}
	}
	slices.SortStableFunc(theirs, func(a, b Inquiry) int { return b.At.Compare(a.At) })
	for _, q := range theirs[:min(len(theirs), maxLooked)] {
		sent, err := d.Store.Delivery(ctx, q.DeliveryID())
		if errors.Is(err, sessions.ErrNotFound) {
			continue
		}
		if err != nil {
			return q, false, fmt.Errorf("look for the message of the inquiry %s: %w", q.ID, err)
		}
		if slices.ContainsFunc(sent.Parts, func(p sessions.Part) bool { return isReplyTo(m, p.MessageID) }) {
			return q, true, nil
		}
	}
	return Inquiry{}, false, nil
}

// take takes words of m as an answer to q.
func (d *Desk) take(ctx context.Context, q Inquiry, words string, m channels.Message) (text string, toAgent *channels.Message, err error) {
	now, event := d.Now().UTC(), messages.EventID(m)
	switch q.State(now) {
	case Answered:
		d.dropButtons(ctx, q)
		if q.AnsweredIn == event {
			text, toAgent = q.thanks(m)
			return text, toAgent, nil
		}
		return q.answeredAlready(), nil, nil
	case Expired:
		d.dropButtons(ctx, q)
		return q.tooLate(), nil, nil
	case Waiting:
	}
	answer, ok := q.match(words)
	switch {
	case m.Kind == channels.Edited:
		return editedText + q.ask(), nil, nil
	case !ok:
		return q.ask(), nil, nil
	}
	q.Answer, q.AnsweredAt, q.AnsweredIn = answer, now, event
	switch err := q.write(ctx, d.Store, now); {
	case errors.Is(err, sessions.ErrChanged):
		now, found, err := read(ctx, d.Store, q.ID, d.Now()) // it is answered by now
		if err != nil || !found {
			return "", nil, err
		}
		return d.take(ctx, now, words, m)
	case err != nil:
		return "", nil, err
	}
	d.Logger.Info("person answered", "inquiry", q.ID, "channel", q.Channel, "person", q.Person, "by", q.asker())
	d.dropButtons(ctx, q)
	text, toAgent = q.thanks(m)
	return text, toAgent, nil
}

// dropButtons has the buttons of a question go away: there is nothing to answer any more. It comes
// before the person reads so, behind which a network takes no edit for a while.
func (d *Desk) dropButtons(ctx context.Context, q Inquiry) {
	d.signal(ctx, signals.PreviewTopic, signals.Preview{Turn: q.DeliveryID(), Channel: q.Channel, To: q.To, Decided: true})
}

// match returns what words answer; false: nothing.
func (q Inquiry) match(words string) (string, bool) {
	words = strings.TrimSpace(words)
	if len(q.Choices) == 0 {
		return words, words != ""
	}
	for i, c := range q.Choices {
		if strings.EqualFold(words, strings.TrimSpace(c)) || words == fmt.Sprint(i+1) {
			return c, true
		}
	}
	return "", false
}
