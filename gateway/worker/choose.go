package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/preferences"
	"parley/llm"
	"parley/sessions"
)

// Menu returns among which models people may choose at the agent.
func (a Agent) Menu(perSession bool) preferences.Menu {
	m := preferences.Menu{Own: a.model(), PerSession: perSession}
	for _, c := range a.Choices {
		m.Models = append(m.Models, modelName(c.Model))
	}
	return m
}

// With returns the agent as it answers with one of its Choices: that one is asked first, and
// when it does not work, the agent's own models without it, in their order. Its own model is
// asked as always. Whoever does not find the model among the Choices gets the agent
// unchanged.
func (a Agent) With(model string) Agent {
	i := slices.IndexFunc(a.Choices, func(c agent.Fallback) bool { return modelName(c.Model) == model })
	if i < 0 || model == a.model() {
		return a.withoutOwnSummariser()
	}
	own := agent.Fallback{Model: a.Model, Window: a.Window, MaxTokens: a.MaxTokens, Parameters: a.Parameters, Vision: a.SeesPictures}
	chain := append([]agent.Fallback{own}, a.Fallbacks...)
	a.Fallbacks = slices.DeleteFunc(chain, func(f agent.Fallback) bool { return modelName(f.Model) == model })
	c := a.Choices[i]
	a.Model, a.Window, a.MaxTokens, a.Parameters, a.SeesPictures = c.Model, c.Window, c.MaxTokens, c.Parameters, c.Vision
	return a.withoutOwnSummariser()
}

// withoutOwnSummariser returns the agent without the model that is asked for summaries if that
// is the one that answers: its provider has the conversation cached as turns ask for it.
func (a Agent) withoutOwnSummariser() Agent {
	if a.Summariser != nil && modelName(a.Summariser.Model) == a.model() {
		a.Summariser = nil
	}
	return a
}

func modelName(m llm.Model) string { return m.Provider() + "/" + m.Name() }

// chosenAgent returns the agent that answers the mailbox, with the model that was chosen
// there; false: it is not configured. The choice does not change while a turn is open,
// because the command that makes one waits behind it. What cannot be read or may not be
// chosen any more stops no turn: the agent's own model answers. (requirements AB04, TX26)
func (a *owner) chosenAgent(ctx context.Context) (Agent, bool) {
	ag, ok := a.settings.Agents[a.m.Key.Agent()]
	menu := ag.Menu(a.settings.ChoicePerSession)
	if !ok || !menu.Offers() {
		return ag, ok
	}
	choice, err := preferences.Read(ctx, a.w.Store, a.token, a.w.Now())
	if err != nil {
		a.w.Logger.Warn("model choice unreadable, the agent's own model answers", "session", a.m.Session, "key", a.m.Key, "model", menu.Own, "error", err)
		return ag.With(menu.Own), true
	}
	model, state := menu.Apply(choice, a.m.Session)
	if state == preferences.Disallowed {
		a.w.Logger.Warn("chosen model not allowed any more, the agent's own model answers", "session", a.m.Session, "key", a.m.Key, "chosen", choice.Model, "model", menu.Own)
	}
	return ag.With(model), true
}

// chooseModel carries out a command that chooses which model answers from the next turn
// on. The choice is one commit with the command's answer.
func (a *commands) chooseModel(e broker.Envelope, msg channels.Message, words string, provider bool) (bool, error) {
	now := a.w.Now()
	change := sessions.Command{Seq: e.Seq, Event: messages.Inbox(msg)}
	menu := a.settings.Agents[a.m.Key.Agent()].Menu(a.settings.ChoicePerSession)
	choice, text := a.choiceOf(menu, words, provider)
	if choice != nil {
		choice.Session = a.m.Session
		r, err := choice.Record(a.token, now)
		if err != nil {
			return false, err
		}
		change.Records = []sessions.Record{r}
	}
	return a.answer(change, e.Seq, msg, text)
}

// choiceOf returns what a person chooses with these words, and what they are told; nil and
// why not when there is not exactly one such model.
func (a *commands) choiceOf(menu preferences.Menu, words string, provider bool) (*preferences.Choice, string) {
	switch strings.ToLower(words) {
	case "default", "reset":
		return &preferences.Choice{}, fmt.Sprintf("From your next message on `%s` answers here, as by default.", menu.Own)
	}
	if !menu.Offers() {
		return nil, preferences.NothingOffered(menu)
	}
	find, command, what := menu.Find, a.typed("model"), "model"
	if provider {
		find, command, what = menu.FindProvider, a.typed("provider"), "provider"
	}
	switch found := find(words); len(found) {
	case 0:
		return nil, fmt.Sprintf("There is no such %s to choose here: %s lists them.", what, command)
	case 1:
		text := fmt.Sprintf("From your next message on `%s` answers here", found[0])
		if menu.PerSession {
			text += ", until this conversation ends"
		}
		return &preferences.Choice{Model: found[0]}, fmt.Sprintf("%s. %s default takes that back.", text, command)
	default:
		if provider {
			for i := range found {
				found[i] = preferences.ProviderOf(found[i])
			}
		}
		return nil, fmt.Sprintf("Which of them? `%s` fit: %s lists all.", strings.Join(found, "`, `"), command)
	}
}
