package worker

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"parley/broker"
	"parley/channels"
	"parley/gateway/conversations"
	"parley/gateway/messages"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// FreshText answers the command that starts a new conversation.
const FreshText = "A new conversation. I have forgotten what was said before."

// presentText answers /resume of the session that the mailbox feeds.
const presentText = "That is the present conversation."

// erasedText answers /resume of a session whose content was deleted.
const erasedText = "What was said in that conversation was deleted."

// runCommand carries out a command that waited for its turn, if its sender may.
func (a *actor) runCommand(e broker.Envelope, msg channels.Message, c messages.Command) (bool, error) {
	if refused, released, err := a.refusesCommand(e, msg, c); refused || err != nil {
		return released, err
	}
	if yes, ok := c.Decides(); ok {
		return a.decide(e, msg, c, yes)
	}
	return a.carryOut(e, msg, c)
}

// carryOut carries out a command that changes which session the mailbox feeds, which model
// answers, the session's title, its goal or its mode. What it does is one commit with its answer: a
// process that dies before it has done nothing, and another that takes the message up decides
// again.
func (a *commands) carryOut(e broker.Envelope, msg channels.Message, c messages.Command) (bool, error) {
	if provider, ok := c.ChoosesModel(); ok {
		return a.chooseModel(e, msg, c.Args, provider)
	}
	if c.NamesSession() {
		return a.nameSession(e, msg, c.Args)
	}
	if c.ChangesGoal() {
		return a.changeGoal(e, msg, c)
	}
	if c.SwitchesPlan() {
		return a.switchPlan(e, msg, c)
	}
	now := a.w.Now()
	book, err := conversations.Read(a.ctx, a.w.Store, a.token, now)
	if err = a.passUnreadable(err); err != nil {
		return false, err
	}
	change := sessions.Command{Seq: e.Seq, Event: messages.Inbox(msg)}
	text := FreshText
	if c.ResumesSession() {
		if change.Resume, text, err = a.chooseSession(book, c.Args); err != nil {
			return false, err
		}
	} else {
		change.Fresh = sessionkeys.NewSessionID(now)
	}
	if change.Fresh == "" && change.Resume == "" {
		return a.answer(change, e.Seq, msg, text)
	}
	left, err := a.w.Store.Session(a.ctx, a.m.Session)
	if err != nil {
		return false, fmt.Errorf("look at the session that is left: %w", err)
	}
	if left.Messages > 0 { // there is something to come back to
		book = book.Leave(left.ID, now)
		r, err := book.Record(a.token, now)
		if err != nil {
			return false, err
		}
		change.Records = []sessions.Record{r}
		if n := book.Number(left.ID); change.Resume != "" {
			text += fmt.Sprintf(" The one before is kept as number %d.", n)
		}
	}
	note, err := a.planNote(cmp.Or(change.Fresh, change.Resume))
	if err != nil {
		return false, err
	}
	return a.answer(change, e.Seq, msg, text+note)
}

// passUnreadable returns err, unless it is of a record that holds nothing that can be read:
// that is logged, and the command goes on as without the record and may write another over it.
func (a *owner) passUnreadable(err error) error {
	if !errors.Is(err, records.ErrUnreadable) {
		return err
	}
	a.w.Logger.Warn("record unreadable, command goes on without it", "session", a.m.Session, "key", a.m.Key, "error", err)
	return nil
}

// nameSession gives the present session the title that a person wants.
func (a *commands) nameSession(e broker.Envelope, msg channels.Message, words string) (released bool, err error) {
	given := conversations.GivenTitle(words)
	for range 3 {
		change := sessions.Command{Seq: e.Seq, Event: messages.Inbox(msg)}
		now := a.w.Now()
		title, err := conversations.ReadTitle(a.ctx, a.w.Store, a.m.Session, now)
		if err = a.passUnreadable(err); err != nil {
			return false, err
		}
		if given == "" {
			return a.answer(change, e.Seq, msg, fmt.Sprintf("%s takes the words of a title: %s Apples and pears.", a.typed("title"), a.typed("title")))
		}
		title.Text, title.Given = given, true
		r, err := title.Record(a.m.Session, now)
		if err != nil {
			return false, err
		}
		change.Records = []sessions.Record{r}
		released, err = a.answer(change, e.Seq, msg, "This conversation is now called "+conversations.Code(given)+".")
		if !errors.Is(err, sessions.ErrChanged) { // else a model has found one meanwhile
			return released, err
		}
	}
	return false, fmt.Errorf("give session %s a title: %w", a.m.Session, sessions.ErrChanged)
}

// chooseSession returns the session that a person wants to go on with, and what they are
// told; "" and why not when there is not exactly one.
func (a *commands) chooseSession(book conversations.Book, words string) (sessionkeys.SessionID, string, error) {
	if words == "" {
		return "", fmt.Sprintf("Which conversation? %s takes its number, or words of its title: %s lists the earlier ones.", a.typed("resume"), a.typed("sessions")), nil
	}
	none := "There is no such conversation here: " + a.typed("sessions") + " lists the earlier ones."
	found, err := conversations.Choose(a.ctx, a.w.Store, book, a.m.Session, words, a.w.Now())
	if err != nil {
		return "", "", err
	}
	switch {
	case len(found) == 0:
		return "", none, nil
	case len(found) > 1:
		return "", a.severalText(found), nil
	case found[0].Session == a.m.Session:
		return "", presentText, nil
	}
	s, err := a.w.Store.Session(a.ctx, found[0].Session)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && (s.Key != a.m.Key || s.Parent != "") {
		return "", none, nil // of somebody else's it is not said that there is one
	}
	if err != nil {
		return "", "", fmt.Errorf("look at the session to resume: %w", err)
	}
	if erased, err := conversations.IsErased(a.ctx, a.w.Store, s.ID, a.w.Now()); erased || err != nil {
		return "", erasedText, err
	}
	label, err := conversations.Label(a.ctx, a.w.Store, s.ID, a.w.Now())
	if err != nil {
		return "", "", err
	}
	held := "1 message"
	if s.Messages != 1 {
		held = fmt.Sprintf("%d messages", s.Messages)
	}
	return s.ID, fmt.Sprintf("Back in the conversation %s with its %s; it has cost %s.", conversations.Code(label), held, s.Subtree.Display()), nil
}

// severalText names the numbers of the sessions that a person may have meant.
func (a *commands) severalText(found []conversations.Earlier) string {
	var numbers []string
	for _, e := range found {
		numbers = append(numbers, fmt.Sprint(e.Number))
	}
	return "Which of them? Number " + strings.Join(numbers, ", ") + " fit: " + a.typed("sessions") + " says what they are."
}

// typed returns what people of this conversation type for a command.
func (a *owner) typed(name string) string {
	if a.w.Command == nil {
		return "/" + name
	}
	return a.w.Command(a.m.Key.Address().Channel, name)
}
