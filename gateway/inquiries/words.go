package inquiries

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/messages"
	"parley/sessions"
)

// question returns what the person is asked, in Markdown. The program's words stand in a block of
// code, where they are no markup and cannot look like anything else that the bot says. The code
// stands at the beginning, which a reply to the message quotes.
func (q Inquiry) question() string {
	var b strings.Builder
	fmt.Fprintf(&b, "❓ **Question %s, asked by %s:**\n\n%s\n\n", q.Code, q.asker(), approvals.Frame(approvals.Defuse(q.Text)))
	for i, c := range q.Choices {
		fmt.Fprintf(&b, "%d: %s\n", i+1, approvals.Quote(c))
	}
	if len(q.Choices) > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s %s The question stands until %s.", q.ask(), q.use(), q.Expires.UTC().Format("15:04 UTC on 2 January"))
	return b.String()
}

// ask says how q is answered.
func (q Inquiry) ask() string {
	command := cmp.Or(q.Sign, "/") + messages.AnswerCommand + " " + q.Code
	if len(q.Choices) > 0 {
		return fmt.Sprintf("Please answer %s with one of the choices: by a button, or with its number, as in %s 1.", q.Code, command)
	}
	return fmt.Sprintf("Please answer %s with a reply to the question, or with %s and your words.", q.Code, command)
}

// buttons returns those under the question.
func (q Inquiry) buttons() (all []sessions.Choice) {
	for i, c := range q.Choices {
		all = append(all, sessions.Choice{Label: approvals.Defuse(c), Says: fmt.Sprintf("/%s %s %d", messages.AnswerCommand, q.Code, i+1)})
	}
	return all
}

// asker says who asks.
func (q Inquiry) asker() string {
	if q.Call == nil {
		return "a program"
	}
	return "the MCP server " + q.Call.Server
}

// use says what becomes of an answer.
func (q Inquiry) use() string {
	if q.Call == nil {
		return "I pass it on to the program; no agent reads it."
	}
	return "I pass it on to that server, which may be somebody else's, and go on."
}

// thanks returns what the person reads who has answered by m, or what m says to the agent that
// waits, in the conversation in which it does.
func (q Inquiry) thanks(m channels.Message) (text string, toAgent *channels.Message) {
	c := q.Call
	if c == nil {
		return fmt.Sprintf("Thank you. The program that asked %s gets your answer: %s", q.Code, approvals.Quote(q.Answer)), nil
	}
	m.Text = fmt.Sprintf("(I have answered what the MCP server %s asked: %q. Make the same call of %s again now, with the same arguments; it gets my answer.)", c.Server, q.Answer, c.Tool)
	m.Address, m.ReplyTo, m.Attachments = q.To, nil, nil
	return "", &m
}

// editedText is what is said of an edit that would answer.
const editedText = "An edit is not taken for an answer. "

func (q Inquiry) answeredAlready() string {
	return fmt.Sprintf("You have answered %s already, with %s, and that stays.", q.Code, approvals.Quote(q.Answer))
}

func (q Inquiry) tooLate() string {
	return fmt.Sprintf("Too late: the time to answer %s is over, and %s gets none.", q.Code, q.asker())
}

// asked finds the code in a question, as a network quotes it.
var asked = regexp.MustCompile(`^\W*Question ([0-9A-Z]+), asked by `)

// codeIn returns the code in the beginning of a question; "" where there is none.
func codeIn(text string) string {
	if found := asked.FindStringSubmatch(text); found != nil {
		return approvals.ReadCode(found[1])
	}
	return ""
}

// namesOf says whom programs may ask.
func namesOf(people []Person) string {
	if len(people) == 0 {
		return "the configuration names nobody (mcp.serve.people)"
	}
	var names []string
	for _, p := range people {
		names = append(names, p.Name)
	}
	return "there are: " + strings.Join(names, ", ")
}
