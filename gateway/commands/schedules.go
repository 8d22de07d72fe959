package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/channels"
	"parley/gateway/conversations"
	"parley/gateway/errands"
	"parley/gateway/messages"
	"parley/gateway/roles"
)

// answerSchedules answers /schedules: what is scheduled in the chat, or that one of it is removed.
func (d *Handler) answerSchedules(ctx context.Context, by messages.Caller, sign, args string) (string, error) {
	switch {
	case d.Errands == nil || !d.Errands.Config.Enabled:
		return "Schedules are switched off here.", nil
	case !by.Role.May(roles.Schedule):
		return "You may talk to me here, but not schedule anything.", nil
	}
	c := errands.Caller{Channel: by.Channel, Sender: channels.Sender{ID: by.Sender}, At: by.From, Role: by.Role}
	words := strings.Fields(args)
	switch {
	case len(words) == 0:
		text, err := d.Errands.Describe(ctx, c)
		if err != nil {
			return "", err // it says what
		}
		if text == "" {
			return "Nothing is scheduled here. Tell me what to do, and when: “remind me every weekday at 9 to look at the mail”.", nil
		}
		return fmt.Sprintf("%s\n\n%sschedules remove with the word that stands in front of one removes it.", text, sign), nil
	case len(words) != 2 || !strings.EqualFold(words[0], "remove"):
		return fmt.Sprintf("%[1]sschedules lists what is scheduled here, and “%[1]sschedules remove k3md7” removes what stands behind k3md7.", sign), nil
	}
	code := strings.ToLower(strings.Trim(words[1], "`:.,"))
	switch e, err := d.Errands.Remove(ctx, c, code); {
	case errors.Is(err, errands.ErrNone):
		return fmt.Sprintf("Nothing is scheduled here under %s.", conversations.Code(code)), nil
	case errors.Is(err, errands.ErrOthers):
		return "That is another person's, and you may not remove it.", nil
	case err != nil:
		return "", err // it says what
	default:
		return fmt.Sprintf("Done: %s is removed.", conversations.Code(e.Code())), nil
	}
}
