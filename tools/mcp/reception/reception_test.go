package reception_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp/reception"
	"parley/tools/mcp/tasks"
)

// desk is one by which ann is asked, and answers after a while.
type desk struct {
	mu     sync.Mutex // guards what follows
	away   int        // how many questions find nobody
	gone   bool       // whoever looks finds nobody
	asked  map[string]string
	answer chan string // closed or full: the answer is there
}

func (d *desk) People(context.Context) ([]reception.Person, error) {
	return []reception.Person{{Name: "ann", About: "on duty"}}, nil
}

func (d *desk) Ask(ctx context.Context, q reception.Question, wait time.Duration) (reception.Standing, error) {
	d.mu.Lock()
	if d.away > 0 {
		d.away--
		d.mu.Unlock()
		return reception.Standing{}, fmt.Errorf("%w (it was killed)", reception.ErrAway)
	}
	if q.Person != "ann" {
		d.mu.Unlock()
		return reception.Standing{}, errors.New("nobody of that name")
	}
	d.asked[q.Key] = q.Text + strings.Join(q.Choices, ",")
	d.mu.Unlock()
	return d.Look(ctx, q.Key, wait)
}

func (d *desk) Look(ctx context.Context, key string, wait time.Duration) (reception.Standing, error) {
	d.mu.Lock()
	_, known := d.asked[key]
	gone := d.gone
	d.mu.Unlock()
	switch {
	case gone:
		return reception.Standing{}, fmt.Errorf("%w (it was killed)", reception.ErrAway)
	case !known:
		return reception.Standing{}, reception.ErrNone
	}
	st := reception.Standing{Key: key, Person: "ann", State: "waiting", Expires: time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
	select {
	case a := <-d.answer:
		st.State, st.Answer = "answered", a
		return st, nil
	default:
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case a := <-d.answer:
		st.State, st.Answer = "answered", a
	case <-t.C:
	case <-ctx.Done():
		return st, context.Cause(ctx)
	}
	return st, nil
}

// connect returns a client of a server of that desk.
func connect(t *testing.T, d *desk) *sdk.ClientSession {
	t.Helper()
	return connectClient(t, d, sdk.NewClient(&sdk.Implementation{Name: "agent"}, nil))
}

// connectClient connects a client to a server of that desk.
func connectClient(t *testing.T, d *desk, client *sdk.Client) *sdk.ClientSession {
	t.Helper()
	if d.asked == nil {
		d.asked = map[string]string{}
	}
	if d.answer == nil {
		d.answer = make(chan string, 1)
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := reception.Server{Desk: d, Version: "1"}.Serve(context.WithoutCancel(t.Context()), fromClient, toClient)
		_ = toClient.Close()
		ended <- err
	}()
	s, err := client.Connect(t.Context(), keeping{&sdk.IOTransport{Reader: fromServer, Writer: toServer}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ends with %v", err)
		}
	})
	return s
}

// keeping is a transport that keeps tasks.
type keeping struct{ sdk.Transport }

func (k keeping) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := k.Transport.Connect(ctx)
	return tasks.Conn(c), err
}

// call calls a tool, and returns what a model reads of it.
func call(t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, c := range r.Content {
		text += c.(*sdk.TextContent).Text
	}
	if r.IsError {
		text = "error: " + text
	}
	return text
}

func contains(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("got\n%s\nwant %q in it", got, w)
		}
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	question := map[string]any{"key": "k", "person": "ann", "question": "When?", "choices": []string{"now", "never"}}
	t.Run("a program lists people, asks one, and gets the answer in the same call", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := &desk{}
			s := connect(t, d)
			contains(t, call(t, s, "list_people", nil), `"name":"ann"`, `"about":"on duty"`)
			go func() {
				time.Sleep(49 * time.Second)
				d.answer <- "now"
			}()
			contains(t, call(t, s, "ask_person", question), `"answer":"now"`, `"state":"answered"`)
			if d.asked["k"] != "When?now,never" {
				t.Errorf("asked %q", d.asked)
			}
		})
	})
	t.Run("what is not answered in time is answered later", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := &desk{}
			s := connect(t, d)
			began := time.Now()
			contains(t, call(t, s, "ask_person", question), `"state":"waiting"`, "call answer_of with this key later")
			if took := time.Since(began); took != 50*time.Second {
				t.Errorf("it waits for %s", took)
			}
			d.answer <- "never"
			contains(t, call(t, s, "answer_of", map[string]any{"key": "k", "wait_seconds": 0}), `"answer":"never"`)
		})
	})
	t.Run("a call goes on when parley is back, and else says that nothing is lost", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := &desk{away: 20}
			s := connect(t, d)
			d.answer <- "now"
			contains(t, call(t, s, "ask_person", question), `"answer":"now"`)
			d.away = 1000
			contains(t, call(t, s, "ask_person", question), "error: parley is not running at the moment (it was killed). If you have asked already, the question and its answer are kept")
		})
	})
	t.Run("what cannot be asked is an error that says why", func(t *testing.T) {
		t.Parallel()
		s := connect(t, &desk{})
		contains(t, call(t, s, "ask_person", map[string]any{"key": "k", "person": "bob", "question": "?"}), "error: nobody of that name")
		contains(t, call(t, s, "answer_of", map[string]any{"key": "k", "wait_seconds": 61}), "error: wait_seconds is 0 to 60")
		contains(t, call(t, s, "ask_person", map[string]any{"key": "k", "person": "ann"}), "error:", `question`)
	})
}
