package broker

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// An inspection says how each stream is kept and what is wrong with it, and makes and changes nothing.
func TestInspect(t *testing.T) {
	t.Parallel()
	host := open(t, func(o *Options) { o.Dir, o.Listen, o.MaxBytes = t.TempDir(), "127.0.0.1:0", 1<<20 })
	o := Options{URL: "nats://" + host.Addr().String(), MaxBytes: 1 << 20, Replicas: 1}
	names := func(js jetstream.JetStream) (all []string) {
		for s := range js.ListStreams(t.Context()).Info() {
			all = append(all, s.Config.Name)
		}
		slices.Sort(all)
		return all
	}
	before := names(host.js)
	i, err := Inspect(t.Context(), o)
	if err != nil || i.Version == "" || len(i.Streams) != 6 {
		t.Fatalf("%+v, %v", i, err)
	}
	for _, s := range i.Streams {
		if missing := s.Name == streamFiles; s.Missing != missing || !missing && (s.Replicas != 1 || s.Wanted != 1 || s.Problem != "" || s.MaxBytes == 0) {
			t.Errorf("%+v", s)
		}
	}
	o.Replicas = 3
	i, err = Inspect(t.Context(), o)
	if err != nil || i.Streams[0].Wanted != 3 || i.Streams[0].Replicas != 1 {
		t.Errorf("with three servers wanted: %+v, %v", i, err)
	}
	if err := host.js.DeleteStream(t.Context(), streamDead); err != nil {
		t.Fatal(err)
	}
	if _, err := host.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: streamDead, Subjects: []string{subjectsDead}, Storage: jetstream.MemoryStorage}); err != nil {
		t.Fatal(err)
	}
	i, err = Inspect(t.Context(), o)
	if err != nil || !strings.Contains(i.Streams[1].Problem, "kept in memory") {
		t.Errorf("one in memory: %+v, %v", i.Streams[1], err)
	}
	if after := names(host.js); !slices.Equal(before, after) {
		t.Errorf("streams before %q, afterwards %q", before, after)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed at once
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(t.Context(), Options{URL: "nats://u:hunter2@" + l.Addr().String()}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("where nobody is: %v", err)
	}
}
