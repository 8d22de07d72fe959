package settings

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	"parley/costs"
	"parley/gateway/budgets"
	"parley/sessionkeys"
)

func TestNetworks(t *testing.T) {
	t.Parallel()
	c := Config{Channels: ChannelsConfig{
		Telegram: map[string]TelegramConfig{"a": {}}, Slack: map[string]SlackConfig{"a": {}}, Signal: map[string]SignalConfig{"a": {}},
	}}
	field := map[string]reflect.StructField{}
	for f := range reflect.TypeFor[ChannelsConfig]().Fields() {
		if key := f.Tag.Get("yaml"); key != "" {
			field[key] = f
		}
	}
	if len(field) != len(networks()) {
		t.Fatalf("the configuration has %d networks, the table %d", len(field), len(networks()))
	}
	for _, n := range networks() {
		t.Run(n.Name+" stands where the configuration and the keys name it", func(t *testing.T) {
			t.Parallel()
			all := n.accounts(c)
			if _, ok := field[n.Name]; !ok || len(all) != 1 || all[0].Path != "channels."+n.Name+".a" || all[0].Name != "a" {
				t.Fatalf("accounts %+v", all)
			}
			key, err := sessionkeys.For("main", sessionkeys.Address{Channel: n.Name, Account: "1", Kind: sessionkeys.DM, Peer: "1"})
			if err != nil {
				t.Error(err)
			}
			if got, want := c.Channels.Why(key, &costs.BudgetError{Scope: budgets.Session, Limit: 2, Need: 1}), cmp.Or(n.CommandSign, "/")+"new starts a new one"; !strings.Contains(got, want) {
				t.Errorf("a person is told %q, without %q", got, want)
			}
			if bodies := Render(n.Name, "a **b**"); len(bodies) != 1 {
				t.Errorf("it renders %+v", bodies)
			}
		})
	}
}
