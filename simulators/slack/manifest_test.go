package slack_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"parley/simulators/slack"
)

// good is the least of an agent that is taken.
const good = `{
	"_metadata": {"major_version": 2},
	"display_information": {"name": "parley"},
	"features": {
		"bot_user": {"display_name": "parley"},
		"app_home": {"messages_tab_enabled": true, "messages_tab_read_only_enabled": false},
		"agent_view": {"agent_description": "Ask me."},
		"slash_commands": [{"command": "/parley", "description": "says something"}]
	},
	"oauth_config": {"scopes": {"bot": ["assistant:write", "commands", "im:history"]}},
	"settings": {"event_subscriptions": {"bot_events": ["message.im"]}, "interactivity": {"is_enabled": true}, "socket_mode_enabled": true}
}`

func TestCreateTakesAnAgent(t *testing.T) {
	t.Parallel()
	a, err := slack.Create(json.RawMessage(good))
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "parley" || !a.AgentView || !slices.Equal(a.Events, []string{"message.im"}) || len(a.Scopes) != 3 || !slices.Equal(a.Commands, []string{"/parley"}) {
		t.Errorf("%+v", a)
	}
}

func TestCreateRefusesWhatSlackRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, with, says string }{
		"the assistant view":                 {`"agent_view": {"agent_description"`, `"assistant_view": {"assistant_description"`, "new apps use agent_view"},
		"its scope without the view":         {`"agent_view": {"agent_description": "Ask me."},`, ``, "assistant:write requires agent_view"},
		"the view without its scope":         {`"assistant:write", `, ``, "agent_view requires assistant:write"},
		"the view in schema 1":               {`"major_version": 2`, `"major_version": 1`, "schema 1 has no agent_view"},
		"a key that the schema has not":      {`"name": "parley"`, `"name": "parley", "nickname": "p"`, "nickname"},
		"a long name":                        {`"name": "parley"`, `"name": "` + strings.Repeat("x", 36) + `"`, "36 characters"},
		"a messages tab nobody can write in": {`, "messages_tab_read_only_enabled": false`, ``, "could not write"},
		"a command without a slash":          {`"/parley"`, `"parley"`, "/features/slash_commands/0/command"},
		"commands without their scope":       {`"commands", `, ``, "require the scope commands"},
		"an event without its scope":         {`, "im:history"`, ``, "message.im requires a scope: im:history"},
		"an event that does not exist":       {`"message.im"]`, `"message.dm"]`, "message.dm"},
		"no address without Socket Mode":     {`"socket_mode_enabled": true`, `"socket_mode_enabled": false`, "/settings/event_subscriptions/request_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(good, c.old, c.with, 1)
			if changed == good {
				t.Fatal("this case changes nothing")
			}
			if _, err := slack.Create(json.RawMessage(changed)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it is answered with %v", err)
			}
		})
	}
}
