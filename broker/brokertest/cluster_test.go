package brokertest_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"parley/broker"
	"parley/broker/brokertest"
)

func TestAClusterKeepsWhatItConfirmedWhileAnyOneServerIsKilled(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 3)
	b, err := broker.Open(t.Context(), broker.Options{URL: nodes.URL(), Replicas: 3, Timeout: brokertest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	token := strings.Repeat("0a", 16)
	put := func(id string) uint64 {
		t.Helper()
		seq, err := b.Publish(t.Context(), broker.Envelope{ID: id, Token: token, Body: json.RawMessage("1")})
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	first := put("first")
	leader := nodes.Leader("INBOUND")
	nodes.Kill(leader)
	second := put("second")
	if now := nodes.Leader("INBOUND"); now == leader {
		t.Errorf("server %d leads, and was killed", now)
	}
	nodes.Restart(leader)
	nodes.AwaitHealthy()
	nodes.Stop((leader + 1) % nodes.Len())
	third := put("third")
	for i, want := range []uint64{first, second, third} {
		if e, err := b.NextAtLeast(t.Context(), token, want-1, want); err != nil || e.Seq != want {
			t.Errorf("message %d: place %d, %v", i, e.Seq, err)
		}
	}
}

func TestOneServerAloneComesBackWithItsFiles(t *testing.T) {
	t.Parallel()
	nodes := brokertest.Cluster(t, 1)
	b, err := broker.Open(t.Context(), broker.Options{URL: nodes.URL(), Timeout: brokertest.Patience})
	if err != nil {
		t.Fatal(err)
	}
	generation, _, err := b.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	nodes.Kill(0)
	nodes.Restart(0)
	if again, _, err := b.Generation(t.Context()); err != nil || again != generation {
		t.Errorf("generation %s, then %s, %v", generation, again, err)
	}
	if leader := nodes.Leader("INBOUND"); leader != 0 {
		t.Errorf("the leader is %d", leader)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
