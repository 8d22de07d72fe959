package settings_test

import (
	"slices"
	"strings"
	"testing"

	"parley/gateway/budgets"
	"parley/gateway/policy"
	"parley/gateway/settings"
)

// What is allowed and may not be meant is named with its path, and what is usual is not.
func TestWarningsNameWhatMayNotBeMeant(t *testing.T) {
	t.Parallel()
	with := func(a policy.Access, change ...func(*settings.Config)) settings.Config {
		c := settings.Config{StateDir: "/s"}
		account := settings.TelegramConfig{}
		account.Access = a
		c.Channels.Telegram = map[string]settings.TelegramConfig{"tg": account}
		for _, f := range change {
			f(&c)
		}
		return c.Defaults()
	}
	known := policy.Access{People: []string{"1001"}}
	budget := func(b budgets.Config) func(*settings.Config) { return func(c *settings.Config) { c.Budgets = b } }
	perDay := func(text string) func(*settings.Config) {
		return func(c *settings.Config) {
			a := c.Channels.Telegram["tg"]
			a.BudgetPerDay = text
			c.Channels.Telegram["tg"] = a
		}
	}
	for name, c := range map[string]struct {
		config settings.Config
		want   []string // paths
	}{
		"usual":                  {with(known), nil},
		"nobody":                 {with(policy.Access{}), []string{"channels.telegram.tg.access"}},
		"by codes":               {with(policy.Access{Pairing: true}), nil},
		"everybody":              {with(policy.Access{Everyone: true}), nil},
		"everybody, unlimited":   {with(policy.Access{Everyone: true}, budget(budgets.WithoutAny())), []string{"channels.telegram.tg.access.everyone"}},
		"everybody, no total":    {with(policy.Access{Everyone: true}, budget(budgets.Config{GlobalPerDay: budgets.Unlimited})), []string{"channels.telegram.tg.access.everyone"}},
		"everybody, a month":     {with(policy.Access{Everyone: true}, budget(budgets.Config{GlobalPerDay: budgets.Unlimited, GlobalPerMonth: "60"})), nil},
		"everybody, an account":  {with(policy.Access{Everyone: true}, budget(budgets.WithoutAny()), perDay("3")), nil},
		"the example's ids":      {with(policy.Access{People: []string{"1001", "123456789"}, Groups: []string{"-1001234567890"}, Roles: policy.RoleLists{Owner: []string{"123456789"}}}), []string{"channels.telegram.tg.access.people[1]", "channels.telegram.tg.access.groups[0]", "channels.telegram.tg.access.roles.owner[0]"}},
		"a turn above a session": {with(known, budget(budgets.Config{Turn: "4", Session: "3"})), []string{"budgets.turn"}},
		"a day above a month":    {with(known, budget(budgets.Config{GlobalPerMonth: "20"})), []string{"budgets.global_per_day"}},
		"people above a month":   {with(known, budget(budgets.Config{GlobalPerDay: budgets.Unlimited, GlobalPerMonth: "4", Turn: "1", PersonPerDay: "5", GroupPerDay: "6"})), []string{"budgets.person_per_day", "budgets.group_per_day"}},
		"a turn above a month":   {with(known, budget(budgets.Config{GlobalPerDay: budgets.Unlimited, GlobalPerMonth: "4", Turn: "5", Session: budgets.Unlimited, PersonPerDay: budgets.Unlimited, GroupPerDay: budgets.Unlimited})), []string{"budgets.turn"}},
		"a day stands between":   {with(known, budget(budgets.Config{GlobalPerDay: "7", GlobalPerMonth: "6", Turn: "1", PersonPerDay: "7", GroupPerDay: "7"})), []string{"budgets.global_per_day"}},
		"equal":                  {with(known, budget(budgets.Config{PersonPerDay: "50"})), nil},
		"persons above all":      {with(known, budget(budgets.Config{PersonPerDay: "51", GroupPerDay: "52"})), []string{"budgets.person_per_day", "budgets.group_per_day"}},
		"an account above all":   {with(known, perDay("51")), []string{"channels.telegram.tg.budget_per_day"}},
	} {
		var got []string
		for _, w := range c.config.Warnings() {
			got = append(got, w.Path)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.config.Warnings(), c.want)
		}
	}
}

// Two listeners in one place are a mistake: the process would end when it opens the second.
func TestTwoListenersInOnePlaceAreAMistake(t *testing.T) {
	t.Parallel()
	for hook, want := range map[string]bool{
		"127.0.0.1:9464": true, "localhost:9464": true, "0.0.0.0:9464": true, ":9464": true, "[::]:9464": true,
		"127.0.0.1:9465": false, "10.0.0.1:9464": false,
	} {
		c := settings.Config{StateDir: "/s"}.Defaults()
		c.Webhooks.Listen = hook
		err := c.Validate()
		if got := err != nil && strings.Contains(err.Error(), "webhooks.listen: "+hook+" is where ops.listen"); got != want {
			t.Errorf("%s: %v", hook, err)
		}
	}
}
