package telegram_test

import (
	"errors"
	"testing"

	"parley/channels"
	"parley/sessionkeys"
	sim "parley/simulators/telegram"
)

var superAddress = sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.Group, Peer: "-1001000000500"}

// onlyAnn is an answer for ann alone.
func onlyAnn(ch channels.Channel, text string) channels.Reply {
	return channels.Reply{To: superAddress, ReplyTo: channels.PrivateReplyToPerson("1001"), Body: ch.Render(text)[0], ID: text}
}

// Nobody else sees a message that is for one person: also not where Telegram refuses to show a message
// to one person, and where the Bot API server is too old for such messages.
func TestForOnePerson(t *testing.T) {
	t.Parallel()
	t.Run("a bot that is no administrator is refused", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		ch := r.open(t)
		r.say(t, super, ann, "hello", sim.SayOptions{})
		_, err := ch.Send(t.Context(), onlyAnn(ch, "May I?"))
		var e *channels.Error
		if !errors.As(err, &e) || e.Kind != channels.Refused || len(r.Sent()) != 0 {
			t.Errorf("%v, sent %q", err, r.Sent())
		}
	})
	t.Run("who is not there is refused, and the chat is not given up", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		ch := r.open(t)
		r.SayInGroup(t, "Ann", "hello")
		reply := onlyAnn(ch, "May I?")
		reply.ReplyTo = channels.PrivateReplyToPerson("999")
		_, err := ch.Send(t.Context(), reply)
		var e *channels.Error
		if !errors.As(err, &e) || e.Kind != channels.Refused || len(r.Sent()) != 0 {
			t.Errorf("%v, sent %q", err, r.Sent())
		}
		reply.ReplyTo = channels.PrivateReplyToPerson("ann")
		if _, err := ch.Send(t.Context(), reply); !errors.As(err, &e) || e.Kind != channels.Refused {
			t.Errorf("whose id is no number: %v", err)
		}
	})
	t.Run("a server that shows it to everybody has it deleted", func(t *testing.T) {
		t.Parallel()
		r := newRigWith(t, func(o *sim.Options) { o.NoEphemeral = true })
		ch := r.open(t)
		r.SayInGroup(t, "Ann", "hello")
		_, err := ch.Send(t.Context(), onlyAnn(ch, "May I?"))
		var e *channels.Error
		if !errors.As(err, &e) || e.Kind != channels.Refused {
			t.Error(err)
		}
		for _, m := range r.Books().Messages {
			if m.Deleted.IsZero() {
				t.Errorf("%q is shown", m.Text())
			}
		}
	})
}
