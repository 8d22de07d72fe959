package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// slashCommand is the payload of a slash command.
type slashCommand struct {
	Command   string `json:"command"`
	Text      string `json:"text"`
	ChannelID string `json:"channel_id"`
	UserID    string `json:"user_id"`
	TeamID    string `json:"team_id"`
	TriggerID string `json:"trigger_id"`
}

// fillSlashCommand takes a slash command. "/parley-stop", and "/parley stop", is a command if its
// word is one of the bot's; the whole is said to the bot otherwise. Slack tells no
// thread, so in a channel it is of the channel itself.
func (r *receiver) fillSlashCommand(e *event, payload json.RawMessage) error {
	var s slashCommand
	if err := json.Unmarshal(payload, &s); err != nil {
		return err
	}
	switch {
	case s.ChannelID == "":
		return errNoChannel
	case s.UserID == "":
		return errNobody
	}
	m := &e.message
	e.lane = s.ChannelID
	m.Event = "c-" + cmp.Or(s.TriggerID, hashID(payload))
	m.Kind, m.Mentioned = channels.Said, true
	m.Address = r.addressOf(s.ChannelID, "", "", "")
	m.Sender = r.sender(&eventCallback{TeamID: s.TeamID, ContextTeamID: s.TeamID}, s.UserID, &post{Team: s.TeamID})
	m.Text = r.commandText(s.Command, strings.TrimSpace(r.plainText(s.Text).text))
	// A command has no message to answer to. What is asked of the bot's books is nobody
	// else's; of what is said only a refusal is.
	m.MessageID = channels.PublicReplyPrefix + s.UserID + "." + m.Event
	if strings.HasPrefix(m.Text, "/") {
		m.MessageID = channels.PrivateReplyPrefix + s.UserID
	}
	e.complete = func(ctx context.Context, m *channels.Message) { r.fillName(ctx, m, s.UserID) }
	return nil
}

// CommandSign stands before a command that is typed as a message: what begins with a
// slash Slack's client keeps for itself, and in threads it offers no slash commands.
const CommandSign = "!"

var commandWord = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// expandCommand is a text as the bot reads it: "!stop" is "/stop". Behind an unknown word
// nothing else may stand: "!stats" is a mistyped command, "!important read this" is text.
func (t *textReader) expandCommand(text string) string {
	rest, ok := strings.CutPrefix(text, CommandSign)
	if !ok {
		return text
	}
	word, _, more := strings.Cut(rest, " ")
	word = strings.ToLower(strings.TrimRight(word, ".,:;!?…"))
	if slices.Contains(t.commands, word) || !more && commandWord.MatchString(word) {
		return "/" + rest
	}
	return text
}

// commandText is what a slash command and the text behind it say to the bot.
func (t *textReader) commandText(command, text string) string {
	// What stands before the last hyphen is the app's name, which may have some too.
	if own := command[strings.LastIndexByte(command, '-')+1:]; len(own) < len(command) && slices.Contains(t.commands, strings.ToLower(own)) {
		return strings.TrimSpace("/" + strings.ToLower(own) + " " + text)
	}
	word, rest, _ := strings.Cut(text, " ")
	word = strings.ToLower(strings.TrimPrefix(word, "/"))
	switch {
	case text == "":
		return "/help"
	case slices.Contains(t.commands, word):
		return strings.TrimSpace("/" + word + " " + rest)
	}
	return text
}

// interaction is the payload of an interaction, as far as it is used.
type interaction struct {
	Type    string     `json:"type"`
	Team    channelRef `json:"team"`
	User    presser    `json:"user"`
	Channel channelRef `json:"channel"`
	Actions []struct {
		ActionID string `json:"action_id"`
		ActionTS string `json:"action_ts"`
		Value    string `json:"value"`
		Text     struct {
			Text string `json:"text"`
		} `json:"text"`
	} `json:"actions"`
	Container struct {
		MessageTS   string `json:"message_ts"`
		ThreadTS    string `json:"thread_ts"`
		ChannelID   string `json:"channel_id"`
		IsEphemeral bool   `json:"is_ephemeral"`
	} `json:"container"`
	Message struct {
		ThreadTS string `json:"thread_ts"`
	} `json:"message"`
	TriggerID   string `json:"trigger_id"`
	ResponseURL string `json:"response_url"`
}

// presser is who presses a button, perhaps as a member of another workspace in a shared channel.
type presser struct {
	ID     string `json:"id"`
	TeamID string `json:"team_id"`
}

// fillInteraction takes a press of a button. Pressing twice is two events.
func (r *receiver) fillInteraction(e *event, payload json.RawMessage) error {
	var p interaction
	if err := json.Unmarshal(payload, &p); err != nil {
		return err
	}
	m := &e.message
	channel := cmp.Or(string(p.Channel), p.Container.ChannelID)
	e.lane = channel
	m.Event = "a-" + cmp.Or(p.TriggerID, hashID(payload))
	given := &eventCallback{TeamID: string(p.Team), ContextTeamID: string(p.Team)} // the workspace where the app is
	m.Sender = r.sender(given, p.User.ID, &post{Team: cmp.Or(p.User.TeamID, string(p.Team))})
	switch {
	case p.Type != "block_actions" || len(p.Actions) == 0:
		m.Problem = "an interaction of type " + strconv.Quote(markup.Brief(p.Type))
		return nil
	case channel == "":
		m.Problem = "a button that is in no channel"
		return nil
	case p.User.ID == "":
		return errNobody
	}
	m.Kind, m.Mentioned = channels.Pressed, true
	m.MessageID = p.Container.MessageTS
	thread := cmp.Or(p.Container.ThreadTS, p.Message.ThreadTS)
	if thread == m.MessageID { // others began one below it
		thread = "" // what parley asks outside of a thread, it asks in a conversation that has none
	}
	m.Address = r.addressOf(channel, "", thread, "")
	m.Text, m.SentAt = p.Actions[0].Value, timeOf(p.Actions[0].ActionTS)
	if p.Container.IsEphemeral {
		r.fillPrivatePress(e, &p, channel)
	}
	return nil
}

// MaxPrompts is how many suggestions Slack shows.
const MaxPrompts = 4

// fillAssistantStarted takes the opening of an assistant thread, in which nothing was said
// yet.
func (r *receiver) fillAssistantStarted(e *event, in *innerEvent) error {
	t := in.Assistant
	m := &e.message
	e.lane = t.Channel
	m.Problem = "an assistant thread was opened"
	m.Sender = channels.Sender{ID: t.UserID}
	if t.Channel == "" || t.ThreadTS == "" {
		return errNoChannel
	}
	m.Address = r.addressOf(t.Channel, "im", t.ThreadTS, "")
	e.after = r.suggestLater
	return nil
}

// fillHomeOpened takes that somebody looks at the app in the agent view, where nothing was
// said yet.
func (r *receiver) fillHomeOpened(e *event, c *eventCallback, in *innerEvent) error {
	m := &e.message
	m.Problem = "somebody looks at the app"
	m.Sender = r.sender(c, string(in.User), &in.post)
	if in.Channel == "" || in.Tab != "messages" {
		return nil
	}
	m.Address = r.addressOf(string(in.Channel), "im", "", "")
	if r.o.View == AgentView {
		e.after = r.suggestLater
	}
	return nil
}

// suggestLater shows to whoever may talk to the bot what could be asked.
func (r *receiver) suggestLater(m channels.Message) {
	if len(r.o.Prompts) == 0 {
		return
	}
	r.queue.Go(func(ctx context.Context) {
		if r.o.IsRelevant(ctx, m) {
			r.suggest(ctx, m.Address)
		}
	})
}

// suggest shows what could be asked: in a thread of the assistant's pane, or to whom
// has opened an agent, for which a thread must not be named. It is courtesy: nothing is
// tried again. https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
func (r *receiver) suggest(ctx context.Context, at sessionkeys.Address) {
	p := slack.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: at.Peer, ThreadTS: at.Thread}
	for _, s := range r.o.Prompts[:min(len(r.o.Prompts), MaxPrompts)] {
		p.AddPrompt(s, s)
	}
	const method = "assistant.threads.setSuggestedPrompts"
	_, err := r.call(ctx, method, at.Peer, func(ctx context.Context) error {
		return r.api.SetAssistantThreadsSuggestedPromptsContext(ctx, p)
	})
	if err != nil && ctx.Err() == nil {
		r.o.Log.Debug("suggested prompts not set", "error", err)
	}
}
