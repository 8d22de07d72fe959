package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/intake"
	"parley/sessionkeys"
)

// DeadLetter is a message that was given up and waits for a person. What it
// says is not in it.
type DeadLetter struct {
	ID      string    `json:"id"`
	Place   uint64    `json:"place"`  // among the dead letters
	Reason  string    `json:"reason"` // unreadable, address, encoding, too_large, attempts, key or foreign
	Channel string    `json:"channel,omitempty"`
	Key     string    `json:"key,omitempty"` // of its conversation, when it got that far
	At      time.Time `json:"at"`            // it was given up
	Bytes   int       `json:"bytes"`
}

// DeadLetterPage is some dead letters, oldest first. Next is where to go on; 0:
// there are no more.
type DeadLetterPage struct {
	Now     time.Time    `json:"now"`
	Letters []DeadLetter `json:"letters"`
	Next    uint64       `json:"next,omitempty"`
}

// DeadLetterDetail is one dead letter as closely as it can be told.
type DeadLetterDetail struct {
	DeadLetter
	Problem string `json:"problem"`
	// Of the message, where it could be read.
	Sender   string    `json:"sender,omitempty"` // the network's stable id
	Event    string    `json:"event,omitempty"`
	Message  string    `json:"message,omitempty"` // the network's id
	Received time.Time `json:"received,omitzero"`
	// Refused says why it cannot be redelivered; empty: it can.
	Refused string `json:"refused,omitempty"`
	// Body is what is kept, when it was asked for; configured secrets are taken
	// out.
	Body string `json:"body,omitempty"`
}

// Intake is the part of intake that queues messages: dead letters again, and what an operator
// says in a person's place.
type Intake interface {
	Decide(ctx context.Context, key sessionkeys.Key, asker channels.Sender, m channels.Message) error
	MayAnswer(ctx context.Context, channel string, at sessionkeys.Address, s channels.Sender) error
	Redeliver(ctx context.Context, l broker.DeadLetter) error
	Reconstruct(ctx context.Context, l broker.DeadLetter) (channels.Message, sessionkeys.Key, error)
}

const letterPage = 200

func deadLetterSummary(l broker.DeadLetter) DeadLetter {
	d := DeadLetter{ID: l.ID, Place: l.Seq, Reason: l.Reason, Channel: l.Channel, Key: l.Key, At: l.At.UTC(), Bytes: len(l.Body)}
	if checkID(l.ID) != nil || strings.HasPrefix(l.ID, atPlace) { // of a stranger to this program
		d.ID = atPlace + strconv.FormatUint(l.Seq, 10)
	}
	return d
}

// atPlace begins the id of a letter that has none of its own.
const atPlace = "place-"

func (desk letterDesk) deadLetters(r *http.Request) (any, error) {
	var after uint64
	if text := r.URL.Query().Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, newError(Invalid, "%q is no place among the dead letters", text)
		}
	}
	letters, err := desk.o.Log.DeadLetters(r.Context(), after, letterPage)
	if err != nil {
		return nil, err
	}
	page := DeadLetterPage{Now: desk.o.Now().UTC(), Letters: []DeadLetter{}}
	for _, l := range letters {
		page.Letters = append(page.Letters, deadLetterSummary(l))
	}
	if len(letters) == letterPage {
		page.Next = letters[len(letters)-1].Seq
	}
	return page, nil
}

// findDeadLetter finds the one whose id is, or begins as, the path says; place is where
// it stood when somebody last looked.
func (desk letterDesk) findDeadLetter(r *http.Request) (broker.DeadLetter, error) {
	id := r.PathValue("id")
	if err := checkID(id); err != nil {
		return broker.DeadLetter{}, err
	}
	place := r.URL.Query().Get("place")
	if rest, ok := strings.CutPrefix(id, atPlace); ok {
		place = rest
	}
	if place != "" {
		n, err := strconv.ParseUint(place, 10, 64)
		if err != nil || n == 0 {
			return broker.DeadLetter{}, newError(Invalid, "%q is no place among the dead letters", place)
		}
		found, err := desk.o.Log.DeadLetters(r.Context(), n-1, 1)
		if err != nil {
			return broker.DeadLetter{}, err
		}
		if len(found) == 1 && found[0].Seq == n && deadLetterSummary(found[0]).ID == id {
			return found[0], nil
		}
		return broker.DeadLetter{}, newError(NotFound, "no dead letter %s", id)
	}
	return desk.searchDeadLetters(r.Context(), id)
}

func (desk letterDesk) searchDeadLetters(ctx context.Context, id string) (broker.DeadLetter, error) {
	const most = 6
	var fits []broker.DeadLetter
	var names []string
	for after := uint64(0); ; {
		page, err := desk.o.Log.DeadLetters(ctx, after, letterPage)
		if err != nil {
			return broker.DeadLetter{}, err
		}
		for _, l := range page {
			after = l.Seq
			if l.ID == id {
				return l, nil
			}
			if strings.HasPrefix(l.ID, id) && len(fits) < most {
				fits, names = append(fits, l), append(names, l.ID)
			}
		}
		if len(page) < letterPage {
			break
		}
	}
	switch len(fits) {
	case 0:
		return broker.DeadLetter{}, newError(NotFound, "no dead letter %s", id)
	case 1:
		return fits[0], nil
	}
	return broker.DeadLetter{}, ambiguousError("dead letter", id, names, most)
}

func (desk letterDesk) deadLetter(r *http.Request) (any, error) {
	full, err := parseBool(r.URL.Query().Get("body"))
	if err != nil {
		return nil, err
	}
	l, err := desk.findDeadLetter(r)
	if err != nil {
		return nil, err
	}
	d := DeadLetterDetail{DeadLetter: deadLetterSummary(l), Problem: desk.o.Redact(l.Problem)}
	var m channels.Message
	if json.Unmarshal(l.Body, &m) == nil {
		d.Sender, d.Event, d.Message, d.Received = m.Sender.ID, m.Event, m.MessageID, m.ReceivedAt.UTC()
	}
	if _, _, err := desk.o.Intake.Reconstruct(r.Context(), l); err != nil {
		refused, ok := errors.AsType[*intake.RefusedError](err)
		if !ok {
			return nil, err
		}
		d.Refused = refused.Why
	}
	if full {
		d.Body = desk.o.Redact(string(l.Body))
	}
	return d, nil
}

// redeliver stores the message before it forgets the letter: a crash between
// the two leaves the letter, and redelivering it again adds nothing.
func (desk letterDesk) redeliver(r *http.Request) (any, error) {
	l, err := desk.findDeadLetter(r)
	if err != nil {
		return nil, err
	}
	one := deadLetterSummary(l)
	err = desk.o.Intake.Redeliver(r.Context(), l)
	if refused, ok := errors.AsType[*intake.RefusedError](err); ok {
		return nil, newError(Refused, "dead letter %s is not redelivered: %s", one.ID, refused.Why)
	}
	if err != nil {
		return nil, err
	}
	if err := desk.o.Log.DeleteDeadLetter(r.Context(), l.Seq); err != nil {
		return nil, fmt.Errorf("dead letter %s is queued again, but still there; redelivering it once more adds nothing: %w", one.ID, err)
	}
	desk.o.Logger.Info("dead letter redelivered", "letter", one.ID, "reason", l.Reason, "channel", l.Channel, "by", actor(r.Context()))
	return one, nil
}

func (desk letterDesk) drop(r *http.Request) (any, error) {
	l, err := desk.findDeadLetter(r)
	if err != nil {
		return nil, err
	}
	if err := desk.o.Log.DeleteDeadLetter(r.Context(), l.Seq); err != nil {
		return nil, err
	}
	one := deadLetterSummary(l)
	desk.o.Logger.Info("dead letter dropped", "letter", one.ID, "reason", l.Reason, "channel", l.Channel, "by", actor(r.Context()))
	return one, nil
}
