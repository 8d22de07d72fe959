package gateway

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"parley/broker"
	"parley/channels"
	"parley/gateway/settings"
)

// With tracing off nothing listens, and nothing stands between the parts: a turn takes no
// allocation more than without.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	es, none := &editions{setup: &setup{}}, traces{}
	if tracer, err := es.newTracer("g"); tracer != nil || err != nil {
		t.Errorf("there is a tracer without an endpoint: %v, %v", tracer, err)
	}
	if none.turns() != nil || none.deliveries() != nil {
		t.Error("turns or deliveries are observed")
	}
	if log, ok := none.queue("intake").(*broker.Broker); !ok {
		t.Errorf("something stands before the log: %T", log)
	}
	next := func(context.Context, channels.Message) error { return nil }
	if reflect.ValueOf(none.events(next)).Pointer() != reflect.ValueOf(next).Pointer() {
		t.Error("something stands before intake")
	}
}

// Of a header that says how the key behind it is used, the key alone is a secret, too.
func TestTheKeyInAHeaderOfTracesIsKnown(t *testing.T) {
	t.Parallel()
	var c settings.Config
	c.Tracing.Headers = map[string]settings.Secret{"Authorization": settings.NewSecret("Bearer canary-0001")}
	if known := secretsOf(c); !slices.Contains(known, "canary-0001") || !slices.Contains(known, "Bearer canary-0001") {
		t.Errorf("known are %q", known)
	}
}
