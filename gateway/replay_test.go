package gateway_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// recordingOf is the recording of the conversation whose id begins with id.
func recordingOf(t *testing.T, gw *gatewaytest.Running, id string) []byte {
	t.Helper()
	var b bytes.Buffer
	noError(t, admin.NewClient(gw.AdminSocket()).Export(t.Context(), id, &b))
	return b.Bytes()
}

// I11: a canary in every place that a secret can get to is in no line of an
// export, and the rest is there to the last row.
// (requirements B12)
func TestAnExportHoldsAllOfATreeAndNoSecrets(t *testing.T) {
	t.Parallel()
	canary := "sk-canary-\"<&>-0123456789"
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: model.Demo(0),
		Change: func(c *settings.Config) {
			p := c.Providers["sim"]
			p.APIKey = settings.NewSecret(canary)
			c.Providers["sim"] = p
			a := c.Agents["main"]
			a.Prompt = "The key is " + canary + "."
			c.Agents["main"] = a
		},
	})
	gw := env.Start()
	gw.Ask(gatewaytest.Ann, "research "+canary)
	env.Say(telegram.PrivateChat(gatewaytest.Ann), gatewaytest.Ann, gatewaytest.Token)
	gw.NextDelivered()
	list, err := admin.NewClient(gw.AdminSocket()).Sessions(t.Context(), admin.SessionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	whole := list.Sessions[0]
	file := recordingOf(t, gw, string(whole.ID)[:20])
	quoted, err := json.Marshal(canary)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{canary, strings.Trim(string(quoted), `"`), `sk-canary`, gatewaytest.Token} {
		if i := bytes.Index(file, []byte(secret)); i >= 0 {
			t.Errorf("the secret %s is in the export: …%s…", secret, file[max(0, i-200):min(len(file), i+50)])
		}
	}
	r, err := recording.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	usage, err := admin.NewClient(gw.AdminSocket()).Usage(t.Context(), admin.UsageQuery{By: "session"})
	if err != nil {
		t.Fatal(err)
	}
	var calls int64
	for _, g := range usage.Groups {
		calls += g.Calls
	}
	if len(r.Sessions) != 4 || int64(len(r.Costs)) != calls || len(r.Requests) != len(r.Costs) || len(r.Deliveries) != 2 || len(r.Envelopes) != 2 {
		t.Errorf("%d sessions, %d costs of %d, %d requests, %d deliveries, %d envelopes", len(r.Sessions), len(r.Costs), calls, len(r.Requests), len(r.Deliveries), len(r.Envelopes))
	}
	sum := int64(0)
	for _, e := range r.Costs {
		sum += int64(e.Amount)
	}
	if sum != int64(whole.Subtree) || sum != int64(r.Sessions[0].Subtree) {
		t.Errorf("the rows add up to %d, the session cost %d and says %d", sum, int64(whole.Subtree), int64(r.Sessions[0].Subtree))
	}
	// A child's id exports its whole tree.
	if again := recordingOf(t, gw, string(r.Sessions[1].ID)); bytes.Count(again, []byte{'\n'}) != bytes.Count(file, []byte{'\n'}) {
		t.Error("the export by a sub-agent's id is another one")
	}
}
