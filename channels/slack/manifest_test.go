package slack_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	goslack "github.com/slack-go/slack"

	"parley/channels/slack"
	sim "parley/simulators/slack"
)

func asked() slack.ManifestOptions {
	return slack.ManifestOptions{
		Profile: slack.Profile{Name: "parley", Description: "Ask me anything."}, Prompts: []string{"What can you do?"},
		Commands: []slack.Command{{Name: "new", Description: "start anew"}, {Name: "stop", Description: "stop"}, {Name: "status", Description: "what I do"}},
	}
}

func manifest(t *testing.T, o slack.ManifestOptions) json.RawMessage {
	t.Helper()
	m, err := slack.Manifest(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// firstday S1: slack-go, which others wrote, knows each key and reads each value.
func TestManifestIsOfTheSchemaThatSlackGoKnows(t *testing.T) {
	t.Parallel()
	for _, v := range []slack.View{slack.AgentView, slack.AssistantView, slack.NoView} {
		o := asked()
		o.View = v
		d := json.NewDecoder(bytes.NewReader(manifest(t, o)))
		d.DisallowUnknownFields()
		var m goslack.Manifest
		if err := d.Decode(&m); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		if (m.Features.AgentView != nil) != (v == slack.AgentView) || (m.Features.AssistantView != nil) != (v == slack.AssistantView) {
			t.Errorf("%s: %+v", v, m.Features)
		}
		if slices.Contains(m.OAuthConfig.Scopes.Bot, "assistant:write") != (v != slack.NoView) {
			t.Errorf("%s: scopes %v", v, m.OAuthConfig.Scopes.Bot)
		}
	}
}

// firstday S1: Slack makes an app of it, in both modes; and only of the agent view,
// or of none.
func TestManifestIsTakenForANewApp(t *testing.T) {
	t.Parallel()
	for _, mode := range []slack.Mode{slack.Socket, slack.Events} {
		o := asked()
		o.Mode, o.URL = mode, "https://bot.example/slack/work"
		a, err := sim.Create(manifest(t, o))
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if !a.AgentView || !slices.Equal(a.Commands, []string{"/parley", "/parley-new", "/parley-stop", "/parley-status"}) {
			t.Errorf("%s: %+v", mode, a)
		}
		if want := map[slack.Mode]string{slack.Events: o.URL}[mode]; a.RequestURL != want || a.InteractivityURL != want || a.CommandURL != want {
			t.Errorf("%s: it comes to %q, %q, %q", mode, a.RequestURL, a.InteractivityURL, a.CommandURL)
		}
	}
	o := asked()
	o.View = slack.NoView
	if _, err := sim.Create(manifest(t, o)); err != nil {
		t.Error(err)
	}
	o.View = slack.AssistantView // of an app that is there
	if _, err := sim.Create(manifest(t, o)); err == nil || !strings.Contains(err.Error(), "new apps use agent_view") {
		t.Errorf("the assistant view is answered with %v", err)
	}
}

func TestManifestKeepsWithinWhatSlackTakes(t *testing.T) {
	t.Parallel()
	o := asked()
	o.Name, o.Description = strings.Repeat("Long Ä ", 5), strings.Repeat("x", 140)
	o.Prompts = slices.Repeat(o.Prompts, 6)
	a, err := sim.Create(manifest(t, o))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range a.Commands {
		if len(c) > 32 {
			t.Errorf("%s has %d characters", c, len(c))
		}
	}
	for what, change := range map[string]func(o *slack.ManifestOptions){
		"name: 36":                      func(o *slack.ManifestOptions) { o.Name = strings.Repeat("x", 36) },
		"name: it has no":               func(o *slack.ManifestOptions) { o.Name = "Привет" },
		"description: 0":                func(o *slack.ManifestOptions) { o.Description = "" },
		"view: neither":                 func(o *slack.ManifestOptions) { o.View = "pane" },
		"mode events needs the address": func(o *slack.ManifestOptions) { o.Mode = slack.Events },
		"is https://":                   func(o *slack.ManifestOptions) { o.Mode, o.URL = slack.Events, "http://bot.example" },
	} {
		o := asked()
		change(&o)
		if _, err := slack.Manifest(o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
