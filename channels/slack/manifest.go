package slack

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// Command is a command of the bot, as Slack offers it to who types a slash.
type Command struct {
	Name        string // without a slash: stop
	Description string
}

// ManifestOptions say what an app manifest is made of.
type ManifestOptions struct {
	Profile

	View     View
	Mode     Mode
	Prompts  []string
	Commands []Command
	// Reacts: the app puts reactions on messages.
	Reacts bool
	// URL is where Slack brings what happens, of mode Events.
	URL string
}

// The keys of a manifest that parley uses. slack-go has a type of its own, which
// leaves out what is false; but without messages_tab_read_only_enabled nobody can
// write to the bot. https://docs.slack.dev/reference/app-manifest
type (
	manifest struct {
		Metadata manifestMetadata `json:"_metadata"`
		Display  manifestDisplay  `json:"display_information"`
		Features manifestFeatures `json:"features"`
		OAuth    manifestOAuth    `json:"oauth_config"`
		Settings manifestSettings `json:"settings"`
	}
	manifestMetadata struct {
		Major int `json:"major_version"` // 1, which is the default, has no agent_view
		Minor int `json:"minor_version"`
	}
	manifestDisplay struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	manifestFeatures struct {
		AppHome struct {
			Home     bool `json:"home_tab_enabled"`
			Messages bool `json:"messages_tab_enabled"`
			ReadOnly bool `json:"messages_tab_read_only_enabled"`
		} `json:"app_home"`
		BotUser struct {
			DisplayName  string `json:"display_name"`
			AlwaysOnline bool   `json:"always_online"`
		} `json:"bot_user"`
		Agent     *manifestAgent     `json:"agent_view,omitempty"`
		Assistant *manifestAssistant `json:"assistant_view,omitempty"`
		Commands  []manifestCommand  `json:"slash_commands"`
	}
	manifestAgent struct {
		Description string           `json:"agent_description"`
		Prompts     []manifestPrompt `json:"suggested_prompts,omitempty"`
	}
	manifestAssistant struct {
		Description string           `json:"assistant_description"`
		Prompts     []manifestPrompt `json:"suggested_prompts,omitempty"`
	}
	manifestPrompt struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	manifestCommand struct {
		Command     string `json:"command"`
		URL         string `json:"url,omitempty"`
		Description string `json:"description"`
		UsageHint   string `json:"usage_hint,omitempty"`
	}
	manifestOAuth struct {
		Scopes struct {
			Bot []string `json:"bot"`
		} `json:"scopes"`
	}
	manifestSettings struct {
		Events struct {
			URL string   `json:"request_url,omitempty"`
			Bot []string `json:"bot_events"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			Enabled bool   `json:"is_enabled"`
			URL     string `json:"request_url,omitempty"`
		} `json:"interactivity"`
		OrgDeploy     bool `json:"org_deploy_enabled"`
		SocketMode    bool `json:"socket_mode_enabled"`
		TokenRotation bool `json:"token_rotation_enabled"`
	}
)

var (
	errNoURL  = errors.New("mode events needs the address at which Slack reaches the listener of webhooks, such as https://your.host")
	errBadURL = errors.New("the address at which Slack reaches the listener of webhooks is https://host[:port][/path]")
)

// Manifest gives the manifest, JSON, of which Slack makes an app that this adapter
// can run, with everything that its view, its mode and its commands need and no more.
// See "Create New App, From a manifest".
func Manifest(o ManifestOptions) (json.RawMessage, error) {
	if err := errors.Join(CheckProfile(o.Profile), CheckView(o.View)); err != nil {
		return nil, err
	}
	switch u, err := url.Parse(o.URL); {
	case o.Mode != Events:
		o.URL = ""
	case o.URL == "":
		return nil, errNoURL
	case err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, errBadURL
	}
	m := manifest{
		Metadata: manifestMetadata{Major: 2, Minor: 1},
		Display:  manifestDisplay(o.Profile),
	}
	m.Features.AppHome.Messages = true
	m.Features.BotUser.DisplayName, m.Features.BotUser.AlwaysOnline = o.Name, true
	var prompts []manifestPrompt
	for _, p := range o.Prompts[:min(len(o.Prompts), MaxPrompts)] {
		prompts = append(prompts, manifestPrompt{Title: p, Message: p})
	}
	switch o.View {
	case NoView:
	case AssistantView:
		m.Features.Assistant = &manifestAssistant{o.Description, prompts}
	default:
		m.Features.Agent = &manifestAgent{o.Description, prompts}
	}
	m.Features.Commands = commandsOf(o)
	m.OAuth.Scopes.Bot, m.Settings.Events.Bot = scopesOf(o), eventsOf(o.View)
	m.Settings.SocketMode = o.Mode != Events
	m.Settings.Interactivity.Enabled = true
	m.Settings.Events.URL, m.Settings.Interactivity.URL = o.URL, o.URL
	return json.MarshalIndent(m, "", "  ")
}

var noSlug = regexp.MustCompile(`[^a-z0-9]+`)

// slug returns a name as slash commands begin with it: those of all apps in a workspace
// share one space of names.
func slug(name string) string {
	return strings.Trim(noSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// commandsOf lists one command for whatever is said, and one for each command of the
// bot that fits.
func commandsOf(o ManifestOptions) []manifestCommand {
	root := slug(o.Name)
	longest := 0
	for _, c := range o.Commands {
		longest = max(longest, len(c.Name)+len("/-"))
	}
	if room := maxCommand - longest; len(root) > room {
		root = strings.Trim(root[:max(room, 1)], "-")
	}
	all := []manifestCommand{{Command: "/" + root, URL: o.URL, Description: "Say something to " + o.Name, UsageHint: "what you want to say"}}
	for _, c := range o.Commands {
		all = append(all, manifestCommand{Command: "/" + root + "-" + c.Name, URL: o.URL, Description: c.Description})
	}
	return all
}

// scopesOf are the scopes that the adapter uses.
func scopesOf(o ManifestOptions) []string {
	scopes := []string{
		"app_mentions:read", "channels:history", "channels:read", "chat:write", "commands", "files:read", "files:write", "groups:history",
		"groups:read", "im:history", "im:read", "mpim:history", "mpim:read", "users:read",
	}
	if o.Reacts {
		scopes = append(scopes, "reactions:write")
	}
	if o.View != NoView {
		scopes = append(scopes, "assistant:write")
	}
	return scopes
}

// eventsOf are the events that the adapter reads. app_context_changed it does not use;
// but an app that has the agent view without it is told less in app_home_opened.
func eventsOf(v View) []string {
	events := []string{
		"app_mention", "channel_archive", "channel_id_changed", "channel_left", "channel_unarchive", "group_archive", "group_left",
		"group_unarchive", "member_joined_channel", "message.channels", "message.groups", "message.im", "message.mpim",
	}
	switch v {
	case NoView:
		return events
	case AssistantView:
		return append(events, "agent_session_stopped", "assistant_thread_started")
	}
	return append(events, "agent_session_stopped", "app_context_changed", "app_home_opened")
}
