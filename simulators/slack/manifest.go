package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// manifest is an app manifest of schema version 2, as far as a chat bot has use for
// it: https://github.com/slackapi/manifest-schema, manifest.schema.2.0.0.json. A key
// that is not here is refused, as Slack refuses what its schema does not have.
type manifest struct {
	Metadata struct {
		Major int `json:"major_version"`
		Minor int `json:"minor_version"`
	} `json:"_metadata"`
	Display struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Long        string `json:"long_description"`
		Color       string `json:"background_color"`
	} `json:"display_information"`
	Features struct {
		AppHome struct {
			Home     bool  `json:"home_tab_enabled"`
			Messages bool  `json:"messages_tab_enabled"`
			ReadOnly *bool `json:"messages_tab_read_only_enabled"`
		} `json:"app_home"`
		BotUser *struct {
			DisplayName string `json:"display_name"`
			Online      bool   `json:"always_online"`
		} `json:"bot_user"`
		Commands      []manifestCommand `json:"slash_commands"`
		AssistantView json.RawMessage   `json:"assistant_view"`
		AgentView     *manifestAgent    `json:"agent_view"`
	} `json:"features"`
	OAuth struct {
		Scopes struct {
			Bot []string `json:"bot"`
		} `json:"scopes"`
	} `json:"oauth_config"`
	Settings struct {
		Events struct {
			URL string   `json:"request_url"`
			Bot []string `json:"bot_events"`
		} `json:"event_subscriptions"`
		Interactivity struct {
			Enabled bool   `json:"is_enabled"`
			URL     string `json:"request_url"`
		} `json:"interactivity"`
		OrgDeploy     bool `json:"org_deploy_enabled"`
		SocketMode    bool `json:"socket_mode_enabled"`
		TokenRotation bool `json:"token_rotation_enabled"`
	} `json:"settings"`
}

type manifestCommand struct {
	Command      string `json:"command"`
	URL          string `json:"url"`
	Description  string `json:"description"`
	UsageHint    string `json:"usage_hint"`
	ShouldEscape bool   `json:"should_escape"`
}

type manifestAgent struct {
	Description string `json:"agent_description"`
	Prompts     []struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	} `json:"suggested_prompts"`
}

// Create makes an app of a manifest, as "Create New App, From a manifest" does: its
// name, scopes, events, commands and surface are those that the manifest asks for. It
// has no tokens yet. Every reason why Slack refuses the manifest is in the error.
func Create(raw json.RawMessage) (App, error) {
	var m manifest
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return App{}, fmt.Errorf("create an app: the manifest is not of the schema: %w", err)
	}
	if err := errors.Join(m.problems()...); err != nil {
		return App{}, fmt.Errorf("create an app: %w", err)
	}
	a := App{
		Name: m.Display.Name, Scopes: m.OAuth.Scopes.Bot, Events: m.Settings.Events.Bot, AgentView: m.Features.AgentView != nil,
		RequestURL: m.Settings.Events.URL, InteractivityURL: m.Settings.Interactivity.URL,
	}
	for _, c := range m.Features.Commands {
		a.Commands = append(a.Commands, c.Command)
		a.CommandURL = c.URL
	}
	return a, nil
}

// problems are the reasons why Slack refuses the manifest, each with its place.
func (m *manifest) problems() []error {
	var all []error
	no := func(place, why string, args ...any) {
		all = append(all, fmt.Errorf("%s: %s", place, fmt.Sprintf(why, args...)))
	}
	length := func(place, s string, minimum, atMost int) {
		if n := utf8.RuneCountInString(s); n < minimum || n > atMost {
			no(place, "%d characters; must be %d to %d", n, minimum, atMost)
		}
	}
	if m.Metadata.Major != 2 && m.Features.AgentView != nil { // without a version it is held to 1.0.0
		no("/_metadata/major_version", "schema 1 has no agent_view")
	}
	length("/display_information/name", m.Display.Name, 1, 35)
	length("/display_information/description", m.Display.Description, 0, 140)
	if m.Features.BotUser == nil {
		no("/features/bot_user", "required by the scopes of a bot")
	} else {
		length("/features/bot_user/display_name", m.Features.BotUser.DisplayName, 1, 80)
	}
	if m.Features.AppHome.Messages && m.Features.AppHome.ReadOnly == nil {
		no("/features/app_home/messages_tab_read_only_enabled", "people could not write in the messages tab")
	}
	m.agentProblems(no, length)
	m.commandProblems(no, length)
	m.eventProblems(no)
	return all
}

// agentProblems holds the manifest to what Slack has asked of new apps since June
// 2026: https://docs.slack.dev/ai/developing-agents/#migrating.
func (m *manifest) agentProblems(no func(place, why string, args ...any), length func(place, s string, minimum, atMost int)) {
	if m.Features.AssistantView != nil {
		no("/features/assistant_view", "new apps use agent_view")
	}
	v := m.Features.AgentView
	if v == nil {
		if slices.Contains(m.OAuth.Scopes.Bot, "assistant:write") {
			no("/oauth_config/scopes/bot", "assistant:write requires agent_view")
		}
		return
	}
	length("/features/agent_view/agent_description", v.Description, 1, 300)
	if len(v.Prompts) > maxPrompts {
		no("/features/agent_view/suggested_prompts", "%d items; at most %d", len(v.Prompts), maxPrompts)
	}
	for i, p := range v.Prompts {
		if p.Title == "" || p.Message == "" {
			no(fmt.Sprintf("/features/agent_view/suggested_prompts/%d", i), "title and message are required")
		}
	}
	if !slices.Contains(m.OAuth.Scopes.Bot, "assistant:write") {
		no("/oauth_config/scopes/bot", "agent_view requires assistant:write")
	}
}

// maxPrompts is how many suggestions Slack shows.
const maxPrompts = 4

var (
	commandShape = regexp.MustCompile(`^/[a-z0-9_-]{1,31}$`)
	urlShape     = regexp.MustCompile(`^https?://.`)
)

func (m *manifest) commandProblems(no func(place, why string, args ...any), length func(place, s string, minimum, atMost int)) {
	if len(m.Features.Commands) > 50 {
		no("/features/slash_commands", "%d items; at most 50", len(m.Features.Commands))
	}
	seen := map[string]bool{}
	for i, c := range m.Features.Commands {
		at := fmt.Sprintf("/features/slash_commands/%d", i)
		if !commandShape.MatchString(c.Command) || seen[c.Command] {
			no(at+"/command", "%q is none, or is there twice", c.Command)
		}
		seen[c.Command] = true
		length(at+"/description", c.Description, 1, 2000)
		length(at+"/usage_hint", c.UsageHint, 0, 1000)
		m.urlProblem(no, at+"/url", c.URL)
	}
	if len(seen) > 0 && !slices.Contains(m.OAuth.Scopes.Bot, "commands") {
		no("/oauth_config/scopes/bot", "slash commands require the scope commands")
	}
}

// urlProblem: what comes by HTTP needs an address, what comes by Socket Mode none.
func (m *manifest) urlProblem(no func(place, why string, args ...any), at, url string) {
	if !m.Settings.SocketMode && !urlShape.MatchString(url) || url != "" && !urlShape.MatchString(url) {
		no(at, "%q is no URL; without Socket Mode one is required", url)
	}
}

// wants are the scopes of which an event needs one, as its page says at
// https://docs.slack.dev/reference/events. An event that is not here does not exist,
// or is of no use to a bot.
var wants = map[string][]string{
	"app_context_changed":         nil,
	"app_home_opened":             nil,
	"agent_session_stopped":       {"chat:write"},
	"agent_session_title_changed": {"chat:write"},
	"app_mention":                 {"app_mentions:read"},
	"assistant_thread_started":    {"assistant:write"},
	"message.channels":            {"channels:history"},
	"message.groups":              {"groups:history"},
	"message.im":                  {"im:history"},
	"message.mpim":                {"mpim:history"},
	"member_joined_channel":       {"channels:read", "groups:read"},
	"channel_archive":             {"channels:read"},
	"channel_id_changed":          {"channels:read"},
	"channel_left":                {"channels:read"},
	"channel_unarchive":           {"channels:read"},
	"group_archive":               {"groups:read"},
	"group_left":                  {"groups:read"},
	"group_unarchive":             {"groups:read"},
}

func (m *manifest) eventProblems(no func(place, why string, args ...any)) {
	const at = "/settings/event_subscriptions"
	if len(m.Settings.Events.Bot) > 100 {
		no(at+"/bot_events", "%d items; at most 100", len(m.Settings.Events.Bot))
	}
	seen := map[string]bool{}
	for _, e := range m.Settings.Events.Bot {
		scopes, known := wants[e]
		switch {
		case !known || seen[e]:
			no(at+"/bot_events", "%q does not exist, or is there twice", e)
		case len(scopes) > 0 && !slices.ContainsFunc(scopes, func(s string) bool { return slices.Contains(m.OAuth.Scopes.Bot, s) }):
			no(at+"/bot_events", "%s requires a scope: %s", e, strings.Join(scopes, " or "))
		}
		seen[e] = true
	}
	if len(seen) > 0 {
		m.urlProblem(no, at+"/request_url", m.Settings.Events.URL)
	}
	if m.Settings.Interactivity.Enabled {
		m.urlProblem(no, "/settings/interactivity/request_url", m.Settings.Interactivity.URL)
	}
}
