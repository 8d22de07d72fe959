package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/costs"
	"parley/tools"
	"parley/tools/mcp"
	"parley/tools/mcp/mcptest"
)

// notebook keeps tasks as long as it is there.
type notebook struct {
	mu  sync.Mutex // guards what follows
	all map[string]mcp.Ongoing
	by  map[string]string // which call has begun it
	err error             // of all that is done
}

func noteOf(c tools.Call, server, tool string) string {
	return fmt.Sprint(c.Session, server, tool, string(c.Arguments))
}

func (n *notebook) Keep(_ context.Context, c tools.Call, server, tool string, o mcp.Ongoing) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by[noteOf(c, server, tool)] == "" {
		n.by[noteOf(c, server, tool)] = c.ID
	}
	n.all[noteOf(c, server, tool)] = o
	return n.err
}

func (n *notebook) Find(_ context.Context, c tools.Call, server, tool string) (*mcp.Ongoing, bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	o, ok := n.all[noteOf(c, server, tool)]
	if !ok {
		return nil, false, n.err
	}
	return &o, n.by[noteOf(c, server, tool)] == c.ID, n.err
}

func (n *notebook) Drop(_ context.Context, c tools.Call, server, tool string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.all, noteOf(c, server, tool))
	delete(n.by, noteOf(c, server, tool))
	return n.err
}

// person is somebody who is asked, and has answered when answer is not empty.
type person struct {
	mu       sync.Mutex // guards what follows
	memo     []byte
	answer   string
	timedOut bool
	settled  []bool
}

func (p *person) Ask(_ context.Context, _ tools.Call, q mcp.Question) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memo = q.Memo
	return nil
}

func (p *person) TakeUp(context.Context, tools.Call, string, string) (mcp.Reply, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.memo == nil:
		return mcp.Reply{}, nil
	case p.timedOut:
		return mcp.Reply{State: mcp.TimedOut}, nil
	case p.answer == "":
		return mcp.Reply{State: mcp.Awaited}, nil
	}
	return mcp.Reply{State: mcp.Given, Answer: p.answer, Memo: p.memo}, nil
}

func (p *person) Settle(_ context.Context, _ tools.Call, _, _ string, used bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.settled = append(p.settled, used); used {
		p.memo = nil
	}
	return nil
}

// working is a server with tasks, in this process, and its host.
type working struct {
	*fixture
	*world

	t *testing.T
}

func openWorking(t *testing.T, people mcp.People) *working {
	t.Helper()
	w, chores := &world{}, mcptest.NewChores()
	run := w.runner(func(to mcptest.World) *sdk.Server {
		s, err := mcptest.NewWithTasks(to, chores)
		if err != nil {
			t.Error(err)
		}
		return s
	})
	r := openFor(t, people, run, program(t, mcp.ToolConfig{Name: "work", Category: tools.Write}, mcp.ToolConfig{Name: "die", Category: tools.Write}))
	r.consent("work", "die")
	return &working{r, w, t}
}

// work makes a call of the tool work, which may take that long.
func (w *working) work(id, words string, limit time.Duration) (tools.Result, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeoutCause(w.t.Context(), limit, tools.ErrTimeout)
	defer cancel()
	return w.workIn(ctx, id, words)
}

func (w *working) workIn(ctx context.Context, id, words string) (tools.Result, error) {
	w.t.Helper()
	args, err := json.Marshal(map[string]string{"text": words})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.offered("test__work").Run(ctx, tools.Call{ID: id, Name: "test__work", Arguments: args, Price: costs.USD})
}

// kept returns how many tasks are kept.
func (w *working) kept() int {
	w.tasks.mu.Lock()
	defer w.tasks.mu.Unlock()
	return len(w.tasks.all)
}

// A call that a server answers with a task returns what the task comes to, and nothing of it is left.
func TestTask(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]struct{ text, err string }{
		"done":           {text: `done for "", asked for 1 times`},
		"work wait done": {text: `done for "", asked for 3 times`},
		"broken done":    {text: `done for "", asked for 2 times`},
		"work isError":   {`done for "", asked for 2 times`, "work of the MCP server test failed"},
		"fail":           {"too much to do", "work of the MCP server test failed with the error -32603"},
		"cancelled":      {"at it", "the MCP server test has given up work. What it has done by then is not known"},
		"work forget":    {"no task has this id", "interrupted; outcome unknown: the MCP server test does not say any more what became of work"},
		"odd":            {"", "interrupted; outcome unknown"},
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := openWorking(t, nobody{})
				res, err := w.work("1", words, time.Minute)
				if !strings.Contains(res.Content, want.text) || (err != nil) != (want.err != "") || err != nil && !strings.Contains(err.Error(), want.err) || res.Unpaid {
					t.Errorf("%+v, %v", res, err)
				}
				if got := w.String(); got != "began "+words || w.kept() != 0 {
					t.Errorf("the server noted %q, %d tasks are kept", got, w.kept())
				}
				w.stop()
			})
		})
	}
}

// A task outlives its call: the same call finds it again, begins nothing, and costs nothing; over the
// end of its server, and of the process that waited for it.
func TestTaskThatTakesLong(t *testing.T) {
	t.Parallel()
	t.Run("the same call goes on with it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := openWorking(t, nobody{})
			words := strings.Repeat("work ", 40) + "done"
			began := time.Now()
			res, err := w.work("1", words, 20*time.Second)
			if took := time.Since(began); err != nil || res.Unpaid || !strings.Contains(res.Content, "still works on it") || !strings.Contains(res.Content, "at it") || took != 18*time.Second {
				t.Errorf("the first call: %+v, %v, in %s", res, err, took)
			}
			if _, err := w.call(t.Context(), "test__die", "x"); err == nil { // chores outlive it
				t.Error("the server lives")
			}
			res, err = w.work("2", words, time.Minute)
			if err != nil || !res.Unpaid || !strings.Contains(res.Content, `done for ""`) {
				t.Errorf("the second call: %+v, %v", res, err)
			}
			if got := w.String(); strings.Count(got, "began") != 1 || w.kept() != 0 {
				t.Errorf("the server noted %q, %d tasks are kept", got, w.kept())
			}
			if res, err = w.work("3", words, 20*time.Second); err != nil || res.Unpaid || strings.Count(w.String(), "began") != 2 {
				t.Errorf("a call after it was done: %+v, %v", res, err)
			}
			w.stop()
		})
	})
	t.Run("a call that was cut off continues", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := openWorking(t, nobody{})
			words := "work wait rest done"
			ctx, cancel := context.WithCancelCause(t.Context())
			away := errors.New("the process goes away")
			time.AfterFunc(1500*time.Millisecond, func() { cancel(away) })
			if res, err := w.workIn(ctx, "1", words); !errors.Is(err, away) || w.kept() != 1 {
				t.Errorf("the first take: %+v, %v", res, err)
			}
			args, _ := json.Marshal(map[string]string{"text": words})
			for id, want := range map[string]bool{"1": true, "2": false} {
				ok, err := w.offered("test__work").(tools.Continuer).Continues(t.Context(), tools.Call{ID: id, Name: "test__work", Arguments: args})
				if ok != want || err != nil {
					t.Errorf("call %s continues: %v, %v", id, ok, err)
				}
			}
			if res, err := w.work("1", words, time.Minute); err != nil || res.Unpaid || !strings.Contains(res.Content, "asked for 4 times") {
				t.Errorf("the second take: %+v, %v", res, err)
			}
			w.stop()
		})
	})
	t.Run("stop ends it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := openWorking(t, nobody{})
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(1500*time.Millisecond, func() { cancel(tools.ErrStopped) })
			if res, err := w.workIn(ctx, "1", "work"); !errors.Is(err, tools.ErrStopped) || !strings.Contains(res.Content, "was told to stop work") {
				t.Errorf("%+v, %v", res, err)
			}
			if got := w.String(); !strings.HasSuffix(got, "cancelled 1") || w.kept() != 0 {
				t.Errorf("the server noted %q, %d tasks are kept", got, w.kept())
			}
			w.stop()
		})
	})
	t.Run("what cannot be kept is not begun", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := openWorking(t, nobody{})
			broken := errors.New("no store")
			w.tasks.mu.Lock()
			w.tasks.err = broken
			w.tasks.mu.Unlock()
			if res, err := w.work("1", "done", time.Minute); !errors.Is(err, broken) || !errors.Is(err, tools.ErrUnpaid) || w.String() != "" {
				t.Errorf("%+v, %v, the server noted %q", res, err, w)
			}
			w.stop()
		})
	})
}

// A task that asks a person waits for them, gets what they have answered, once, and goes on.
func TestTaskThatAsks(t *testing.T) {
	t.Parallel()
	t.Run("they answer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := &person{}
			w := openWorking(t, p)
			res, err := w.work("1", "work ask late done", time.Minute)
			if err != nil || !strings.Contains(res.Content, "they were asked it in this chat") || w.kept() != 1 {
				t.Errorf("the first call: %+v, %v", res, err)
			}
			if res, err = w.work("2", "work ask late done", time.Minute); err != nil || !res.Unpaid || !strings.Contains(res.Content, "has not answered yet") {
				t.Errorf("before they have answered: %+v, %v", res, err)
			}
			p.answer = "Ann"
			if res, err = w.work("3", "work ask late done", time.Minute); err != nil || !res.Unpaid || !strings.Contains(res.Content, `done for "Ann"`) {
				t.Errorf("after that: %+v, %v", res, err)
			}
			if got := w.String(); got != "began work ask late done answered Ann" || w.kept() != 0 || len(p.settled) != 1 || !p.settled[0] {
				t.Errorf("the server noted %q, %d tasks are kept, settled %v", got, w.kept(), p.settled)
			}
			w.stop()
		})
	})
	t.Run("they are asked for two things", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := &person{}
			w := openWorking(t, p)
			steps := []struct{ answer, want string }{
				{"", "they were asked it in this chat"},
				{"2026-12-01", "asks the person for one more thing"},
				{"Ann", `done for "Ann on 2026-12-01"`},
			}
			for i, step := range steps {
				p.answer = step.answer
				if res, err := w.work(strconv.Itoa(i), "ask2 done", time.Minute); err != nil || !strings.Contains(res.Content, step.want) {
					t.Errorf("call %d: %+v, %v", i, res, err)
				}
			}
			if got := w.String(); got != "began ask2 done answered Ann on 2026-12-01" || w.kept() != 0 || len(p.settled) != 1 {
				t.Errorf("the server noted %q, %d tasks are kept, settled %v", got, w.kept(), p.settled)
			}
			w.stop()
		})
	})
	t.Run("they do not answer", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := &person{}
			w := openWorking(t, p)
			if res, err := w.work("1", "ask done", time.Minute); err != nil {
				t.Errorf("the first call: %+v, %v", res, err)
			}
			p.timedOut = true
			if res, err := w.work("2", "ask done", time.Minute); err != nil || !strings.Contains(res.Content, "has not answered in time") {
				t.Errorf("the second call: %+v, %v", res, err)
			}
			if got := w.String(); !strings.HasSuffix(got, "cancelled 1") || w.kept() != 0 {
				t.Errorf("the server noted %q, %d tasks are kept", got, w.kept())
			}
			w.stop()
		})
	})
	t.Run("nobody can be asked", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := openWorking(t, nobody{})
			if res, err := w.work("1", "ask done", time.Minute); err == nil || !strings.Contains(err.Error(), "cannot be passed on to anybody here: it was told to stop") {
				t.Errorf("%+v, %v", res, err)
			}
			if got := w.String(); !strings.HasSuffix(got, "cancelled 1") || w.kept() != 0 {
				t.Errorf("the server noted %q, %d tasks are kept", got, w.kept())
			}
			w.stop()
		})
	})
}

// Over HTTP a task is found in one message and in a stream of events, as the specification shows both,
// and what is asked of it says in a header which it is.
func TestTaskOverHTTP(t *testing.T) {
	t.Parallel()
	const seed = `{"resultType":"task","taskId":"786512e2 ü","status":"working","statusMessage":"The operation is now in progress.",` +
		`"createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:40:00Z","ttlMs":60000,"pollIntervalMs":1}`
	const done = `{"resultType":"complete","taskId":"786512e2 ü","status":"completed","createdAt":"2025-11-25T10:30:00Z","lastUpdatedAt":"2025-11-25T10:50:00Z",` +
		`"ttlMs":null,"result":{"content":[{"type":"text","text":"Hello, Luca!"}],"isError":false}}`
	for name, form := range map[string]string{
		"a message":          "%s",
		"a stream":           ": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"x\"}}\n\nid: 7\ndata: %s\n\n",
		"a stream that ends": "data: %s",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inner := mcptest.Handler(&world{})
			s := newSite(t, http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				result := map[string]string{"tools/call": seed, "tasks/get": done}[q.Header.Get("Mcp-Method")]
				if result == "" {
					inner.ServeHTTP(w, q)
					return
				}
				var asked struct {
					ID     any `json:"id"`
					Params struct {
						Meta map[string]any `json:"_meta"`
						Task string         `json:"taskId"`
					} `json:"params"`
				}
				if err := json.NewDecoder(q.Body).Decode(&asked); err != nil {
					t.Error(err)
				}
				if can, _ := json.Marshal(asked.Params.Meta["io.modelcontextprotocol/clientCapabilities"]); !strings.Contains(string(can), `"extensions":{"io.modelcontextprotocol/tasks":{}}`) {
					t.Errorf("%s says that the client can do %s", q.Header.Get("Mcp-Method"), can)
				}
				if q.Header.Get("Mcp-Method") == "tasks/get" && (asked.Params.Task != "786512e2 ü" || q.Header.Get("Mcp-Name") != "=?base64?Nzg2NTEyZTIgw7w=?=") {
					t.Errorf("asks for %q, header %q", asked.Params.Task, q.Header.Get("Mcp-Name"))
				}
				id, _ := json.Marshal(asked.ID)
				kind, body := "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
				if name != "a message" {
					kind = "text/event-stream"
				}
				w.Header().Set("Content-Type", kind)
				_, _ = fmt.Fprintf(w, form, body)
			}))
			r := open(t, nil, s.server(mcp.ToolConfig{Name: "echo", Category: tools.Write}))
			r.consent("echo")
			if got, err := r.call(t.Context(), "test__echo", "x"); err != nil || !strings.Contains(got, "Hello, Luca!") {
				t.Errorf("%q, %v\n%s", got, err, r.log)
			}
		})
	}
}
