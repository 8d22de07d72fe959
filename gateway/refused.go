package gateway

import (
	"context"
	"encoding/json"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/gateway/activity"
	"parley/gateway/intake"
	"parley/gateway/signals"
)

// tellRefused returns what tells those who listen to events that messages are refused because they
// are too many.
func tellRefused(o Options, log intake.Log) func(context.Context, intake.Refusal) {
	return func(ctx context.Context, r intake.Refusal) {
		e := activity.Beside(agent.QueueDropped, o.Now(), r.Session, r.Key, activity.Payload{Status: r.Limit, Count: 1})
		body, err := json.Marshal(e)
		if err == nil {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			err = log.Signal(ctx, broker.Signal{Topic: signals.EventTopic, Body: body})
		}
		if err != nil {
			o.Logger.Debug("signal not sent", "topic", signals.EventTopic, "error", err)
		}
	}
}
