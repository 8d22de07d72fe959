package gateway_test

import (
	"strings"
	"testing"

	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
)

// Whose only file cannot be taken is told why, in one line, and no model is asked; the
// conversation goes on.
func TestWhoSendsNothingUsableIsToldSoOnEveryNetwork(t *testing.T) {
	onEach(t, func(t *testing.T, n gatewaytest.Network) {
		for name, row := range map[string]struct {
			change func(*settings.Config)
			want   string
		}{
			"too large": {func(c *settings.Config) { c.Attachments.MaxBytes = 1000 }, "I could not use the file that you sent: I take at most 1000 bytes."},
			"off":       {func(c *settings.Config) { c.Attachments.Off = true }, "I could not use the file that you sent: I cannot read files here."},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				env := gatewaytest.Open(t, gatewaytest.Options{Networks: []gatewaytest.Network{n}, Brain: model.Echo, Change: row.change})
				gw := env.Start()
				place := env.Direct(n, 7001)
				place.Thread = sendFiles(t, env, n, "", attached{"film.mp4", "video/mp4", strings.Repeat("x", 1001)})
				gw.NextDelivered()
				if shown := place.Texts(); len(shown) != 1 || shown[0] != row.want || questions(env) != 0 {
					t.Errorf("the person was told %q, and a model was asked %d times", shown, questions(env))
				}
				if got := gw.AskAt(place, "good morning"); !strings.Contains(got, "good morning") {
					t.Errorf("the next question was answered with %q", got)
				}
				gw.Stop()
			})
		}
	})
}
