package worker

import (
	"context"
	"fmt"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// confided is a question that some people of a chat are shown, each alone; see
// docs/decisions/0111.
type confided struct {
	text string   // what they read
	to   []string // their ids; none: it is everybody's
}

// maxConfidants bounds who is shown one question.
const maxConfidants = 20

// confidants returns the ids of those who are shown alone what the turn asks: who may decide, in a
// chat of several people whose account says so. Who else may, by a role that was given while the
// gateway runs, is not heard in groups, and finds it in direct messages.
func (a *rights) confidants(ctx context.Context, t sessions.Turn) (ids []string, err error) {
	if t.From.Kind == sessionkeys.DM || !a.settings.PrivateQuestions[t.Channel] {
		return nil, nil
	}
	for _, id := range a.settings.Access[t.Channel].Deciders() {
		may, err := a.approves(ctx, t.Channel, channels.Sender{ID: id})
		if err != nil {
			return nil, err
		}
		if may {
			ids = append(ids, id)
		}
	}
	if n := len(ids); n > maxConfidants {
		a.w.Logger.Warn("question not shown to all who may decide", "channel", t.Channel, "turn", t.ID, "people", n, "shown", maxConfidants)
		ids = ids[:maxConfidants]
	}
	return ids, nil
}

// pose returns what the chat reads where r is asked by that question, and keeps the question for
// those who are shown it alone.
func (j *journal) pose(r approvals.Request, question string) string {
	if !r.Private {
		return question
	}
	j.confided.text = question
	return r.Notice(j.a.typed)
}

// confide returns the question for each who is shown it alone, behind the notice that the chat
// reads: that is what stays when theirs are lost, as the network may lose them.
func (j *journal) confide(notice sessions.Outgoing) (replies []sessions.Outgoing) {
	for i, id := range j.confided.to {
		o := notice
		o.ID = messages.ID{Kind: messages.Confided, About: fmt.Sprintf("%s.%d", j.t.ID, i)}.String()
		o.Turn = "" // it is no answer of the turn, whose preview it must not go into
		o.ReplyTo, o.Text, o.Choices = channels.PrivateReplyToPerson(id), j.confided.text, j.asked.Choices()
		replies = append(replies, o)
	}
	return replies
}
