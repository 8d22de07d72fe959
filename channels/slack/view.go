package slack

import (
	"unicode/utf8"

	"parley/problems"
)

// View is which of Slack's surfaces for agents an app has. Slack does not tell an app
// which it is, so both the manifest and the adapter are told.
type View string

// The views.
const (
	// AgentView is the only one that Slack gives to new apps. What a person writes
	// outside of a thread begins one, and each thread is a conversation.
	AgentView View = "agent"
	// AssistantView is that of apps that were made before, until February 2027: a
	// thread of the pane is a conversation, and so is all that is written outside.
	AssistantView View = "assistant"
	// NoView is an app that is no agent. A direct message is one conversation.
	NoView View = "none"
)

var errView = problems.At("view", "neither agent, assistant nor none")

// CheckView reports whether v is a view. The zero View is AgentView.
func CheckView(v View) error {
	switch v {
	case AgentView, AssistantView, NoView, "":
		return nil
	}
	return errView
}

// Texts that a manifest has, by their longest: of Slack's schema.
const (
	maxAppName     = 35
	maxDescription = 140 // of the app; 300 of the agent
	maxCommand     = 32  // characters, with the slash
)

// Profile is how the app shows itself to people.
type Profile struct {
	Name        string // of the app and its bot, at most 35 characters
	Description string // in a sentence, at most 140
}

// CheckProfile reports whether Slack takes such names.
func CheckProfile(p Profile) error {
	var ps problems.List
	if n := utf8.RuneCountInString(p.Name); n < 1 || n > maxAppName {
		ps.Add("name", "%d characters; Slack takes 1 to %d", n, maxAppName)
	} else if slug(p.Name) == "" {
		ps.Add("name", "it has no letter or digit of ASCII, of which the slash commands are made")
	}
	if n := utf8.RuneCountInString(p.Description); n < 1 || n > maxDescription {
		ps.Add("description", "%d characters; Slack takes 1 to %d", n, maxDescription)
	}
	return ps.Err()
}
