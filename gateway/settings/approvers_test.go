package settings_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/gateway/policy"
	"parley/gateway/settings"
)

// A higher budget may be asked for wherever the configuration names somebody who may decide, in whichever
// list they stand.
func TestWhoMayBeAskedForAHigherBudget(t *testing.T) {
	t.Parallel()
	people := []string{"1001"}
	for name, c := range map[string]struct {
		access policy.Access
		asked  bool
	}{
		"an approver":   {policy.Access{People: people, Approvers: people}, true},
		"an admin":      {policy.Access{People: people, Roles: policy.RoleLists{Admin: people}}, true},
		"an owner":      {policy.Access{People: people, Roles: policy.RoleLists{Owner: people}}, true},
		"a guest alone": {policy.Access{People: people, Roles: policy.RoleLists{Guest: people}}, false},
		"users alone":   {policy.Access{People: people}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := settings.TelegramConfig{}
			account.Access = c.access
			cfg := settings.Config{StateDir: "/s", Channels: settings.ChannelsConfig{Telegram: map[string]settings.TelegramConfig{"tg": account}}}
			cfg.Budgets.Pause.RaiseBy = map[string]string{"session": "5"}
			said := fmt.Sprint(cfg.Defaults().Validate())
			if refused := strings.Contains(said, "nobody could be asked"); refused == c.asked {
				t.Errorf("refused: %v: %s", refused, said)
			}
		})
	}
}
