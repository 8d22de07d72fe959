package bench

import (
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"parley/broker/brokertest"
	"parley/gateway/settings"
	"parley/sessions/redis/redistest"
)

// deployment is on what parley runs.
type deployment struct {
	name string
	// One process that does everything on SQLite and a message log of its own, if
	// there are neither workers nor peers. Else one that receives and sends, and
	// so many that run turns, or so many peers that do both.
	workers, peers int
	nodes          int    // NATS servers, which all keep every message
	fsync          string // of Redis' append-only file; empty: everysec
}

var (
	embedded = deployment{name: "embedded"}
	workers2 = deployment{name: "workers=2", workers: 2, nodes: 3}
	workers4 = deployment{name: "workers=4", workers: 4, nodes: 3}
	peers2   = deployment{name: "peers=2", peers: 2, nodes: 3}
)

// fleet is a deployment that runs.
type fleet struct {
	b     *testing.B
	w     *world
	nats  *brokertest.Nodes // nil: none
	redis *redistest.Server // nil: none
	plans []plan
	procs []*child // by plan; the present life
}

// open starts everything; it ends with the benchmark at the latest. change may be
// nil.
func (d deployment) open(b *testing.B, w *world, change func(*plan)) *fleet {
	b.Helper()
	f := &fleet{b: b, w: w}
	add := func(name string, roles ...string) {
		f.plans = append(f.plans, plan{Name: name, Roles: roles})
	}
	for i := range d.workers {
		add("worker-"+strconv.Itoa(i+1), settings.RoleWorker)
	}
	for i := range d.peers {
		add("peer-" + strconv.Itoa(i+1))
	}
	switch {
	case d.workers > 0:
		add("front", settings.RoleGateway)
	case d.peers == 0:
		add("alone")
	}
	if d.nodes > 0 {
		f.nats = brokertest.Cluster(b, d.nodes)
		o := redistest.Options{}
		if d.fsync != "" {
			o.Args = []string{"--appendfsync", d.fsync}
		}
		f.redis = redistest.Start(b, o)
	}
	dir := b.TempDir()
	for i := range f.plans {
		p := &f.plans[i]
		p.System, p.Dir = "parley", filepath.Join(dir, p.Name)
		if f.nats != nil {
			p.Log, p.Replicas, p.Redis = f.nats.URL(), d.nodes, f.redis.URL
		}
		if change != nil {
			change(p)
		}
		f.procs = append(f.procs, launch(b, w, *p))
	}
	return f
}

// again starts the next life of process i, which must have ended.
func (f *fleet) again(i int) { f.procs[i] = launch(f.b, f.w, f.plans[i]) }

// term asks process i to end; the channel closes when it has, in order.
func (f *fleet) term(i int) <-chan struct{} {
	c, gone := f.procs[i], make(chan struct{})
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	go func() {
		defer close(gone)
		c.stop()
	}()
	return gone
}

// named is the number of a process.
func (f *fleet) named(name string) int {
	for i, p := range f.plans {
		if p.Name == name {
			return i
		}
	}
	f.b.Fatalf("there is no process %q", name)
	return 0
}

// usage is of all processes of parley together.
func (f *fleet) usage() usage {
	f.b.Helper()
	sum := usage{ok: true}
	for _, c := range f.procs {
		u := c.usage()
		sum.cpu, sum.ok = sum.cpu+u.cpu, sum.ok && u.ok
	}
	sum.at = time.Now()
	return sum
}

// memory is of all processes of parley together; their peaks need not fall
// together.
func (f *fleet) memory() (now, peak int64, ok bool) {
	f.b.Helper()
	ok = true
	for _, c := range f.procs {
		n, p, k := c.memory()
		now, peak, ok = now+n, peak+p, ok && k
	}
	return now, peak, ok
}

// servers is what the NATS servers and Redis have spent.
func (f *fleet) servers() (nats, redis time.Duration) {
	f.b.Helper()
	if f.nats == nil {
		return 0, 0
	}
	for _, pid := range f.nats.PIDs() {
		t, _ := cpuTime(f.b, pid)
		nats += t
	}
	redis, _ = cpuTime(f.b, f.redis.PID())
	return nats, redis
}
