package settings_test

import (
	"reflect"
	"slices"
	"testing"

	"parley/channels"
	"parley/gateway/policy"
	"parley/gateway/settings"
)

// A key of which nobody says whether a running gateway takes another value would be taken and
// have no effect, or be refused without need.
func TestReloads(t *testing.T) {
	t.Parallel()
	var walk func(of reflect.Type, path string)
	walk = func(of reflect.Type, path string) {
		switch {
		case of.Kind() == reflect.Map:
			walk(of.Elem(), path+".name")
		case of.Kind() == reflect.Struct && of != reflect.TypeFor[channels.Secret]():
			for _, f := range reflect.VisibleFields(of) {
				key := f.Tag.Get("yaml")
				if key == "" {
					continue
				}
				if path != "" {
					key = path + "." + key
				}
				walk(f.Type, key)
			}
		default:
			if _, known := settings.Reloads(path); !known {
				t.Errorf("%s: say in the table reloads whether a gateway that runs takes another value", path)
			}
		}
	}
	walk(reflect.TypeFor[settings.Config](), "")
	for path, want := range map[string]bool{
		"channels.telegram.main.token": false, "channels.slack.main.access.people": true, "channels.signal.main": false,
		"subagents.max_concurrent": false, "subagents.max_depth": true, "log.level": true, "log.format": false, "agents.main.prompt": true,
	} {
		if got, _ := settings.Reloads(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func TestConfigInto(t *testing.T) {
	t.Parallel()
	base := func(change func(*settings.Config)) settings.Config {
		c := settings.Config{
			StateDir:  "/var/lib/parley",
			Channels:  settings.ChannelsConfig{Telegram: map[string]settings.TelegramConfig{"a": {Token: settings.NewSecret("one")}, "b": {Token: settings.NewSecret("two")}}},
			Providers: map[string]settings.ProviderConfig{"anthropic": {APIKey: settings.NewSecret("key")}},
			Agents:    map[string]settings.AgentConfig{"main": {Model: "anthropic/m"}, "old": {Model: "anthropic/m"}},
		}
		if change != nil {
			change(&c)
		}
		return c.Defaults()
	}
	if ch := base(nil).Into(base(nil)); !ch.None() {
		t.Errorf("the same: %q, %q", ch.Changed, ch.NeedRestart)
	}
	ch := base(nil).Into(base(func(c *settings.Config) {
		c.StateDir, c.Log.Level = "/elsewhere", "debug"
		c.Bash.Network.Hosts = []string{"a.example.org"}
		c.Channels.Telegram["a"] = settings.TelegramConfig{Token: settings.NewSecret("three"), Common: settings.Common{Access: policy.Access{People: []string{"1"}}}}
		c.Channels.Telegram["c"] = settings.TelegramConfig{Token: settings.NewSecret("four")}
		delete(c.Channels.Telegram, "b")
		c.Providers["anthropic"] = settings.ProviderConfig{APIKey: settings.NewSecret("another")}
		delete(c.Agents, "old")
		c.Agents["new"] = settings.AgentConfig{Model: "anthropic/m"}
	}))
	if want := []string{"agents.new", "agents.old", "bash.network", "channels.telegram.a.access.people", "log.level", "providers.anthropic.api_key"}; !slices.Equal(ch.Changed, want) {
		t.Errorf("changed %q, want %q", ch.Changed, want)
	}
	if want := []string{"admin.socket", "channels.telegram.a.token", "channels.telegram.b", "channels.telegram.c", "state_dir"}; !slices.Equal(ch.NeedRestart, want) {
		t.Errorf("restart %q, want %q", ch.NeedRestart, want)
	}
	tg := ch.Config.Channels.Telegram
	_, hasNew := tg["c"]
	switch {
	case ch.Config.StateDir != "/var/lib/parley" || ch.Config.Log.Level != "debug" || ch.Config.Providers["anthropic"].APIKey.Reveal() != "another":
		t.Errorf("%+v", ch.Config)
	case tg["a"].Token.Reveal() != "one" || !slices.Equal(tg["a"].Access.People, []string{"1"}) || tg["b"].Token.Reveal() != "two" || hasNew:
		t.Errorf("accounts %+v", tg)
	case len(ch.Config.Bash.Network.Hosts) != 1:
		t.Errorf("bash %+v", ch.Config.Bash)
	case len(ch.Config.Agents) != 2 || ch.Config.Agents["new"].Model == "":
		t.Errorf("agents %+v", ch.Config.Agents)
	}
	if !ch.Below("providers.anthropic") || ch.Below("providers.anth") {
		t.Error("below")
	}
}

// What an adapter was opened with beside its connection is not exchanged.
func TestAdaptersBehind(t *testing.T) {
	t.Parallel()
	signal := func(people, groups []string) settings.Config {
		return settings.Config{Channels: settings.ChannelsConfig{Signal: map[string]settings.SignalConfig{"s": {
			Common: settings.Common{Access: policy.Access{People: people, Groups: groups}},
		}}}}
	}
	aci := "00000000-0000-4000-8000-000000000001"
	was := signal([]string{"+491", "+492"}, []string{"g"})
	for want, now := range map[string]settings.Config{
		"": signal([]string{"+491", aci}, nil), "channels.signal.s.access.people": signal([]string{"+493"}, []string{"g"}), "channels.signal.s.access.groups": signal(nil, []string{"h"}),
	} {
		if got := now.AdaptersBehind(was); want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
