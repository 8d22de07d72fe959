package admin

import (
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/costs"
	"parley/llm"
	"parley/tools/mcp"
)

func TestAStatusSaysWhatIsNotFine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	fine := func() Status {
		return Status{
			Now: now, Ready: true, Checks: []Check{{Name: "store", OK: true}}, Channels: []ChannelStatus{{Name: "tg", Up: true}},
			Work: Work{Running: 3, Waiting: 2, WaitsSince: now.Add(-time.Minute)}, Outbox: Outbox{Pending: 9, PendingSince: now.Add(-time.Minute), Ambiguous: 1},
			DeadLetters: 5, DeadSince: now.Add(-time.Hour), Disk: Disk{FreeBytes: 1 << 31, Bytes: 1 << 40}, PricesOf: now.Add(-time.Hour), Log: LogSize{Bytes: 1 << 29, MaxBytes: 1 << 30}, Spend: Spend{Budgets: []Budget{{Name: "day", Limit: USD(costs.USD)}}},
			Recent: Recent{Minutes: 10, Turns: 20, FailedTurns: 2, Models: []RecentModel{
				{Provider: "p", Model: "m", Calls: 4, Failed: 2, LastError: "overloaded", LastErrorAt: now.Add(-time.Second)}, {Provider: "q", Model: "n", Calls: 1},
			}},
		}
	}
	for want, change := range map[string]func(*Status){
		"":                                     func(s *Status) { s.Sandbox = &Sandbox{Level: "B", Usable: true, Reasons: []string{"no n"}} },
		"store: gone":                          func(s *Status) { s.Ready, s.Checks[0] = false, Check{Name: "store", Problem: "gone"} },
		"the gateway is not ready":             func(s *Status) { s.Ready = false },
		"the channel tg is not connected; the": func(s *Status) { s.Channels[0].Up = false },
		"the channel tg is not connected for 6m0s": func(s *Status) {
			s.Channels[0].Up, s.Channels[0].Changed = false, now.Add(-6*time.Minute)
		},
		"p/m fails: 3 of 4 calls in the last 10 minutes, the last with auth 1s ago; look at the key": func(s *Status) {
			s.Recent.Models[0].Failed, s.Recent.Models[0].LastError = 3, "auth"
		},
		"p/m is not called for 1m0s, after 5 failures in a row, the last with auth; a call tries it again in 30s; look at the key": func(s *Status) {
			s.Circuits = CircuitsOf([]llm.CircuitStatus{{
				Provider: "p", Model: "m", State: llm.CircuitOpen, Failures: 5, Since: now.Add(-time.Minute), Until: now.Add(30 * time.Second), Last: &llm.Error{Kind: llm.Auth},
			}})
		},
		"p/m is not called for 1m0s, after 1 failure in a row, the last with server; a call tries it now": func(s *Status) {
			s.Circuits = CircuitsOf([]llm.CircuitStatus{{
				Provider: "p", Model: "m", State: llm.CircuitProbing, Failures: 1, Since: now.Add(-time.Minute), Until: now, Last: &llm.Error{Kind: llm.Server},
			}})
		},
		"q/n fails: 1 of 1 call ": func(s *Status) {
			s.Recent.Models[1].Failed, s.Recent.Models[1].LastError, s.Recent.Models[1].LastErrorAt = 1, "network", now
		},
		"3 of 20 turns in the last 10 minutes failed":          func(s *Status) { s.Recent.FailedTurns = 3 },
		"5 messages were given up, the oldest 1h0m0s ago; see": func(s *Status) { s.GivenUp = true },
		"a conversation waits":                                 func(s *Status) { s.Work.WaitsSince = now.Add(-6 * time.Minute) },
		"an answer waits":                                      func(s *Status) { s.Outbox.PendingSince = now.Add(-6 * time.Minute) },
		"the message log is nea":                               func(s *Status) { s.Log.Bytes = 1 << 30 },
		"programs cannot be walled in on this machine, so no agent has the tools that run some (bash, get): no L; no n": func(s *Status) {
			s.Sandbox = &Sandbox{Level: "D", Reasons: []string{"no L", "no n"}, Tools: []string{"bash", "get"}}
		},
		"the program of these tools is not on this machine, so no agent has them: bash": func(s *Status) {
			s.Sandbox = &Sandbox{Level: "A", Usable: true, Missing: []string{"bash"}}
		},
		"programs cannot be kept to a list of hosts at level B, so these tools do not run: bash, get": func(s *Status) {
			s.Sandbox = &Sandbox{Level: "B", Usable: true, Hosts: []Reach{{Tools: []string{"bash"}}, {Tools: []string{"get"}}}}
		},
		"the MCP server m is not there for 1m0s, and is tried again: its program ended (and 1 more line)": func(s *Status) {
			s.MCP = []mcp.Status{{Name: "m", State: mcp.Down, Since: now.Add(-time.Minute), Problem: "its program ended\nx"}}
		},
		"the MCP server m needs a login: nobody has logged in at it: parley mcp login m": func(s *Status) {
			s.MCP = []mcp.Status{{Name: "m", State: mcp.NeedsLogin, Problem: "nobody has logged in at it: parley mcp login m"}}
		},
		"the MCP server m: it wants a login with more rights (a): parley mcp login m": func(s *Status) {
			s.MCP = []mcp.Status{{Name: "m", State: mcp.Up, Problem: "it wants a login with more rights (a): parley mcp login m"}}
		},
		"the MCP server m is not started: no walls": func(s *Status) { s.MCP = []mcp.Status{{Name: "m", State: mcp.Off, Problem: "no walls"}} },
		"2 tools of the MCP server m not offered before you consent (a, b): parley mcp ls m": func(s *Status) {
			s.MCP = []mcp.Status{{Name: "m", State: mcp.Up, Tools: []mcp.ToolStatus{{Tool: "a", State: mcp.New}, {Tool: "o", State: mcp.Offered}, {Tool: "b", State: mcp.New}}}}
		},
		"the disk of /srv/parley is nearly full, 512 MiB are free": func(s *Status) {
			s.StateDir, s.Disk = "/srv/parley", Disk{FreeBytes: 1 << 29, Bytes: 1 << 40}
		},
		"1 message that had been accepted is missing from the message log, as found 1m0s ago; the log": func(s *Status) {
			s.Recent.Lost, s.Recent.LostAt = 1, now.Add(-time.Minute)
		},
		"2 rows of the ledger could not be written at once": func(s *Status) { s.Recent.LedgerErrors = 2 },
		"the newest price of models is of 2025-01-01, and costs": func(s *Status) {
			s.PricesOf = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
		},
		"the configuration was not reloaded 1m0s ago, and the one of ": func(s *Status) {
			s.Reload = ReloadStatus{At: now.Add(-time.Minute), Problem: "x"}
		},
		"the changed list of prices was not taken; ": func(s *Status) { s.Reload.PricesWrong = true },
		"the budget day is used":                     func(s *Status) { s.Spend.Budgets[0].Spent = USD(costs.USD) },
	} {
		st := fine()
		change(&st)
		st.assess()
		if want == "" && (!st.Fine || len(st.Problems) > 0) || want != "" && (st.Fine || len(st.Problems) != 1 || !strings.HasPrefix(st.Problems[0], want)) {
			t.Errorf("%q: %v %q", want, st.Fine, st.Problems)
		}
	}
}

func TestChannelsRememberWhatTheyPassOn(t *testing.T) {
	t.Parallel()
	var next recorder
	now := time.Date(2026, 3, 14, 13, 0, 0, 0, time.UTC)
	c := NewChannels(&next, []string{"b", "a"}, func() time.Time { now = now.Add(time.Second); return now })
	began := now
	at := time.Date(2026, 3, 14, 12, 0, 0, 0, time.FixedZone("west", -3600))
	c.SetConnected("a", true)
	c.Event("a", at)
	c.Event("a", at.Add(-time.Hour)) // chats go side by side
	c.SetConnected("b", true)
	c.SetConnected("b", false)
	c.SetConnected("b", false) // nothing new
	c.SetConnected("unknown", true)
	c.Reconnected("a")
	want := []ChannelStatus{{Name: "b", Changed: began.Add(3 * time.Second)}, {Name: "a", Up: true, Changed: began.Add(time.Second), LastEvent: at.UTC()}}
	if got := c.Status(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := strings.Join(next, ","); got != "up,event,event,up,up,up,up,reconnected" {
		t.Errorf("passed on: %s", got)
	}
}

type recorder []string

func (r *recorder) SetConnected(string, bool)  { *r = append(*r, "up") }
func (r *recorder) Reconnected(string)         { *r = append(*r, "reconnected") }
func (r *recorder) Event(string, time.Time)    { *r = append(*r, "event") }
func (r *recorder) SendRetried(string, string) { *r = append(*r, "retried") }

var _ channels.Observer = (*recorder)(nil)

func TestDollarsAreExactInJSON(t *testing.T) {
	t.Parallel()
	for a, want := range map[USD]string{
		0: "0.00", 1: "0.000000000001", USD(costs.USD): "1.00", -1: "-0.000000000001", 1<<63 - 1: "9223372.036854775807", -1 << 63: "-9223372.036854775808",
	} {
		b, err := a.MarshalText()
		if err != nil || string(b) != want {
			t.Errorf("%d is %s, %v", int64(a), b, err)
		}
		var back USD
		if err := back.UnmarshalText(b); err != nil || back != a {
			t.Errorf("%s is %d, %v", b, int64(back), err)
		}
	}
}

func TestWhatWasSpentTodayAddsUp(t *testing.T) {
	t.Parallel()
	const little = USD(costs.USD) / 20_000 // half of the last digit
	settled, held, budgets := Spend{Settled: little, Held: little, Budgets: []Budget{{Spent: 2 * little}}}.Format()
	if got := settled + " " + held + " " + budgets[0]; got != "$0.0001 <$0.0001 $0.0001" {
		t.Error(got)
	}
}
