package subagents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/agent"
	"parley/agent/prompt"
	"parley/costs"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/sessions/sqlite/sqlitetest"
	"parley/subagents"
	"parley/tools"
	"parley/tools/skills"
	"parley/transcript"
)

var tariff = costs.Price{
	Provider: "script", Model: "scripted-1", Input: 3 * costs.USD / 1e6, Output: 15 * costs.USD / 1e6,
	CacheRead: 3 * costs.USD / 1e7, CacheWrite5m: 3 * costs.USD / 1e6, CacheWrite1h: 6 * costs.USD / 1e6,
}

// prices knows the scripted model.
type prices struct{}

func (prices) Price(string, string) (*costs.Price, bool) { p := tariff; return &p, true }

func (prices) Cost(_, _ string, u costs.Usage) (costs.Amount, *costs.Price, error) {
	p := tariff
	a, err := p.Cost(u)
	return a, &p, err
}

// fixture is a person's turn over a store and the real loop, with a model
// that does what the text of a turn says.
type fixture struct {
	t     *testing.T
	store sessions.Store
	model *llmtest.Script
	cfg   subagents.Config
	set   *tools.Set
	busy  *agent.Registry
	space string
	words map[string]prompt.Agent // by agent
	seat  *seat
	scope []sessions.Scope
	gate  tools.Gate
	plan  bool // the turn is in plan mode

	turnGate tools.Gate
	last     *subagents.TurnTree // of the last take

	mailbox sessions.Mailbox
	turn    sessions.Turn

	mu     sync.Mutex
	counts map[string]int
	events []agent.Event // of children
}

func (r *fixture) observe(e agent.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// seat is the only place there is.
type seat struct {
	place chan struct{}
	held  bool
}

func (s *seat) Release() {
	if s.held {
		<-s.place
		s.held = false
	}
}

func (s *seat) Reacquire(ctx context.Context) {
	if s.held {
		return
	}
	select {
	case s.place <- struct{}{}:
		s.held = true
	case <-ctx.Done():
	}
}

// newRig is a rig over the store in memory.
func newRig(t *testing.T, reply func(r llm.Request) llmtest.Turn) *fixture {
	t.Helper()
	return rigOn(t, memtest.New(memtest.Every), reply)
}

// realStore is a rig over a real store, which is found to be sound at the end.
func realStore(t *testing.T, reply func(r llm.Request) llmtest.Turn) *fixture {
	t.Helper()
	return rigOn(t, sqlitetest.Open(t, t.TempDir()), reply)
}

func rigOn(t *testing.T, s sessions.Store, reply func(r llm.Request) llmtest.Turn) *fixture {
	t.Helper()
	r := &fixture{
		t: t, store: s, busy: &agent.Registry{}, space: t.TempDir(), counts: map[string]int{},
		seat: &seat{place: make(chan struct{}, 1)}, model: &llmtest.Script{},
		words: map[string]prompt.Agent{"main": {Skills: []prompt.Skill{{Name: "of-main"}}, SkillTool: skills.ToolName}, "helper": {}},
	}
	r.model.Reply = func(_ int, q llm.Request) llmtest.Turn { return reply(q) }
	r.set = r.tools("read_file", "write_file", "sessions_list", "session_status")
	return r
}

// tools are those of these names, which say their name, and those of the package.
func (r *fixture) tools(names ...string) *tools.Set {
	r.t.Helper()
	var all []tools.Tool
	for _, name := range names {
		tl, err := tools.New(name, "a tool", nil, func(_ context.Context, _ struct{}, c tools.Call) (tools.Result, error) {
			return tools.Result{Content: "ran " + c.Name}, nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, tl)
	}
	set, err := tools.NewSet(append(all, subagents.Tools(r.cfg)...)...)
	if err != nil {
		r.t.Fatal(err)
	}
	return set
}

func (r *fixture) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

func (r *fixture) counted(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[what]
}

func (r *fixture) ModelCalled(c agent.CallReport)          { r.count("model " + string(c.Entry.Labels.Purpose)) }
func (r *fixture) Compacted(transcript.Overlay, time.Time) {}

func (r *fixture) ModelRetried(costs.Labels, llm.Kind) {}

func (r *fixture) ModelFellBack(agent.FallbackReport) {}
func (r *fixture) SubagentSpawned(depth int)          { r.count(fmt.Sprint("spawned ", depth)) }
func (r *fixture) SubagentDenied(reason string)       { r.count("denied " + reason) }
func (r *fixture) SubagentRunning(depth int, delta int) {
	r.count(fmt.Sprint("running ", depth, " ", delta))
}

func (r *fixture) ToolCalled(tool string, p costs.Purpose, status string, _ time.Duration) {
	r.count(fmt.Sprint("tool ", tool, " ", p, " ", status))
}

var chat = sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "7"}

// say opens the turn of a message.
func (r *fixture) say(text string) {
	r.t.Helper()
	ctx := context.Background()
	key, err := sessionkeys.For("main", chat)
	if err != nil {
		r.t.Fatal(err)
	}
	me := sessions.Worker{Name: "w", Nonce: "n"}
	if err := r.store.Heartbeat(ctx, me, time.Now().Add(time.Hour)); err != nil {
		r.t.Fatal(err)
	}
	seq := r.mailbox.LastSeen + 1
	m, got, err := r.store.Touch(ctx, sessions.Touch{Token: key.Token(), Key: key, Seq: seq, By: me, Take: true, Now: time.Now()})
	if err != nil || !got {
		r.t.Fatalf("touch: %v, %v", got, err)
	}
	r.mailbox = m
	r.turn, _, err = r.store.Open(ctx, m.Fence(), sessions.OpenTurn{
		Turn:    sessions.Turn{ID: fmt.Sprint("t", seq), Seq: seq, Channel: "tg", From: chat, Sender: "7", ReceivedAt: time.Now(), OpenedAt: time.Now()},
		Message: transcript.Message{ID: fmt.Sprint("u", seq), Role: transcript.User, CreatedAt: time.Now(), Parts: []transcript.Part{transcript.Text{Text: text}}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// takeOver is what another owner of the mailbox does first.
func (r *fixture) takeOver() {
	r.t.Helper()
	var err error
	if r.mailbox, err = r.store.Reacquire(context.Background(), r.mailbox.Fence(), time.Now()); err != nil {
		r.t.Fatal(err)
	}
	if r.turn, err = r.store.Resume(context.Background(), r.mailbox.Fence(), time.Now()); err != nil {
		r.t.Fatal(err)
	}
}

// rootJournal is the person's turn, as the worker has it.
type rootJournal struct{ sessions.Journal }

// Spent is what the person's turn has cost, with its children.
func (j *rootJournal) Spent(ctx context.Context) (costs.Amount, error) {
	settled, _, err := j.Store.Spent(ctx, turnScope(j.Turn), j.Now())
	return settled, err
}

// turnScope counts what a turn costs with its children.
func turnScope(turn string) sessions.Scope {
	return sessions.Scope{Kind: "turn", ID: turn, Window: costs.Always}
}

func (j *rootJournal) Finish(ctx context.Context, s *costs.Settlement, o agent.Outcome, ms ...transcript.Message) error {
	_, err := j.End(ctx, sessions.FinishTurn{Settlement: s, Messages: ms, Outcome: o.Finish, At: time.Now(), Nested: true})
	return err
}

// family is that of the open turn, over a store that may fail.
func (r *fixture) family(store subagents.Store) *subagents.TurnTree {
	r.t.Helper()
	loop := r.loop()
	runner, err := subagents.New(subagents.Options{
		Store: store, Busy: r.busy, Observer: r, Now: time.Now,
		Settings: subagents.Settings{Config: r.cfg, Loop: loop, Agents: func(name string) (subagents.Agent, bool) {
			words, ok := r.words[name]
			return subagents.Agent{Model: r.model, MaxTokens: 100, Prompt: words}, ok
		}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.seat.held = true
	r.seat.place = make(chan struct{}, 1)
	r.seat.place <- struct{}{}
	return runner.Tree(subagents.Root{
		Turn: r.turn, Key: r.mailbox.Key, Fence: r.mailbox.Fence(), Workspace: r.space, Tools: r.set,
		Scopes: func(context.Context, time.Time) ([]sessions.Scope, error) { return r.scope, nil }, Slot: r.seat, Observe: r.observe, Plan: r.plan, Gate: r.turnGate,
	})
}

func (r *fixture) loop() agent.Loop { return agent.Loop{Prices: prices{}, Gate: r.gate} }

// run is one take of the open turn.
func (r *fixture) run(ctx context.Context, store subagents.Store) (agent.Outcome, error) {
	r.t.Helper()
	f := r.family(store)
	r.last = f
	loop := r.loop()
	loop.Journal = &rootJournal{sessions.Journal{
		Store: store, Fence: r.mailbox.Fence(), Turn: r.turn.ID, Session: r.turn.Session, Now: time.Now,
		Scopes: func(context.Context, time.Time) ([]sessions.Scope, error) { return r.scope, nil },
	}}
	return loop.Run(ctx, agent.Turn{
		ID: r.turn.ID, Session: r.turn.Session, Key: r.mailbox.Key, Purpose: costs.RootTurn, Channel: "tg", Workspace: r.space,
		Model: r.model, Tools: f.Tools(), MaxTokens: 100, Steps: r.turn.Steps, Tries: r.turn.Tries,
	}, nil)
}

// ask runs a whole turn.
func (r *fixture) ask(text string) agent.Outcome {
	r.t.Helper()
	r.say(text)
	o, err := r.run(r.t.Context(), r.store)
	if err != nil {
		r.t.Fatal(err)
	}
	r.sound()
	return o
}

func (r *fixture) tree() []sessions.Session {
	r.t.Helper()
	ss, err := r.store.Tree(context.Background(), r.turn.Session)
	if err != nil {
		r.t.Fatal(err)
	}
	return ss
}

func (r *fixture) messages(id sessionkeys.SessionID) []transcript.Message {
	r.t.Helper()
	ms, err := r.store.Messages(context.Background(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	return ms
}

// results are the results of tools in a session, in order.
func (r *fixture) results(id sessionkeys.SessionID) (rs []transcript.ToolResult) {
	r.t.Helper()
	for _, m := range r.messages(id) {
		for _, p := range m.Parts {
			if res, ok := p.(transcript.ToolResult); ok {
				rs = append(rs, res)
			}
		}
	}
	return rs
}

// balanced says what is wrong with the sums of the tree: every session's is that
// of the ledger rows of itself and all below it. (I6)
func balanced(store sessions.Store, root sessionkeys.SessionID) error {
	ss, err := store.Tree(context.Background(), root)
	if err != nil {
		return err
	}
	below := map[sessionkeys.SessionID]costs.Amount{}
	for i := len(ss) - 1; i >= 0; i-- {
		s := ss[i]
		err := store.Ledger(context.Background(), s.ID, func(_ sessionkeys.SessionID, e costs.Entry) bool {
			below[s.ID] += e.Amount
			return true
		})
		if err != nil {
			return err
		}
		if s.Subtree != below[s.ID] {
			return fmt.Errorf("session %s at depth %d says %s, the ledger %s", s.ID, s.Depth, s.Subtree, below[s.ID])
		}
		if s.ID != root {
			below[s.Parent] += below[s.ID]
		}
	}
	return nil
}

// sound holds a finished turn to what must always hold.
func (r *fixture) sound() {
	r.t.Helper()
	if err := balanced(r.store, r.turn.Session); err != nil {
		r.t.Error(err)
	}
	for _, s := range r.tree() {
		if err := transcript.Check(transcript.Repair(transcript.Merge(r.messages(s.ID)), "lost")); err != nil {
			r.t.Errorf("history of %s: %v", s.ID, err)
		}
		if s.Depth > 0 && s.Role != subagents.Role {
			r.t.Errorf("role %q", s.Role)
		}
		if release, err := r.busy.Acquire(s.ID, func(error) {}); err != nil {
			r.t.Errorf("session %s: %v", s.ID, err)
		} else {
			release()
		}
	}
	if n := r.counted("running 1 1") - r.counted("running 1 -1"); n != 0 {
		r.t.Errorf("%d still run, by the metrics", n)
	}
}

type figures struct {
	Status   string `json:"status"`
	Session  string `json:"child_session"`
	Turns    int    `json:"turns"`
	Calls    int    `json:"tool_calls"`
	Duration int64  `json:"duration_ms"`
	Cost     string `json:"cost_usd"`
	Estimate bool   `json:"cost_is_estimate"`
}

// told takes a result apart.
func told(t *testing.T, content string) (f figures, words string) {
	t.Helper()
	head, rest, _ := strings.Cut(content, "\n")
	if err := json.Unmarshal([]byte(head), &f); err != nil {
		t.Fatalf("%q: %v", content, err)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	i := strings.LastIndexByte(rest, '\n')
	return f, rest[:max(i, 0)]
}

// lastUser is the task of a turn, and whether its results are there.
func lastUser(q llm.Request) (text string, answered bool) {
	for _, m := range q.Messages {
		switch m.Role {
		case transcript.User:
			text, answered = m.Text(), false
		case transcript.Tool:
			answered = true
		}
	}
	return text, answered
}

func spawnCall(id, task string) llmtest.Call {
	in, _ := json.Marshal(map[string]string{"task": task})
	return llmtest.Call{ID: id, Name: subagents.SpawnName, Input: string(in)}
}

func text(s string) llmtest.Turn { return llmtest.Turn{llmtest.Text(s)} }

var errKilled = errors.New("killed")
