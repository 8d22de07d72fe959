package faulttest

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/gateway/approvals"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// codeIn finds the code of a question for permission, and waitsForPermission is in the result
// of a call about which people are asked.
var codeIn = regexp.MustCompile(`/approve ([0-9A-Z]+)`)

const waitsForPermission = "needs a person's permission, and waits"

// asksPermission reports whether a message asks a person to permit a call.
func asksPermission(text string) bool {
	return strings.HasPrefix(strings.TrimPrefix(text, repeatMark), approvals.Mark)
}

// isDecision reports whether text tells the model what a person decided about a call.
func isDecision(text string) bool {
	return strings.HasPrefix(text, "(") && strings.Contains(text, " has permitted the call of ")
}

// tellsRefusal reports whether a message, which may be a repeat, says that a call was refused.
func tellsRefusal(text string) bool {
	return strings.HasPrefix(strings.TrimPrefix(text, repeatMark), "I stopped, because permission was denied")
}

// approvers lists everybody of the load, as the configuration has it, if calls are asked about.
func (l *Workload) approvers() string {
	if l.Shape.Asks == 0 {
		return ""
	}
	var ids []string
	for _, c := range l.Conversations {
		for _, p := range c.People {
			ids = append(ids, strconv.Quote(strconv.FormatInt(p.ID, 10)))
		}
	}
	return ", approvers: [" + strings.Join(ids, ", ") + "]"
}

// scripts is the tool for scripts in a list of an agent's tools, if the load has some.
func (l *Workload) scripts() string {
	if l.Shape.Scripts {
		return ", bash"
	}
	return ""
}

// answerPermitted is what the model says after a call that a person permitted: the answer to the
// question that the call is about.
func (l *Workload) answerPermitted(p *model.Prompt) model.Answer {
	name, canary := "", ""
	for _, m := range slices.Backward(p.Messages) {
		if canary == "" {
			canary = canaryIn.FindString(m.Text)
		}
		for _, c := range m.Calls {
			if name == "" {
				name = callIn.FindString(string(c.Input))
			}
		}
	}
	tag, _, found := strings.Cut(name, "c")
	if !found || canary == "" {
		return model.Answer{Refuse: &model.Refusal{Status: 400, Message: "no call was permitted: " + p.LastText()}}
	}
	return l.whole(tag, canary, false, p)
}

// ahead returns how many messages may wait for their answers when number next is said. About a
// call for which people are asked, they say nothing else until it was decided and is over.
func (f *dialogue) ahead(c *Conversation, next int) int {
	if c.Questions[next].Asks || next > 0 && c.Questions[next-1].Asks {
		return 1
	}
	return f.r.Workload.Shape.Ahead
}

// decide lets somebody of the chat answer a question for permission, once: with the button,
// or, where nobody has to be mentioned, by typing what it says. A message that came twice is
// answered where it was seen first.
func (f *dialogue) decide(chat, message int64, text string) {
	m, name := codeIn.FindStringSubmatch(text), callIn.FindString(text)
	tag, _, _ := strings.Cut(name, "c")
	if m == nil || tag == "" || f.decided[m[1]] {
		return
	}
	for _, c := range f.r.Workload.Conversations {
		i := slices.IndexFunc(c.Questions, func(q Question) bool { return c.Chat.ID == chat && q.Tag() == tag })
		if i < 0 {
			continue
		}
		f.decided[m[1]] = true
		q := c.Questions[i]
		if err := f.say(c, q, message, m[1]); err != nil {
			f.r.t.Errorf("decide about %s: %v", tag, err)
		}
	}
}

// refusedIn returns the question of a chat, if there is one, that waits to be told that its call was
// refused. Repeats of what was told before are about none.
func (f *dialogue) refusedIn(chat int64) string {
	for c, conv := range f.r.Workload.Conversations {
		if conv.Chat.ID != chat {
			continue
		}
		for _, q := range conv.Questions[:f.said[c]] {
			if q.Refused && !f.answered[q.Tag()] {
				return q.Tag()
			}
		}
	}
	return ""
}

// say lets the person of question q decide about the call with that code.
func (f *dialogue) say(c Conversation, q Question, message int64, code string) error {
	word := "/approve " + code
	if q.Refused {
		word = "/deny " + code
	}
	if len(c.People) > 1 || f.r.Workload.pick(2, "press", q.Tag()) == 0 {
		_, err := f.r.Telegram.Press(q.From, c.Chat.ID, message, word, telegram.PressOptions{})
		return err // the caller says what it is about
	}
	said, err := f.r.Telegram.Say(c.Chat, q.From, word, telegram.SayOptions{})
	if err != nil {
		return err // likewise
	}
	f.of[[2]int64{c.Chat.ID, said.MessageID}] = q.Tag()
	return nil
}

// checkRefusals looks at what people are told of calls that they refused: that of each, once, or
// again with the mark of a repeat.
func (r *Report) checkRefusals(l *Workload, b Evidence) {
	type count struct{ all, unmarked int }
	told := map[int64]count{}
	for _, m := range b.Telegram.Messages {
		if n := told[m.ChatID]; tellsRefusal(m.Text()) && m.Deleted.IsZero() {
			n.all++
			if !hasRepeatMark(m.Text()) {
				n.unmarked++
			}
			told[m.ChatID] = n
		}
	}
	for _, c := range l.Conversations {
		refused, n := 0, told[c.Chat.ID]
		for _, q := range c.Questions {
			if q.Refused {
				refused++
			}
		}
		r.Refused += min(refused, n.all)
		if n.all < refused {
			r.add(Lost, "chat %d was told of %d refusals, of %d", c.Chat.ID, n.all, refused)
		}
		if n.unmarked > refused {
			r.add(Duplicated, "chat %d was told of %d refusals without the mark of a repeat, and %d calls were refused", c.Chat.ID, n.unmarked, refused)
		}
	}
}

// checkQuestions looks at what people are asked: about each call once, or again with the mark
// of a repeat, and always under the same code.
func (r *Report) checkQuestions(b Evidence) {
	codes := map[string]string{} // by call
	for _, m := range b.Telegram.Messages {
		if !asksPermission(m.Text()) {
			continue
		}
		name, code := callIn.FindString(m.Text()), codeIn.FindString(m.Text())
		before, again := codes[name]
		codes[name] = code
		switch {
		case name == "" || code == "":
			r.add(Half, "chat %d is asked for permission without its call or code: %q", m.ChatID, m.Text())
		case !again:
			r.Asked++
		case before != code:
			r.add(Duplicated, "chat %d was asked about the call %s again, with %s after %s", m.ChatID, name, code, before)
		case !hasRepeatMark(m.Text()):
			r.add(Duplicated, "chat %d was asked about the call %s again by message %d, which is not marked as a repeat", m.ChatID, name, m.MessageID)
		}
	}
}
