package intake_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"parley/broker"
	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/policy"
)

// No event of a network is taken for one of a scheduled job, nor queued in a job's conversation, nor
// for a decision that was taken elsewhere;
// and a run that was given up is not given back as what a person said.
func TestNoEventOfANetworkIsOfAJob(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*channels.Message){
		"a decision": func(m *channels.Message) { m.Decision = &channels.Decision{Request: "r", Operator: true} },
		"a name":     func(m *channels.Message) { m.Job = "morning" },
		"a sender":   func(m *channels.Message) { m.Sender.ID = "job:morning" },
		"a thread":   func(m *channels.Message) { m.Address.Thread = "job:morning" },
	} {
		for _, text := range []string{"hi", "/stop", "/status"} {
			var w world
			m := group(ann, text)
			m.Mentioned = true
			set(&m)
			in := w.intake(policy.Access{Everyone: true})
			noError(t, in.Accept(t.Context(), m))
			if w.trace() != 0 || w.counts["ignored tg not_allowed"] != 1 {
				t.Errorf("%s, %s: left %d, counted %v", name, text, w.trace(), w.counts)
			}
			body, err := json.Marshal(m)
			noError(t, err)
			var refused *intake.RefusedError
			if err := in.Redeliver(t.Context(), broker.DeadLetter{ID: "x", Channel: m.Channel, Body: body}); !errors.As(err, &refused) || !strings.Contains(refused.Why, "parley cron run") && !strings.Contains(refused.Why, "parley approvals ls") {
				t.Errorf("%s: given again: %v", name, err)
			}
		}
	}
}
