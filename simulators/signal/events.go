package signal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"parley/simulators/internal/stage"
)

// React lets p react to a message with an emoji, or take the reaction back. The
// target need not exist.
func (s *people) React(chat Chat, p Person, target Quote, emoji string, remove bool) (ActionResult, error) {
	return s.happen("react", chat, p, EnvelopeEntry{Kind: "reaction", Text: emoji, Target: target.Timestamp}, func(e *wireEnvelope, d *wireData) {
		a := s.addressOf(target.Author)
		d.Reaction = &wireReaction{
			Emoji: emoji, TargetAuthor: a.legacy(), TargetAuthorNumber: orNull(a.Number), TargetAuthorUUID: orNull(a.ACI),
			TargetSentTimestamp: target.Timestamp, IsRemove: remove,
		}
		e.DataMessage = d
	})
}

// Type shows that p types, or has stopped.
func (s *people) Type(chat Chat, p Person, stopped bool) (ActionResult, error) {
	return s.happen("type", chat, p, EnvelopeEntry{Kind: "typing"}, func(e *wireEnvelope, _ *wireData) {
		e.TypingMessage = &wireTyping{Action: "STARTED", Timestamp: e.Timestamp, GroupID: chat.Group}
		if stopped {
			e.TypingMessage.Action = "STOPPED"
		}
	})
}

var errReceipt = errors.New("a receipt is delivery, read or viewed, and of at least one message")

// Receipt lets p's program tell an account that messages were delivered, read or
// viewed. Receipts go to the author alone, also of messages in a group.
func (s *people) Receipt(chat Chat, p Person, kind string, of ...int64) (ActionResult, error) {
	if !slices.Contains([]string{"delivery", "read", "viewed"}, kind) || len(of) == 0 {
		return ActionResult{}, fmt.Errorf("receipt: %w", errReceipt)
	}
	chat.Group = ""
	return s.happen("receipt", chat, p, EnvelopeEntry{Kind: "receipt", Text: kind, Target: of[0]}, func(e *wireEnvelope, _ *wireData) {
		e.ReceiptMessage = &wireReceipt{When: e.Timestamp, IsDelivery: kind == "delivery", IsRead: kind == "read", IsViewed: kind == "viewed", Timestamps: of}
	})
}

// SetTimer lets messages in the chat expire after so many seconds; 0 ends that. A
// group's timer is a change of the group.
func (s *people) SetTimer(chat Chat, p Person, seconds int) (ActionResult, error) {
	kind := "timer"
	if chat.Group != "" {
		kind = "group"
	}
	return s.change("set the timer", chat, p, kind, func(pl place) { pl.chat.timer = max(seconds, 0) })
}

// Rename returns a change of the group: accounts get a message without text of the type
// UPDATE. The new name is the chat's.
func (s *people) Rename(chat Chat, p Person) (ActionResult, error) {
	return s.change("rename", chat, p, "group", nil)
}

// Invite adds somebody to a group, which need not be there yet; an account is then
// alone in it with who invited it. By somebody who does not hold the account's profile
// key it becomes a pending member: it is told of the change, but gets no message of
// the group and can send none before it accepts by updateGroup (manual page of
// signal-cli; AsamK/signal-cli #1160, #1208). Remove takes somebody out, an account
// too.
func (s *people) Invite(chat Chat, by Person, who string) (ActionResult, error) {
	s.mu.Lock()
	if s.groups[chat.Group] == nil && checkGroup(chat.Group) == nil {
		s.groups[chat.Group] = &group{id: chat.Group, admins: []string{by.ACI}}
	}
	s.mu.Unlock()
	return s.change("invite", chat, by, "group", func(pl place) {
		if a := s.accountByACI(who); a != nil && !pl.group.has(who) && !s.holdsKey(by, a) {
			pl.group.pending = append(pl.group.pending, who)
			return
		}
		pl.group.join(who)
	})
}

// Remove is described at Invite.
func (s *people) Remove(chat Chat, by Person, who string) (ActionResult, error) {
	return s.change("remove", chat, by, "group", func(pl place) {
		if !pl.group.has(who) {
			panic(stage.Forbid("%w: %q", errAbsent, who))
		}
		pl.group.leave(who)
	})
}

// Announce lets only the admins of a group send messages to it, or everybody again. Who said
// something first in it is its admin.
func (s *people) Announce(chat Chat, by Person, only bool) (ActionResult, error) {
	return s.change("announce", chat, by, "group", func(pl place) { pl.group.announces = only })
}

// change tells of a change of the chat: of the group, or of a timer.
func (s *people) change(what string, chat Chat, p Person, kind string, do func(place)) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "%s", what)()
	pl := s.placeOf(chat, p)
	if kind == "group" && pl.group == nil {
		panic(stage.Forbid("%w", errNoGroup))
	}
	if do != nil {
		do(pl)
	}
	at := s.stamp()
	if pl.group != nil {
		pl.group.revision++
		pl = s.groupPlace(pl.group, p.ACI)
		for _, id := range pl.group.pending {
			if a := s.accountByACI(id); a != nil {
				pl.audience = append(pl.audience, a)
			}
		}
	}
	d := s.data(pl, at)
	if kind == "timer" && s.opts.isAtLeast014() {
		*d.IsExpirationUpdate = true
	}
	if pl.group != nil {
		d.GroupInfo.Type = "UPDATE"
	}
	return s.tell(pl, p, at, nil, EnvelopeEntry{Kind: kind}, func(e *wireEnvelope) { e.DataMessage = d }), nil
}

var errNoGroup = errors.New("no such group")

// Story publishes a story with a text, to an account's person or in a group.
func (s *people) Story(chat Chat, p Person, text string) (ActionResult, error) {
	return s.happen("story", chat, p, EnvelopeEntry{Kind: "story", Text: text}, func(e *wireEnvelope, _ *wireData) {
		e.StoryMessage = &wireStory{AllowsReplies: true, GroupID: chat.Group, TextAttachment: &wireTextStory{Text: text, Style: "DEFAULT"}}
	})
}

// Call rings at an account.
func (s *people) Call(chat Chat, p Person) (ActionResult, error) {
	chat.Group = ""
	return s.happen("call", chat, p, EnvelopeEntry{Kind: "call"}, func(e *wireEnvelope, _ *wireData) {
		e.CallMessage = map[string]any{"offerMessage": map[string]any{"id": e.Timestamp, "type": "AUDIO_CALL", "opaque": "AA=="}}
	})
}

// happen tells the place of something that is no message.
func (s *people) happen(what string, chat Chat, p Person, entry EnvelopeEntry, fill func(*wireEnvelope, *wireData)) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "%s", what)()
	pl := s.placeOf(chat, p)
	at := s.stamp()
	return s.tell(pl, p, at, nil, entry, func(e *wireEnvelope) { fill(e, s.data(pl, at)) }), nil
}

// Sync is what another device of an account does, which its daemon hears of.
type Sync struct {
	// Text was sent to To, an ACI, or to the Group; Edit makes it a new version of
	// the message with that timestamp. To is empty for a note to oneself.
	Text  string `json:"text,omitempty"`
	To    string `json:"to,omitempty"`
	Group string `json:"group,omitempty"`
	Edit  int64  `json:"edit,omitempty"`
	// Read marks a message as read.
	Read *Quote `json:"read,omitempty"`
	// Blocked are the numbers that are blocked now.
	Blocked []string `json:"blocked,omitempty"`
}

// Synced lets another device of the account do something. The zero Sync is one of
// which signal-cli tells no more than {}.
func (s *people) Synced(id string, y Sync) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "sync")()
	a := s.registered(id)
	at := s.stamp()
	w := &wireSync{BlockedNumbers: y.Blocked}
	if y.Read != nil {
		of := s.addressOf(y.Read.Author)
		w.ReadMessages = []wireReadMessage{{Sender: of.legacy(), SenderNumber: orNull(of.Number), SenderUUID: orNull(of.ACI), Timestamp: y.Read.Timestamp}}
	}
	if y.Text != "" {
		w.SentMessage = s.transcript(a, at, y)
	}
	me := a.person()
	me.Device = 2
	pl := place{chat: s.direct(a, a.ACI), audience: []*account{a}}
	return s.tell(pl, me, at, nil, EnvelopeEntry{Kind: "sync", Text: y.Text}, func(e *wireEnvelope) { e.SyncMessage = w }), nil
}

func (s *people) transcript(a *account, at int64, y Sync) *wireSent {
	to, pl := s.addressOf(a.ACI), place{chat: s.direct(a, a.ACI)}
	if y.To != "" {
		to, pl = s.addressOf(y.To), place{chat: s.direct(a, y.To)}
	}
	if g := s.groups[y.Group]; g != nil {
		to, pl = address{}, s.groupPlace(g, a.ACI)
	}
	d := s.data(pl, at)
	d.Message = &y.Text
	w := &wireSent{DestinationNumber: orNull(to.Number), DestinationUUID: orNull(to.ACI), Destination: orNull(to.legacy())}
	if y.Edit != 0 {
		w.EditMessage = &wireEdit{TargetSentTimestamp: y.Edit, DataMessage: d}
		return w
	}
	w.wireData = d
	return w
}

// Echo returns a message of the account itself that comes back as if somebody else had
// written it.
func (s *people) Echo(id, text string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "echo")()
	a := s.registered(id)
	at := s.stamp()
	pl := place{chat: s.direct(a, a.ACI), audience: []*account{a}}
	d := s.data(pl, at)
	d.Message = &text
	return s.tell(pl, a.person(), at, nil, EnvelopeEntry{Kind: "echo", Text: text}, func(e *wireEnvelope) { e.DataMessage = d }), nil
}

// Unreadable puts an envelope into the queue that signal-cli cannot read: it shows
// an exception of that type beside an envelope that says nothing.
func (s *people) Unreadable(chat Chat, p Person, kind, message string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "unreadable")()
	pl := s.placeOf(chat, p)
	said = s.tell(pl, p, s.stamp(), nil, EnvelopeEntry{Kind: "broken"}, func(*wireEnvelope) {})
	for _, a := range pl.audience {
		a.queue.waiting[len(a.queue.waiting)-1].broken = &wireException{Type: kind, Message: message}
	}
	return said, nil
}

var errNotJSON = errors.New("an entry is one line of JSON")

// Inject puts raw into an account's queue; its daemon shows it as it stands.
func (s *people) Inject(account string, raw json.RawMessage) (ref Ref, err error) {
	defer stage.Act(&s.mu, &err, "inject")()
	a := s.registered(account)
	if !json.Valid(raw) || slices.Contains(raw, '\n') {
		panic(stage.Forbid("%w", errNotJSON))
	}
	return s.enqueue(a, raw, nil, EnvelopeEntry{Kind: "raw"}), nil
}
