package gateway_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// requirements AC01, AC03, AC04, M06, M07, N01, N04: how full the window is stands in /status
// and in the log, a warning comes once in a conversation that fills it, and what a summary
// freed is said in /status, in the log and in the metrics, which are 0 before.
func TestHowFullTheWindowIsIsSaidEverywhere(t *testing.T) {
	t.Parallel()
	log := &lines{}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			if strings.Contains(p.LastText(), "summary") {
				return model.Reply(model.Say("They said long words."))
			}
			return model.Reply(model.Say(strings.Repeat("long words ", 150)))
		},
		Change: func(c *settings.Config) {
			a := c.Agents["main"]
			a.Window, a.MaxTokens = 20_000, 500
			c.Agents["main"] = a
		},
	})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "hello")
	if got := gw.Ask(gatewaytest.Ann, "/status"); !regexp.MustCompile(`\nContext: 🟢 about \dk of 20k tokens \(\d+ %\)$`).MatchString(got) {
		t.Errorf("/status says %q", got)
	}
	gw.AwaitMetrics("parley_compaction_last_tokens_before 0", "parley_compaction_last_tokens_after 0", "parley_compaction_last_timestamp_seconds 0")
	if !regexp.MustCompile(`level=DEBUG msg="context measured" .*tokens=\d+ percent=\d+`).MatchString(log.String()) {
		t.Error("the log does not say how full the window is")
	}
	for _, text := range []string{strings.Repeat("and on ", 4000), strings.Repeat("and on ", 4000), "on", "and on"} {
		gw.Ask(gatewaytest.Ann, text)
	}
	if n := strings.Count(log.String(), `level=WARN msg="context window fills"`); n != 1 {
		t.Errorf("%d warnings of a window that fills, in one conversation", n)
	}
	if got := gw.Ask(gatewaytest.Ann, "/compact"); !strings.HasPrefix(got, "I have summarised") {
		t.Fatalf("/compact is answered with %q", got)
	}
	freed := regexp.MustCompile(`level=INFO msg="conversation summarised" .*trigger=manual tokens_before=(\d+) tokens_after=(\d+) saved=(\d+)`).FindStringSubmatch(log.String())
	if freed == nil {
		t.Fatal("the log does not say what the summary freed")
	}
	gw.AwaitMetrics(`parley_compactions_total{kind="summary",outcome="ok",trigger="manual"} 1`, `parley_compactions_total{kind="summary",outcome="error",trigger="manual"} 0`,
		fmt.Sprint("parley_compaction_last_tokens_before ", freed[1]), fmt.Sprint("parley_compaction_last_tokens_after ", freed[2]))
	if strings.Contains(gw.Scrape(), "\nparley_compaction_last_timestamp_seconds 0\n") {
		t.Error("the metrics do not say when the last summary was")
	}
	if got := gw.Ask(gatewaytest.Ann, "/status"); !regexp.MustCompile(`\nContext: 🟢 about .* tokens \(\d+ %\); last summary 0s ago: \d+k to \d+k?$`).MatchString(got) {
		t.Errorf("/status says %q", got)
	}
}
