package worker_test

import (
	"context"
	"strings"
	"testing"

	"parley/channels"
	"parley/gateway/worker"
	"parley/sessionkeys"
	"parley/sessions"
)

// K01: in a group of an account that says so, those who may decide are shown the question alone, with
// its buttons, and the group reads a notice before it. What they decide holds as it always does.
func TestInAGroupThoseWhoMayDecideAreAskedAlone(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.hearGroups()
		r.start("w", asking(t, guarded{noted{r}, new(""), "", "tool"}, authorized(func() bool { return true }), func(s *worker.Settings) {
			s.PrivateQuestions = map[string]bool{"tg": true}
			a := s.Access["tg"]
			a.Approvers = []string{"1", "3"} // the second may not even talk to the bot any more
			a.Roles.Guest = []string{"3"}
			s.Access["tg"] = a
		}))
		m := inKitchen(r.message(2, "tool x"))
		m.Sender.Alias = "+2"
		r.bring(m)
		r.await("a notice and a question", func() bool { return len(r.groupAnswers()) >= 2 })
		r.idle()
		ds, err := r.store.Pending(context.Background(), "tg", 0, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var group []sessions.Delivery
		for _, d := range ds {
			if d.To.Kind == sessionkeys.Group {
				group = append(group, d)
			}
		}
		if len(group) != 2 {
			t.Fatalf("the group is told %+v", group)
		}
		notice, question := group[0], group[1]
		if len(notice.Choices) > 0 || channels.IsPrivateReply(notice.ReplyTo) || strings.Contains(notice.Text, "```") || !strings.Contains(notice.Text, "for their eyes only") {
			t.Errorf("the group reads %+v", notice)
		}
		if len(question.Choices) != 2 || question.ReplyTo != channels.PrivateReplyToPerson("1") || question.Turn != "" || !strings.Contains(question.Text, "May I use noted?") {
			t.Errorf("person 1 reads %+v", question)
		}
		code := codeInQuestion.FindStringSubmatch(question.Text)[1]
		r.bring(inKitchen(r.message(1, "/approve "+code)))
		r.await("an end", func() bool { return len(r.groupAnswers()) >= 3 })
		r.idle()
		if got := r.groupAnswers(); len(got) != 3 || r.counted("tool") != 1 {
			t.Errorf("it ran %d times, and the group was told %q", r.counted("tool"), got)
		}
	})
}
