package commands

import (
	"context"
	"fmt"
	"strings"

	"parley/gateway/messages"
	"parley/gateway/preferences"
	"parley/sessions"
)

// standing is which model answers in a conversation, and how it came to that.
type standing struct {
	menu  preferences.Menu
	model string
	state preferences.State
}

// modelOf looks up which model answers the mailbox m of an agent; of a mailbox that there is
// not yet, m is zero.
func (d *Handler) modelOf(ctx context.Context, agent, token string, m sessions.Mailbox) (standing, error) {
	s := standing{menu: d.Menu(agent)}
	s.model = s.menu.Own
	if !s.menu.Offers() {
		return s, nil
	}
	choice, err := preferences.Read(ctx, d.Store, token, d.Now())
	if err = d.passUnreadable(err); err != nil {
		return s, err
	}
	s.model, s.state = s.menu.Apply(choice, m.Session)
	return s, nil
}

// SessionModel returns which model answers in a session, as provider/model: a sub-agent's is
// its agent's own, whatever was chosen for the conversation.
func (d *Handler) SessionModel(ctx context.Context, s sessions.Session) (string, error) {
	if s.Parent != "" {
		return d.Menu(s.Key.Agent()).Own, nil
	}
	now, err := d.modelOf(ctx, s.Key.Agent(), s.Key.Token(), sessions.Mailbox{Session: s.ID})
	return now.model, err
}

// note returns what stands behind the name of a model that is not called at present.
func (d *Handler) note(model string) string {
	if d.Works == nil || d.Works(model) {
		return ""
	}
	return " (does not work at the moment)"
}

// describe names the model that answers.
func (s standing) describe(d *Handler) string {
	text := s.model + d.note(s.model)
	if s.state == preferences.Chosen {
		text += ", chosen here"
	}
	return text
}

// answerModels says which model answers, and which others may be chosen: all, or by their
// providers.
func (d *Handler) answerModels(ctx context.Context, by messages.Caller, sign string, providers bool) (string, error) {
	m, _, found, err := d.findConversation(ctx, by.Token)
	if err != nil {
		return "", err
	}
	agent := by.Agent
	if found {
		agent = m.Key.Agent()
	}
	s, err := d.modelOf(ctx, agent, by.Token, m)
	if err != nil {
		return "", err
	}
	if !s.menu.Offers() {
		return preferences.NothingOffered(s.menu), nil
	}
	var b strings.Builder
	switch s.state {
	case preferences.Chosen:
		fmt.Fprintf(&b, "Here `%s` answers, chosen here.", s.model)
	case preferences.Disallowed, preferences.Unchosen:
		fmt.Fprintf(&b, "Here `%s` answers, by default.", s.model)
	}
	b.WriteString(" You may choose, from your next message on:\n\n")
	if providers {
		d.listProviders(&b, s)
		fmt.Fprintf(&b, "\n%sprovider %s chooses the first of that provider, %smodel one of all, and %smodel default takes a choice back.",
			sign, s.menu.Providers()[0], sign, sign)
		return b.String(), nil
	}
	for i, model := range s.menu.Models {
		fmt.Fprintf(&b, "- %d: %s\n", i+1, d.entry(s, model))
	}
	fmt.Fprintf(&b, "\n%smodel %d chooses the last of them, as do words of its name; %smodel default takes a choice back.", sign, len(s.menu.Models), sign)
	return b.String(), nil
}

// entry is a model of the menu as it is listed.
func (d *Handler) entry(s standing, model string) string {
	text := "`" + model + "`"
	if model == s.menu.Own {
		text += ", the default"
	}
	if model == s.model {
		text += ", answers now"
	}
	return text + d.note(model)
}

func (d *Handler) listProviders(b *strings.Builder, s standing) {
	for _, p := range s.menu.Providers() {
		var its []string
		for _, model := range s.menu.Models {
			if preferences.ProviderOf(model) == p {
				its = append(its, d.entry(s, model))
			}
		}
		fmt.Fprintf(b, "- %s: %s\n", p, strings.Join(its, "; "))
	}
}
