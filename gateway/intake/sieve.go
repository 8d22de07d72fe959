package intake

import (
	"cmp"
	"context"
	"fmt"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
)

// sieve keeps back what cannot be read, says nothing to the bot, or is too long.
type sieve struct {
	*endings
	pieces *pieces
}

// deadLetterUnreadable gives what no adapter could decode to the dead letters.
func (s *sieve) deadLetterUnreadable(ctx context.Context, e *event) (outcome, error) {
	return stop, s.deadLetter(ctx, e.Message, sessionkeys.Key{}, "unreadable", e.Problem)
}

// findSource finds the bot account by which the event came.
func findSource(_ context.Context, e *event) (outcome, error) {
	src, ok := e.settings.Sources[e.Channel]
	if !ok {
		return stop, fmt.Errorf("event of the channel %q, which is not configured", e.Channel)
	}
	e.source = src
	return pass, nil
}

func (s *sieve) countReceived(_ context.Context, e *event) (outcome, error) {
	s.observer.CountReceived(e.Channel, e.Address.Kind == sessionkeys.DM)
	return pass, nil
}

// joinConversation takes a reply in a thread for one to the bot if that has a
// conversation there, with whichever agent: the thread may have been bound to another
// since.
func (s *sieve) joinConversation(ctx context.Context, e *event) (outcome, error) {
	for _, agent := range e.agents() {
		_, found, err := findMailbox(ctx, s.store, agent, e)
		if err != nil {
			return stop, fmt.Errorf("look for the conversation of a thread: %w", err)
		}
		if found {
			e.Mentioned = true
			break
		}
	}
	return pass, nil
}

// ignoreUnused ends what says nothing to the bot.
func (s *sieve) ignoreUnused(_ context.Context, e *event) (outcome, error) {
	switch reason := unusedReason(e.Message, s.pieces); reason {
	case "":
		return pass, nil
	case outcomes.NotMentioned:
		s.passOver(e.Message, reason, "in a group the bot answers what mentions it, replies to it or is a command to it")
	default:
		s.passOver(e.Message, reason, unusableReason(e.Message))
	}
	return stop, nil
}

// unusableReason says what m is of which nothing is read.
func unusableReason(m channels.Message) string {
	switch {
	case m.Problem != "":
		return "nothing in it can be read: " + truncate(m.Problem, maxLogged)
	case m.Kind == channels.Said || m.Kind == channels.Edited:
		return "it is empty for the bot: no text, and no file that is read"
	}
	return fmt.Sprintf("it says nothing to the bot: %s", m.Kind)
}

// unusedReason returns why nothing is done with m, which is of a person who may talk to
// the bot, or "". Of what is sent as one only one message need be for the bot;
// which the others belong to is known when they are together, in the worker.
func unusedReason(m channels.Message, p *pieces) string {
	said := m.Kind == channels.Said || m.Kind == channels.Edited
	switch {
	case !said || m.IsBlank():
		return outcomes.Unsupported
	case messages.ForBot(m):
	case m.TextSize() > messages.MaxText: // no piece is so long
		return outcomes.NotMentioned
	case m.Kind == channels.Said && (m.Album != "" || messages.IsLong(m) || p.isContinuedBy(m)):
	default:
		return outcomes.NotMentioned
	}
	return ""
}

// deadLetterUnfit gives what bears names that cannot be used, or another network's, to the
// dead letters.
func (s *sieve) deadLetterUnfit(ctx context.Context, e *event) (outcome, error) {
	if problem := idProblem(e.Message); problem != "" {
		return stop, s.deadLetter(ctx, e.Message, sessionkeys.Key{}, "encoding", problem)
	}
	if problem := e.source.addressProblem(e.Address); problem != "" {
		return stop, s.deadLetter(ctx, e.Message, sessionkeys.Key{}, "address", problem)
	}
	return pass, nil
}

// command returns what people type on the account's network for a command.
func (s Source) command(name string) string { return cmp.Or(s.CommandSign, "/") + name }

// addressProblem returns what is wrong with an address of another network than the
// account's, or "": its conversation would stand among those of the other.
func (s Source) addressProblem(a sessionkeys.Address) string {
	if a.Channel == s.Network {
		return ""
	}
	return fmt.Sprintf("the address is of the network %.40q, and the bot account of %q", a.Channel, s.Network)
}

func findCommand(_ context.Context, e *event) (outcome, error) {
	e.command, _ = messages.ParseCommand(e.Text)
	return pass, nil
}

// ignoreEdit ends edits of commands, which are carried out as they were sent, and
// of messages that are too long, as was said when they came.
func (s *sieve) ignoreEdit(_ context.Context, e *event) (outcome, error) {
	if e.Kind != channels.Edited || e.command.Name == "" && e.TextSize() <= messages.MaxText {
		return pass, nil
	}
	s.observer.CountDuplicate(e.Channel, "edit")
	return stop, nil
}

// refuseLong tells the sender of more text than is read so.
func (s *sieve) refuseLong(ctx context.Context, e *event) (outcome, error) {
	if e.TextSize() <= messages.MaxText {
		return pass, nil
	}
	err := s.answer(ctx, e.Message, fmt.Sprintf("That message is too long for me: it has %d bytes, and I read at most %d. Please send it in parts.", e.TextSize(), messages.MaxText))
	if err == nil {
		s.passOver(e.Message, outcomes.TooLarge, fmt.Sprintf("its text has %d bytes, and at most %d are read", e.TextSize(), messages.MaxText))
	}
	return stop, err
}
