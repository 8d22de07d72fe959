package faulttest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/gateway/faulttest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// maxKept is what a model is shown of one result, in bytes.
const maxKept = 200 << 10

// What people ask for who are not of the load.
var trouble = regexp.MustCompile(`(stuck|hang|flood|sleep)\d+$`)

// scriptEnded finds what a model reads of a script that did not end by itself.
var scriptEnded = regexp.MustCompile(`^Error: the (?:tool took longer than|program was stopped, because it wrote more than) `)

// stubborn is a model that does what makes tools slow, and does not answer.
type stubborn struct {
	flood string // a file without an end, nearly

	mu      sync.Mutex
	waited  []time.Duration // for sub-agents that were stuck
	largest int             // result of a tool
	ended   int             // scripts, because of their time or their output
}

// childTime is what a sub-agent that is stuck is given.
const childTime = 2 * time.Second

func (s *stubborn) brain(l *faulttest.Workload) model.Brain {
	asked := map[string]time.Time{}
	return func(ctx context.Context, p *model.Prompt) model.Answer {
		m := trouble.FindString(p.LastText())
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, r := range p.Answering() {
			s.largest = max(s.largest, len(r.Text))
			if scriptEnded.MatchString(r.Text) {
				s.ended++
			}
		}
		switch {
		case m == "":
			s.mu.Unlock()
			defer s.mu.Lock()
			return l.Brain(ctx, p)
		case strings.HasPrefix(p.LastText(), "get "), strings.HasPrefix(m, "hang"):
			s.mu.Unlock()
			defer s.mu.Lock()
			<-ctx.Done()
			return model.Reply(model.Say("too late"))
		case len(p.Answering()) > 0:
			if at, ok := asked[m]; ok {
				s.waited = append(s.waited, time.Since(at)-childTime)
			}
			return model.Reply(model.Say(m + " over"))
		case strings.HasPrefix(m, "stuck"):
			asked[m] = time.Now()
			return model.Reply(model.Use("sessions_spawn", map[string]any{"task": "get " + m, "timeout_seconds": int(childTime.Seconds())}))
		case strings.HasPrefix(m, "sleep"): // with a process that would outlive it
			return model.Reply(model.Use("bash", map[string]any{"command": "sleep 100000 & sleep 100000"}))
		}
		return model.Reply(
			model.Use("read_file", map[string]any{"path": s.flood}),
			model.Use("grep", map[string]any{"pattern": "y", "path": filepath.Dir(s.flood)}),
			model.Use("bash", map[string]any{"command": "yes | head -c 100000000"}),
		)
	}
}

// Sub-agents that get no answer are ended at their time, scripts at theirs, and a turn whose
// model is silent at its own; what floods is cut, and the process does not grow. Everybody
// else is answered meanwhile. (F24)
func TestStuckAndFloodingToolsEndInTimeAndOthersAreAnswered(t *testing.T) {
	t.Parallel()
	faulttest.SkipUnlessLong(t, "the packages subagents, worker and files end what is stuck, and cut what floods, by a clock of their own")
	faulttest.RunOn(t, faulttest.Embedded(), func(t *testing.T, e faulttest.Engine) {
		dir := t.TempDir()
		bot := &stubborn{flood: filepath.Join(dir, "yes.txt")}
		if err := os.WriteFile(bot.flood, []byte(strings.Repeat(strings.Repeat("y", 99)+"\n", 80<<10)), 0o600); err != nil {
			t.Fatal(err)
		}
		const turnTime = 40 * time.Second // a turn that is well is never near it
		run := faulttest.Open(t, faulttest.Options{
			Engine: e, Brain: bot.brain,
			Config: map[string]string{
				"worker": fmt.Sprintf("{turns: 64, lease: %s, turn_timeout: %s}", faulttest.Lease, turnTime),
				"files":  fmt.Sprintf("{extra_roots: [%s], search_time: 1s}", dir),
				"agents": "{main: {model: sim/demo, window: 200000, tool_timeout: 10s, tools: [read_file, write_file, edit_file, grep, sessions_spawn, bash]}}",
				"bash":   "{enabled: true}",
			},
		})
		run.Start()
		before := resident(t, run)
		n := faulttest.ScaledSize(50)
		asked := map[int64]string{}
		run.Drive(func(ctx context.Context) {
			for i := range n {
				run.AwaitSent(ctx, 3)
				for k, text := range []string{"stuck", "hang", "flood", "sleep"} {
					p := telegram.Person{ID: int64(90_000 + 10*i + k), FirstName: "Eve"}
					asked[p.ID] = fmt.Sprintf("%s%d", text, i)
					if _, err := run.Telegram.Say(telegram.PrivateChat(p), p, asked[p.ID], telegram.SayOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
		said := func(chat int64) string {
			all := ""
			for _, m := range run.Telegram.Books().Messages {
				if m.ChatID == chat {
					all += m.Text()
				}
			}
			return all
		}
		for chat, text := range asked {
			want := text + " over"
			if strings.HasPrefix(text, "hang") {
				want = "This took too long, so I stopped."
			}
			run.Await(text+" to end", func() bool { return said(chat) == want })
		}
		grown := resident(t, run) - before
		report := run.Finish()
		var longest time.Duration
		for _, w := range bot.waited {
			longest = max(longest, w)
		}
		t.Logf("%d of each; a stuck sub-agent was ended %s after its time at most; the largest result had %d bytes; the processes grew by %d MiB",
			n, longest.Round(time.Millisecond), bot.largest, grown>>20)
		if len(bot.waited) != n || bot.largest > maxKept || bot.largest < maxKept/4 {
			t.Errorf("%d sub-agents were stuck; the largest result had %d bytes", len(bot.waited), bot.largest)
		}
		if bot.ended != 2*n {
			t.Errorf("%d scripts were ended, want %d", bot.ended, 2*n)
		}
		if grown > run.Processes()*256<<20 {
			t.Errorf("the processes grew by %d MiB", grown>>20)
		}
		if report.Told > 0 || report.Repeats > 0 {
			t.Errorf("%d questions were only told of, %d answers repeated", report.Told, report.Repeats)
		}
	})
}

// resident is the memory that the processes have, in bytes.
func resident(t *testing.T, run *faulttest.Run) (sum int) {
	t.Helper()
	for i := range run.Processes() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", run.Process(i).PID))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(string(b), "VmRSS:")
		var kib int
		if _, err := fmt.Sscan(rest, &kib); err != nil || !ok {
			t.Fatalf("no VmRSS: %v", err)
		}
		sum += kib << 10
	}
	return sum
}
