package main

// goal is a figure that is to become small, or great.
type goal struct {
	what             string
	first, must, aim float64
	great            bool
	measure
}

// measure is what one benchmark reported in some units, added up; divided by what another one did,
// if there is one.
type measure struct {
	of, by string
	units  []string
}

// now returns the figure; false: a benchmark of it was not run.
func (m measure) now(f figures) (float64, bool) {
	n, ok := f.sum(m.of, m.units)
	if m.by == "" || !ok {
		return n, ok
	}
	d, ok := f.sum(m.by, m.units)
	return n / d, ok && d > 0
}

// verdict says how a figure stands to the goal.
func (g goal) verdict(now float64) string {
	reaches := func(limit float64) bool {
		if g.great {
			return now >= limit
		}
		return now <= limit
	}
	switch {
	case reaches(g.aim):
		return "aim reached"
	case reaches(g.must):
		return "reached"
	}
	return "missed"
}

const cpu = "cpu-s/1000turns" // which are milliseconds a turn

// goals are those of issue 15.
var goals = []goal{
	{"one chat, p50, times durable", 4.9, 2, 1.5, false, ratio("OneChat/parley", "OneChat/durable", "p50-ms")},
	{"one chat, processor, ms a turn", 4.4, 1.5, 1, false, sum("OneChat/parley", cpu)},
	{"64 chats, processor, times durable", 10.5, 5, 3, false, ratio("ManyChats/parley", "ManyChats/durable", cpu)},
	{"64 chats, turns a second, share of durable", 0.14, 0.3, 0.4, true, ratio("ManyChats/parley", "ManyChats/durable", "turns/s")},
	{"64 chats after 25 turns over Chat Completions, processor, times durable", 16, 6, 4, false, ratio("ManyChatsHistory/parley", "ManyChatsHistory/durable", cpu)},
	{"two workers on NATS and Redis, processor of all, ms a turn", 6.7, 3.5, 2.5, false, sum("Deployments/ManyChats/workers=2", cpu, "nats-"+cpu, "redis-"+cpu)},
	{"burst of 5,000, p95, ms", 5700, 3000, 2000, false, sum("Burst/people=5000/parley", "p95-ms")},
	{"burst of 5,000, peak, MB", 636, 320, 250, false, sum("Burst/people=5000/parley", "peak-MB")},
	{"turn 300 of a chat, times turn 1, without the model", 1.9, 1.2, 1.1, false, sum("LongChat/parley", "own-late/early")},
	{"first answer after a start, 100,000 messages stored, ms", 0, 100, 50, false, sum("StoredHistory/messages=100000", "first-reply-ms")},
	{"system message and tools of a hello, bytes", 9300, 8192, 5120, false, sum("Prompt", "prompt-bytes")},
	{"idle, MB", 53, 40, 30, false, sum("Idle/parley", "idle-MB")},
	{"idle, processor, ms a second", 5.8, 1, 0.5, false, sum("Idle/parley", "idle-cpu-ms/s")},
	{"killed and started again, to the next call, ms", 1060, 200, 100, false, sum("Kill/embedded", "resumed-p50-ms")},
	{"killed, another worker takes over, to the next call, ms", 10004, 1000, 500, false, sum("Kill/workers=2/taken-over", "resumed-p50-ms")},
}

func sum(of string, units ...string) measure { return measure{of: of, units: units} }

func ratio(of, by, unit string) measure { return measure{of, by, []string{unit}} }
