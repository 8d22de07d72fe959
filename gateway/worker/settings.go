package worker

import (
	"context"
	"time"

	"parley/agent"
	"parley/agent/prompt"
	"parley/channels"
	"parley/costs"
	"parley/gateway/activity"
	"parley/gateway/approvals"
	"parley/gateway/budgets"
	"parley/gateway/errands"
	"parley/gateway/goals"
	"parley/gateway/policy"
	"parley/gateway/schedule"
	"parley/llm"
	"parley/sessions"
	"parley/subagents"
	"parley/tools"
)

// Settings is what an operator may change while a worker runs. A value is never changed
// after it was made: a change is another value.
//
// An actor takes those in force once for each step, and once more when it opens or resumes
// a turn; the turn keeps them to its end, with all that joins it and all its sub-agents.
// What a worker itself needs between steps asks [Options.Present].
type Settings struct {
	Agents      map[string]Agent // by name
	Loop        agent.Loop       // without a Journal
	Files       *Files           // nil: agents' tool to send some does nothing
	Attachments Attachments      // nil: no file is brought
	// Children are the settings of a turn's sub-agents; nil: those of Options.Subagents.
	Children *subagents.Settings
	Limits   budgets.Limits             // the zero value limits nothing
	Waiting  map[string]policy.Waiting  // by channel instance; the zero Waiting where nothing is said
	Activity map[string]activity.Config // by channel instance: how much of what turns do is shown
	Goals    goals.Config               // as [goals.Config.Defaults] fills it in
	// Approvals say how people are asked to permit calls, and Access who may, by channel
	// instance. Without an entry there nobody is asked.
	Approvals approvals.Config
	Access    map[string]policy.Access
	// PrivateQuestions are the channel instances that show questions for permission, in chats of
	// several people, to those alone who may decide.
	PrivateQuestions map[string]bool
	// ChoicePerSession: a model that was chosen answers until the session ends; false: also
	// in later ones.
	ChoicePerSession bool
	Reactions        map[string]channels.Reactions // by channel instance: which it puts on messages
	// TurnTimeout is how long a turn may take, and Attempts how often a message is taken up
	// before it is given up; 0: as Options.Config says.
	TurnTimeout time.Duration
	Attempts    int
	// Authorize reports whether the sender of a message may still be answered, in a
	// chat with these ids. It is asked when a turn is taken and when it is resumed.
	// nil: who was let in stays so.
	Authorize func(ctx context.Context, m channels.Message, chat ...string) (policy.Verdict, error)
	// Standing returns what was decided about somebody while the gateway runs; see Access. nil:
	// nothing.
	Standing func(ctx context.Context, channel string, s channels.Sender) (policy.Standing, error)
	// ReadAhead reads together the decisions that Authorize and Standing look up, a chat and other
	// records; see [sessions.Records].ReadAhead. nil: each is read when it is asked for.
	ReadAhead func(ctx context.Context, channel string, s channels.Sender, chat sessions.ChatID, more ...sessions.RecordID) sessions.Ahead
	// Approvers reports whether anybody on a channel may permit something because that was decided
	// while the gateway runs. nil: nobody may.
	Approvers func(ctx context.Context, channel string) (bool, error)
	// Jobs are the operator's, by name: whose message is of one is answered by its rights.
	Jobs map[string]schedule.Job
	// Errands are what people have scheduled; nil: nobody has.
	Errands *errands.Desk
	// AgentFor returns which agent answers a message, in a chat with these ids; empty: the
	// one to which it came. nil: always that one.
	AgentFor func(m channels.Message, chat ...string) string
}

// Agent is what answers under one agent name.
type Agent struct {
	Model     llm.Model
	Fallbacks []agent.Fallback // that answer when Model does not work
	// Choices are the models among which people may choose for their conversation, Model
	// among them or not. What they say of Model counts for nothing. Empty: there is no choice.
	Choices []agent.Fallback
	Tools   *tools.Set
	Prompt  *prompt.Agent // what its system messages are made of; nil: there are none

	MaxSteps     int
	MaxTokens    int
	Window       int  // tokens; 0: as the catalogue knows the model
	SeesPictures bool // it is shown pictures

	Middleware    []agent.Middleware // nil: the standard one
	MaxCost       costs.Amount       // of a person's turn with its sub-agents; 0: no limit
	MaxTurnTokens int64              // of the model calls of one turn; 0: no limit

	Summariser *agent.Fallback // what is asked for summaries before Model; nil: nothing
	Title      *agent.Titling  // what finds titles of its conversations; nil: they have none

	Parameters  llm.Parameters // how the model is asked
	Retry       agent.Retrier  // of its failed calls, whichever model; nil: as the loop says
	ToolTimeout time.Duration  // of one call; 0: tools.DefaultTimeout
	ToolOutput  int            // bytes of one result; 0: tools.DefaultOutput
	Env         []string       // name=value for the scripts of its turns
}
