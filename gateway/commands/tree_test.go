package commands_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/costs"
	"parley/gateway/commands"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/transcript"
)

// relative is a session below parent.
func relative(parent sessions.Session, id, title string, own costs.Amount) sessions.Session {
	return sessions.Session{ID: sessionkeys.SessionID(id), Parent: parent.ID, Depth: parent.Depth + 1, Role: "task", Title: title, Own: own, Subtree: own}
}

func TestACostTreeShowsEachSubAgentBelowItsParent(t *testing.T) {
	t.Parallel()
	root := sessions.Session{ID: "root", Own: 5e9, Subtree: 65e9}
	a, b := relative(root, "a", "look at\n**the** `logs`", 10e9), relative(root, "b", "", 20e9)
	c, d := relative(b, "c", strings.Repeat("long ", 30), 30e9), relative(a, "d", "free", 0)
	b.Subtree = 50e9
	if got := commands.FormatCosts([]sessions.Session{root}).Agents; got != "" {
		t.Errorf("without sub-agents: %q", got)
	}
	want := "Sub-agents, each by itself and with those below it:\n\n" +
		"- `task`: $0.0200, $0.0500\n" +
		"  - `" + strings.Repeat("long ", 12) + "…`: $0.0300, $0.0300\n" +
		"- `look at **the** 'logs'`: $0.0100, $0.0100\n" +
		"  - `free`: $0.00, $0.00"
	if diff := cmp.Diff(want, commands.FormatCosts([]sessions.Session{root, a, b, c, d}).Agents); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// Asked of a child, the tree begins at its own level.
	if got := commands.FormatCosts([]sessions.Session{b, c}).Agents; !strings.Contains(got, "\n\n- `long") {
		t.Errorf("of a child: %q", got)
	}
}

// Y03: whatever the tree, everything is in the text once, as a line or in the
// rest, and the amounts add up. Amounts are whole cents, which are shown exactly.
// As somebody reads it who adds up the lines: below each line, and in all.
func TestACostTreeAddsUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		amount := func() costs.Amount { return costs.Amount(r.Int64N(int64(10) << r.IntN(38))) }
		tree := []sessions.Session{{ID: "s0", Own: amount(), Depth: r.IntN(2)}}
		parents := []int{-1}
		for i, n := 1, r.IntN(40); i <= n; i++ {
			at := r.IntN(len(tree))
			parents = append(parents, at)
			tree = append(tree, relative(tree[at], fmt.Sprintf("s%d", i), fmt.Sprintf("s%d", i), amount()))
		}
		tree[0].Subtree = tree[0].Own
		for i := len(tree) - 1; i > 0; i-- {
			tree[parents[i]].Subtree += tree[i].Subtree
		}
		shown := commands.FormatCosts(tree)
		lines, unnamed := listed(t, shown.Agents)
		if named := len(lines) - len(unnamed); named > 10 || named+sum(unnamed) != len(tree)-1 {
			t.Errorf("seed %d: %d are named and %d are not, of %d sub-agents", seed, named, sum(unnamed), len(tree)-1)
		}
		// Each line holds what it says, less what the lines below it say.
		left := []costs.Amount{dollars(t, shown.Total) - dollars(t, shown.Own)}
		for _, l := range lines {
			if l.depth+1 > len(left) {
				t.Fatalf("seed %d: a line stands below nobody\n%s", seed, shown.Agents)
			}
			for _, rest := range left[l.depth+1:] {
				if rest != 0 {
					t.Fatalf("seed %d: %s are missing\n%s", seed, rest, shown.Agents)
				}
			}
			left = append(left[:l.depth+1], l.subtree-l.own)
			left[l.depth] -= l.subtree
		}
		for _, rest := range left {
			if rest != 0 {
				t.Fatalf("seed %d: of %s, with %s by itself, %s are missing\n%s", seed, shown.Total, shown.Own, rest, shown.Agents)
			}
		}
		if d := dollars(t, shown.Total) - tree[0].Subtree; d < 0 || d >= costs.USD/100 {
			t.Errorf("seed %d: %s is shown as %s", seed, tree[0].Subtree, shown.Total)
		}
	}
}

// costLine is a line of a cost tree.
type costLine struct {
	depth        int
	own, subtree costs.Amount
}

// listed reads the lines of a cost tree, and how many sub-agents each of those stands
// for that name none.
func listed(t *testing.T, text string) (lines []costLine, unnamed []int) {
	t.Helper()
	for line := range strings.Lines(text) {
		item := strings.TrimLeft(line, " ")
		depth := (len(line) - len(item)) / 2
		what, money, ok := strings.Cut(strings.TrimSpace(item), ": ")
		if !ok || !strings.HasPrefix(what, "- ") {
			continue
		}
		own, subtree, named := strings.Cut(money, ", ")
		if !named {
			n := 0
			if _, err := fmt.Sscanf(what, "- %d more", &n); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			unnamed = append(unnamed, n)
			lines = append(lines, costLine{depth, dollars(t, own), dollars(t, own)})
			continue
		}
		lines = append(lines, costLine{depth, dollars(t, own), dollars(t, subtree)})
	}
	return lines, unnamed
}

func sum(ns []int) (all int) {
	for _, n := range ns {
		all += n
	}
	return all
}

func dollars(t *testing.T, text string) costs.Amount {
	t.Helper()
	if strings.HasPrefix(text, "<") {
		return 0
	}
	a, err := costs.ParseAmount(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// requirements AI10
func TestTheDeskKnowsTheSubAgents(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	ctx := t.Context()
	contains(t, ask(t, d, k, "agents"), "Nothing was said here yet")
	contains(t, ask(t, d, k, "help"), "/agents")
	me := sessions.Worker{Name: "w", Nonce: "n"}
	if err := s.Heartbeat(ctx, me, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	m, _, err := s.Touch(ctx, sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: me, Take: true, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	word := transcript.Message{ID: "u", Role: transcript.User, Parts: []transcript.Part{transcript.Text{Text: "q"}}}
	root, _, err := s.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn: sessions.Turn{ID: "t", Seq: 1, Channel: "tg", From: k.Address(), OpenedAt: now}, Message: word,
	})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, ask(t, d, k, "agents"), "has started no sub-agents")
	if got := ask(t, d, k, "cost"); strings.Contains(got, "ub-agents, each") {
		t.Errorf("/cost without sub-agents: %q", got)
	}
	answer := transcript.Message{ID: "a", Role: transcript.Assistant, Parts: word.Parts}
	child, err := k.Child("task")
	if err != nil {
		t.Fatal(err)
	}
	// Twenty that have ended, the last one after it failed, and before them all
	// one that still runs.
	for i := range 21 {
		at := now.Add(time.Duration(i) * time.Second)
		c, _, err := s.Spawn(ctx, m.Fence(), sessions.Session{
			ID: sessionkeys.SessionID(fmt.Sprintf("c-%d", i)), Key: child, Parent: root.Session, Role: "task", Title: fmt.Sprintf("job %d", i), CreatedAt: at,
		})
		if err != nil {
			t.Fatal(err)
		}
		turn := fmt.Sprintf("n%d", i)
		o := sessions.OpenTurn{Turn: sessions.Turn{ID: turn, Session: c.ID, Seq: 1, Channel: "tg", From: k.Address(), OpenedAt: at}, Message: word}
		if _, _, err = s.Open(ctx, m.Fence(), o); err != nil {
			t.Fatal(err)
		}
		call := costs.CallID{Turn: turn, Purpose: costs.Subagent, Step: 1, Attempt: 1}
		labels := costs.Labels{Provider: "p", Model: "m", Channel: "tg", Purpose: costs.Subagent}
		r := costs.Reservation{ID: call.String(), At: at, Estimate: costs.Estimate{Call: call, Labels: labels, Upper: 2e12, Priced: true}}
		if err := s.Reserve(ctx, m.Fence(), sessions.Charge{Session: c.ID, Turn: turn}, r); err != nil {
			t.Fatal(err)
		}
		e := costs.Entry{
			ID: r.ID, Call: call, Labels: labels, Amount: costs.Amount(i+1) * 1e10, Upper: costs.Amount(i+1) * 1e10, Priced: true, State: costs.Settled,
			Outcome: "ok", At: at, Usage: costs.Usage{Input: 1, Output: 1, Source: costs.Reported},
		}
		if i == 0 {
			err = s.Settle(ctx, m.Fence(), costs.Settlement{Reservation: r, Entry: e}, answer)
		} else {
			outcome := transcript.EndTurn
			if i == 20 {
				outcome = transcript.MaxIterations
			}
			_, err = s.Finish(ctx, m.Fence(), sessions.FinishTurn{Turn: turn, Settlement: &costs.Settlement{Reservation: r, Entry: e}, Messages: []transcript.Message{answer}, Outcome: outcome, At: at.Add(2500 * time.Millisecond)})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d.Now = func() time.Time { return now.Add(90 * time.Second) }
	got := ask(t, d, k, "agents")
	contains(t, got, "\n\n- `job 0`: running, depth 1, 1m30s, 1 model call, $0.01, $0.01\n- `job 20`: ended early (max iterations), depth 1, 2.5 s, 1 model call, $0.21, ", "\n- `job 19`: ended, depth 1, 2.5 s, 1 model call, ", "\n- `job 7`: ", "\n\nand 6 more")
	if strings.Contains(got, "`job 6`") {
		t.Errorf("it is not bounded: %q", got)
	}
	contains(t, ask(t, d, k, "cost"), "With its sub-agents: $2.31", "\n- `job 20`: $0.21, $0.21\n", "\n- `job 11`: ", "\n- 11 more: $0.66")
}
