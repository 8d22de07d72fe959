package gateway

import (
	"reflect"
	"testing"

	"parley/sessionkeys"
)

func TestNetworks(t *testing.T) {
	t.Parallel()
	c := Config{Channels: ChannelsConfig{
		Telegram: map[string]TelegramConfig{"a": {}}, Slack: map[string]SlackConfig{"a": {}}, Signal: map[string]SignalConfig{"a": {}},
	}}
	field := map[string]reflect.StructField{}
	for f := range reflect.TypeFor[ChannelsConfig]().Fields() {
		field[f.Tag.Get("yaml")] = f
	}
	if len(field) != len(networks()) {
		t.Fatalf("the configuration has %d networks, the table %d", len(field), len(networks()))
	}
	for _, n := range networks() {
		t.Run(n.name+" stands where the configuration and the keys name it", func(t *testing.T) {
			t.Parallel()
			all := n.accounts(c)
			if _, ok := field[n.name]; !ok || len(all) != 1 || all[0].path != "channels."+n.name+".a" || all[0].name != "a" {
				t.Fatalf("accounts %+v", all)
			}
			if err := sessionkeys.CheckChannel(n.name); err != nil {
				t.Error(err)
			}
			if bodies := Render(n.name, "a **b**"); len(bodies) != 1 {
				t.Errorf("it renders %+v", bodies)
			}
		})
	}
}
