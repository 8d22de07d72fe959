package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Inspection is how the servers of a message log were found. Nothing was made or changed for it.
type Inspection struct {
	Version string // of the server that answered
	// OldSync: this version has known faults in syncing its files.
	OldSync bool
	Streams []StreamState // those that a log has, in their order
}

// StreamState is one stream of a message log.
type StreamState struct {
	Name     string
	Missing  bool // the first start makes it
	Replicas int  // how many servers keep each message
	Wanted   int
	Behind   []string // servers that should keep it and are away or behind
	Leader   string   // the server that answers for it; empty: none, or it is no cluster
	Messages uint64
	Bytes    uint64
	MaxBytes int64  // 0: no limit
	Problem  string // why it cannot be used as it is
}

// Inspect looks at the servers at o.URL and what they keep, without making or changing anything.
func Inspect(ctx context.Context, o Options) (i Inspection, err error) {
	if err := o.Validate(); err != nil {
		return i, fmt.Errorf("broker: %w", err)
	}
	if o.URL == "" {
		return i, errors.New("broker: without a url the server is in the process that uses it")
	}
	b := newBroker(o.withDefaults())
	defer b.abandon()
	if b.nc, err = b.dial(); err != nil {
		return i, err
	}
	if b.js, err = jetstream.New(b.nc, jetstream.WithDefaultTimeout(b.o.Timeout)); err != nil {
		return i, fmt.Errorf("use JetStream: %w", err)
	}
	if err := checkServer(ctx, b.nc, b.js); err != nil {
		return i, err
	}
	i.Version = b.nc.ConnectedServerVersion()
	i.OldSync = !syncsSafely(i.Version)
	for _, want := range append(b.o.streamConfigs(), b.o.filesConfig()) {
		s, err := inspectStream(ctx, b.js, want)
		if err != nil {
			return i, err
		}
		i.Streams = append(i.Streams, s)
	}
	return i, nil
}

func inspectStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (StreamState, error) {
	s := StreamState{Name: want.Name, Wanted: max(want.Replicas, 1)}
	found, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s.Missing = true
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("look for stream %s: %w", want.Name, err)
	}
	info := found.CachedInfo()
	s.Replicas, s.Messages, s.Bytes, s.MaxBytes = max(info.Config.Replicas, 1), info.State.Msgs, info.State.Bytes, max(info.Config.MaxBytes, 0)
	if err := checkUsable(info.Config, want); err != nil {
		s.Problem = err.Error()
	}
	if c := info.Cluster; c != nil {
		s.Leader = c.Leader
		for _, r := range c.Replicas {
			if r.Offline || !r.Current {
				s.Behind = append(s.Behind, strings.TrimSpace(r.Name))
			}
		}
	}
	return s, nil
}
