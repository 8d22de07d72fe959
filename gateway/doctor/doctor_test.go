package doctor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/channels/pigeontest"
	"parley/disks"
	"parley/findings"
	"parley/gateway/doctor"
	"parley/llm"
	"parley/sessions/redis"
	"parley/tools/mcp"
)

// options are of a gateway with which all is well.
func options(t *testing.T) doctor.Options {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return doctor.Options{
		StateDir: dir, UID: os.Geteuid(), Now: time.Now,
		Space: func(string) (disks.Space, error) { return disks.Space{Free: 1 << 40, Size: 1 << 41}, nil },
	}
}

// found returns the ids of what is found, but for what is fine, unless it is all.
func found(t *testing.T, o doctor.Options, all bool) string {
	t.Helper()
	var ids []string
	for _, f := range doctor.Examine(t.Context(), o) {
		if len(ids) > 0 && ids[len(ids)-1] == f.ID {
			ids[len(ids)-1] += "*" // once more
		} else if all || f.Severity != findings.Fine {
			ids = append(ids, f.ID)
		}
		if f.Subject == "" || f.Detail == "" || strings.Contains(f.Detail, "\n") {
			t.Errorf("%s says of %q: %q", f.ID, f.Subject, f.Detail)
		}
	}
	return strings.Join(ids, " ")
}

func TestExamineFindsNothingWrong(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Running = func(context.Context) (*doctor.Running, error) { return &doctor.Running{PID: 1}, nil }
	o.Sandbox = func(context.Context) (doctor.Sandbox, error) { return doctor.Sandbox{Level: "A", Usable: true}, nil }
	o.Channels = []channels.Channel{new(pigeontest.Channel)} // which cannot be examined
	o.Models = []doctor.Model{{Name: "p/m", Pinger: pong{llm.Pong{Listed: true, Clock: time.Now()}, nil}, Price: "list"}}
	o.Traces = &doctor.Traces{Endpoint: "http://127.0.0.1:4318", Examine: func(context.Context) error { return nil }}
	o.Servers = []doctor.MCPServer{{Name: "m", Where: "https://m.example", Examine: func(context.Context) (mcp.Status, error) { return mcp.Status{State: mcp.Up}, nil }}}
	want := "state.folder gateway.running disk.space exposure.local log.embedded store.sqlite sandbox.full traces.taken model.listed mcp.up clock.right"
	if got := found(t, o, true); got != want {
		t.Errorf("found %s\nwant  %s", got, want)
	}
}

// A folder of somebody else's is not looked into, whatever else there is.
func TestExamineLeavesAnothersFolderAlone(t *testing.T) {
	t.Parallel()
	o := options(t)
	if err := os.WriteFile(filepath.Join(o.StateDir, "parley.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o.UID++
	o.Running = func(context.Context) (*doctor.Running, error) {
		t.Error("the gateway there was asked")
		return nil, nil // no gateway
	}
	if got := found(t, o, true); got != "state.owner" {
		t.Errorf("found %s", got)
	}
}

func TestExamineState(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(t *testing.T, o *doctor.Options)
		want string
	}{
		"that others may read": {func(t *testing.T, o *doctor.Options) {
			t.Helper()
			if err := os.Chmod(o.StateDir, 0o750); err != nil { // that is what is found
				t.Fatal(err)
			}
		}, "state.shared"},
		"that is not there": {func(_ *testing.T, o *doctor.Options) { o.StateDir += "/none" }, ""},
		"that is a file": {func(t *testing.T, o *doctor.Options) {
			t.Helper()
			o.StateDir += "/file"
			if err := os.WriteFile(o.StateDir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "state.unreadable"},
		"on a full disk": {func(_ *testing.T, o *doctor.Options) {
			o.Space = func(string) (disks.Space, error) { return disks.Space{Free: 1, Size: 1 << 40}, nil }
		}, "disk.low"},
		"on a disk that says nothing": {func(_ *testing.T, o *doctor.Options) {
			o.Space = func(string) (disks.Space, error) { return disks.Space{}, errors.New("no") }
		}, "disk.unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			c.do(t, &o)
			if got := found(t, o, false); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}

// pong is what a provider answers.
type pong struct {
	llm.Pong

	err error
}

func (p pong) Ping(context.Context) (llm.Pong, error) { return p.Pong, p.err }

func TestExamineWhatIsWrong(t *testing.T) {
	t.Parallel()
	model := func(p pong) func(*doctor.Options) {
		return func(o *doctor.Options) { o.Models = []doctor.Model{{Name: "p/m-1", Pinger: p, Price: "list"}} }
	}
	failed := func(kind llm.Kind, status int, text string) func(*doctor.Options) {
		return model(pong{err: &llm.Error{Kind: kind, Status: status, Message: text}})
	}
	onRedis := func(i redis.Inspection, err error) func(*doctor.Options) {
		return func(o *doctor.Options) {
			o.Redis = func(context.Context) (redis.Inspection, error) { return i, err }
		}
	}
	onLog := func(i broker.Inspection, err error) func(*doctor.Options) {
		return func(o *doctor.Options) {
			o.Log = func(context.Context) (broker.Inspection, error) { return i, err }
		}
	}
	inSandbox := func(s doctor.Sandbox, err error) func(*doctor.Options) {
		return func(o *doctor.Options) {
			o.Sandbox = func(context.Context) (doctor.Sandbox, error) { return s, err }
		}
	}
	stream := broker.StreamState{Name: "S", Replicas: 3, Wanted: 3}
	good := redis.Inspection{AOF: true, Fsync: "always", Eviction: "noeviction"}
	with := func(change func(*redis.Inspection)) redis.Inspection {
		i := good
		change(&i)
		return i
	}
	for name, c := range map[string]struct {
		do   func(*doctor.Options)
		want string
	}{
		"a gateway with a problem": {func(o *doctor.Options) {
			o.Running = func(context.Context) (*doctor.Running, error) {
				return &doctor.Running{Problems: []string{"a", "b"}}, nil
			}
		}, "gateway.problem*"},
		"a server that takes no traces": {func(o *doctor.Options) {
			o.Traces = &doctor.Traces{Endpoint: "http://127.0.0.1:4318", Examine: func(context.Context) error { return errors.New("401") }}
		}, "traces.refused"},
		"a gateway that does not answer": {func(o *doctor.Options) {
			o.Running = func(context.Context) (*doctor.Running, error) { return nil, errors.New("stuck") }
		}, "gateway.unreachable"},
		"a warning": {func(o *doctor.Options) { o.Warnings = []string{"ops: x", "y"} }, "config.warning*"},
		"metrics for all": {func(o *doctor.Options) {
			o.Exposures = []doctor.Exposure{{Kind: doctor.Metrics}, {Kind: doctor.Metrics, Host: "::1"}, {Kind: doctor.Metrics, Host: "localhost"}}
		}, "exposure.metrics"},
		"servers without passwords": {func(o *doctor.Options) {
			o.Exposures = []doctor.Exposure{
				{Kind: doctor.NATS, Host: "10.0.0.1"},
				{Kind: doctor.Redis, Host: "redis"},
				{Kind: doctor.Redis, Host: "redis", Guarded: true},
			}
		}, "exposure.nats exposure.redis"},

		"no walls":            {inSandbox(doctor.Sandbox{Level: "D"}, nil), "sandbox.none"},
		"no walls, as wanted": {inSandbox(doctor.Sandbox{Level: "D", Usable: true}, nil), "sandbox.host"},
		"fewer walls":         {inSandbox(doctor.Sandbox{Level: "B", Usable: true, Reasons: []string{"x"}}, nil), "sandbox.weaker"},
		"walls of another":    {inSandbox(doctor.Sandbox{Level: "A", Backend: "bubblewrap", Usable: true, Reasons: []string{"x"}}, nil), ""},
		"hosts for nobody":    {inSandbox(doctor.Sandbox{Level: "B", Usable: true, Unconfined: []string{"bash"}}, nil), "sandbox.weaker sandbox.hosts"},
		"no shell":            {inSandbox(doctor.Sandbox{Level: "A", Usable: true, Missing: []string{"bash"}}, nil), "sandbox.missing"},
		"walls that fail":     {inSandbox(doctor.Sandbox{}, errors.New("x")), "sandbox.none"},
		"walls that only the gateway lacks": {func(o *doctor.Options) {
			inSandbox(doctor.Sandbox{Level: "A", Usable: true}, nil)(o)
			o.Running = func(context.Context) (*doctor.Running, error) {
				return &doctor.Running{Sandbox: &doctor.Sandbox{Level: "C", Usable: true}}, nil
			}
		}, "sandbox.weaker"},

		"a log that is gone":   {onLog(broker.Inspection{}, errors.New("no")), "log.unreachable"},
		"a log in order":       {onLog(broker.Inspection{Streams: []broker.StreamState{stream}}, nil), ""},
		"a log that is new":    {onLog(broker.Inspection{Streams: []broker.StreamState{{Missing: true}}}, nil), ""},
		"an old server":        {onLog(broker.Inspection{Version: "2.12.0", OldSync: true, Streams: []broker.StreamState{stream}}, nil), "log.version"},
		"a stream in trouble":  {onLog(broker.Inspection{Streams: []broker.StreamState{{Name: "S", Replicas: 1, Wanted: 3, Behind: []string{"n2"}, Problem: "x"}}}, nil), "log.unusable log.fewer log.behind"},
		"Redis that is gone":   {onRedis(good, errors.New("no")), "redis.unreachable"},
		"Redis in order":       {onRedis(good, nil), ""},
		"Redis that evicts":    {onRedis(with(func(i *redis.Inspection) { i.Eviction, i.Unfit = "allkeys-lru", "x" }), nil), "redis.eviction"},
		"Redis without a file": {onRedis(with(func(i *redis.Inspection) { i.AOF, i.Unfit = false, "x" }), nil), "redis.persistence"},
		"Redis as a replica":   {onRedis(with(func(i *redis.Inspection) { i.Unfit = "x" }), nil), "redis.unfit"},
		"Redis without sync":   {onRedis(with(func(i *redis.Inspection) { i.Fsync = "no" }), nil), "redis.sync"},
		"Redis that is mute":   {onRedis(with(func(i *redis.Inspection) { i.Fsync = "" }), nil), "redis.sync_unknown"},
		"Redis that is full":   {onRedis(with(func(i *redis.Inspection) { i.MaxMemory, i.Used = 1000, 901 }), nil), "redis.memory"},

		"a model that is not listed":  {model(pong{}), "model.missing"},
		"a model that is not there":   {failed(llm.InvalidRequest, 404, "model: m-1"), "model.missing"},
		"a server without a list":     {failed(llm.InvalidRequest, 404, "404 page not found"), "model.unlisted"},
		"one that repeats the path":   {failed(llm.InvalidRequest, 404, "Cannot GET /v1/models/m-1"), "model.unlisted"},
		"a key that is refused":       {failed(llm.Auth, 401, ""), "model.key"},
		"a provider that is busy":     {failed(llm.Overloaded, 529, ""), "model.busy"},
		"a provider that is gone":     {failed(llm.Network, 0, "no route"), "model.unreachable"},
		"a model without a price":     {func(o *doctor.Options) { o.Models = []doctor.Model{{Name: "p/m"}} }, "model.unpriced"},
		"a model that is not allowed": {func(o *doctor.Options) { o.Models = []doctor.Model{{Name: "p/m", Refused: true}} }, "model.refused"},
		"old prices":                  {func(o *doctor.Options) { o.PricesOf = time.Now().Add(-181 * 24 * time.Hour) }, "prices.old"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			c.do(&o)
			if got := found(t, o, false); got != c.want {
				t.Errorf("found %s, want %s", got, c.want)
			}
		})
	}
}

// Our clock is wrong when more servers say so than not; what an answer took is not held against it.
func TestExamineTheClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		clocks []time.Duration // of theirs against ours
		took   time.Duration
		want   string
	}{
		"all agree":                {[]time.Duration{0, time.Second, -4 * time.Second}, 0, "clock.right"},
		"ours is late":             {[]time.Duration{time.Minute, time.Minute}, 0, "clock.offset"},
		"ours is early":            {[]time.Duration{-time.Minute}, 0, "clock.offset"},
		"one of theirs is":         {[]time.Duration{time.Hour, 0, 0}, 0, "clock.right"},
		"a slow answer":            {[]time.Duration{-20 * time.Second}, 20 * time.Second, "clock.right"},
		"a slow answer, and wrong": {[]time.Duration{-60 * time.Second}, 20 * time.Second, "clock.offset"},
		"nobody says":              {nil, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			synctest.Test(t, func(t *testing.T) {
				for _, d := range c.clocks {
					o.Models = append(o.Models, doctor.Model{Name: "p/m", Price: "x", Pinger: pong{llm.Pong{Listed: true, Clock: time.Now().Add(d), Took: c.took}, nil}})
				}
				got := ""
				for _, f := range doctor.Examine(t.Context(), o) {
					if strings.HasPrefix(f.ID, "clock.") {
						got = f.ID
					}
				}
				if got != c.want {
					t.Errorf("found %s, want %s", got, c.want)
				}
			})
		})
	}
}
