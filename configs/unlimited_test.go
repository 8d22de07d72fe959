package configs_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/configs"
)

// One word says that there is no limit, for numbers, durations and budgets.
func TestUnlimited(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(`
state_dir: %s
channels: {telegram: {tg: {token: "4200000001:AAF-parley-simulator-token-0000000001", access: {everyone: true}, budget_per_day: unlimited}}}
providers: {sim: {kind: anthropic, api_key: x, prices: demo}}
agents: {main: {model: sim/demo, window: 100000, max_turn_cost: unlimited, max_turn_tokens: unlimited}}
limits: {person_per_minute: unlimited, person_burst: unlimited, group_per_minute: unlimited, queue: unlimited, bot_loop: unlimited}
attachments: {person_per_day_files: unlimited, person_per_day_bytes: unlimited}
workspaces: {max_bytes: unlimited, max_files: unlimited, keep: unlimited}
worker: {person_turns: unlimited, context_prep_timeout: unlimited}
circuit: {failures: unlimited}
budgets: {turn: unlimited, session: none, global_per_month: unlimited}
`, t.TempDir())
	c, err := configs.Parse("parley.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	if l, err := c.Budgets.Limits(); err != nil || l.Turn != 0 || l.Session != 0 || l.Month != 0 {
		t.Errorf("budgets: %+v, %v", l, err)
	}
	if c.Limits.Queue != -1 || c.Workspaces.Keep >= 0 || c.Worker.ContextPrepTimeout >= 0 || c.Agents["main"].MaxTurnTokens != 0 || c.Attachments.PersonBytes != -1 {
		t.Errorf("limits: %+v, %+v, %+v", c.Limits, c.Workspaces, c.Worker)
	}
	if err := compiled(t).Validate(asJSON(t, text)); err != nil {
		t.Errorf("the schema: %v", err)
	}
	_, err = configs.Parse("parley.yaml", []byte(strings.Replace(text, "person_turns: unlimited", "turns: unlimited", 1)), func(string) (string, bool) { return "", false })
	if err == nil || !strings.Contains(err.Error(), `worker.turns: "unlimited" cannot be said here; it needs a limit`) {
		t.Errorf("turns: %v", err)
	}
}
