package messages

import (
	"strings"
	"unicode"

	"parley/gateway/roles"
	"parley/sessionkeys"
)

// CommandKind describes when a command takes effect.
type CommandKind int

// Kinds of commands.
const (
	AtOnce  CommandKind = iota // answered by intake, beside whatever runs
	Queued                     // keeps its place among the messages
	Control                    // concerns what runs now: does not queue
)

// Command is a line that starts with a slash.
type Command struct {
	Name string // without the slash and marks behind it, lower case
	Args string
}

// ParseCommand returns the command that text is, and false when it is none. Anything that starts with a slash and a word of
// letters, digits, "-" and "_" is one, known or not: a mistyped command is never sent to
// a model. A mark behind the word does not count: "/stop!" is meant. Paths, fractions
// and whatever else a slash begins are not commands, but text.
func ParseCommand(text string) (Command, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "/")
	if !ok || rest == "" {
		return Command{}, false
	}
	name, args := rest, ""
	if n := strings.IndexFunc(rest, unicode.IsSpace); n >= 0 {
		name, args = rest[:n], strings.TrimSpace(rest[n:])
	}
	if name = strings.TrimRight(name, ".,:;!?…"); name == "" {
		return Command{}, false
	}
	for i, r := range name {
		letter, more := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z', r >= '0' && r <= '9' || r == '_' || r == '-'
		if !letter && (i == 0 || !more) {
			return Command{}, false // a path, a fraction: not a command
		}
	}
	return canonical(Command{Name: strings.ToLower(name), Args: args}), true
}

// canonical returns c, or what it is another name of: "/session resume 3" is "/resume 3".
// (requirements AI05)
func canonical(c Command) Command {
	if c.Name != "session" {
		return c
	}
	verb, args, _ := strings.Cut(c.Args, " ")
	switch strings.ToLower(verb) {
	case "resume":
		return Command{Name: "resume", Args: strings.TrimSpace(args)}
	case "":
		return Command{Name: "sessions"}
	}
	return c
}

// Kind returns when c takes effect. Unknown commands are answered at once.
func (c Command) Kind() CommandKind {
	switch c.Name {
	case "new", "clear", "compact", "resume", "title", "done", "plan", "approve", "deny":
		return Queued
	case "goal":
		if c.Args != "" { // else it asks what the goal is
			return Queued
		}
	case "model", "provider":
		if !c.lists() {
			return Queued // it holds from the next turn on
		}
	case "stop":
		return Control
	}
	return AtOnce
}

// StartsSession reports whether c, a Queued command, starts a new session.
func (c Command) StartsSession() bool { return c.Name == "new" || c.Name == "clear" }

// ResumesSession reports whether c, a Queued command, goes on with an earlier session.
func (c Command) ResumesSession() bool { return c.Name == "resume" }

// ChoosesModel reports whether c, a Queued command, chooses which model answers; with provider
// true it is the first one of a provider.
func (c Command) ChoosesModel() (provider, ok bool) {
	return c.Name == "provider", (c.Name == "model" || c.Name == "provider") && !c.lists()
}

// lists reports whether a command that chooses among things asks what there is to choose.
func (c Command) lists() bool { return c.Args == "" || strings.EqualFold(c.Args, "list") }

// NamesSession reports whether c, a Queued command, gives the present session a title.
func (c Command) NamesSession() bool { return c.Name == "title" }

// ChangesGoal reports whether c, a Queued command, sets the goal or says that it is reached.
func (c Command) ChangesGoal() bool { return c.Name == "goal" || c.Name == "done" }

// SwitchesPlan reports whether c, a Queued command, begins plan mode or ends it.
func (c Command) SwitchesPlan() bool { return c.Name == "plan" }

// Directs reports whether c, a Queued command, changes how the conversation is answered from then
// on, by whoever speaks there.
func (c Command) Directs() bool {
	_, chooses := c.ChoosesModel()
	return chooses || c.ChangesGoal() || c.SwitchesPlan()
}

// Decides reports whether c, a Queued command, permits what an agent asked for, or refuses
// it.
func (c Command) Decides() (yes, ok bool) {
	return c.Name == "approve", c.Name == "approve" || c.Name == "deny"
}

// IsTurn reports whether c, a Queued command, is carried out as a turn: it asks a model.
func (c Command) IsTurn() bool { return c.Name == "compact" }

// String is the command as typed.
func (c Command) String() string {
	if c.Args == "" {
		return "/" + c.Name
	}
	return "/" + c.Name + " " + c.Args
}

// AnswerCommand is the name of the command by which people answer what they were asked under a
// code.
const AnswerCommand = "answer"

// Answers reports whether c answers what its sender was asked under a code.
func (c Command) Answers() bool { return c.Name == AnswerCommand }

// Caller is who asks, and where.
type Caller struct {
	Token  string // of the conversation's mailbox
	Agent  string // who answers there
	From   sessionkeys.Address
	Sender string // stable id
	Sign   string // with which commands begin there; empty: a slash
	// Channel is by which instance they ask, Name what the network calls them, and Event what
	// they asked in.
	Channel, Name, Event string
	// Chat is the network's id of the chat, and Quoted of the message that they reply to; empty:
	// they reply to none.
	Chat, Quoted string
	Role         roles.Role // theirs, on the channel
}
