package commands

import (
	"context"
	"fmt"
	"strings"

	"parley/gateway/messages"
	"parley/gateway/roles"
	"parley/sessionkeys"
)

// maxQuestions is how many questions /approvals shows at once: people read each before they
// decide.
const maxQuestions = 5

// nothingWaits is also what whoever may not decide reads: they learn of no question.
const nothingWaits = "Nothing waits that you may decide about."

// answerApprovals shows an approver what waits on their bot account, with all that they would
// permit.
func (d *Handler) answerApprovals(ctx context.Context, by messages.Caller, sign string) (string, error) {
	if by.From.Kind != sessionkeys.DM {
		return "Please send me that in a direct message.", nil
	}
	if !by.Role.May(roles.Approve) || d.Questions == nil {
		return nothingWaits, nil
	}
	waiting, err := d.Questions.Waiting(ctx, by.Channel)
	if err != nil {
		return "", fmt.Errorf("look for what waits for permission: %w", err)
	}
	if len(waiting) == 0 {
		return nothingWaits, nil
	}
	var parts []string
	for _, q := range waiting[:min(len(waiting), maxQuestions)] {
		parts = append(parts, q.Description(q.Key.Address(), func(command string) string { return sign + command }))
		d.Questions.Show(by.Sender, by.Event, q.Request)
	}
	if more := len(waiting) - maxQuestions; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more wait: %sapprovals shows them when these are decided.", more, sign))
	}
	return strings.Join(parts, "\n\n"), nil
}
