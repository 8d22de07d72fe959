package stage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/simulators/internal/stage"
)

func TestShelf(t *testing.T) {
	t.Parallel()
	t.Run("forgets its oldest entries and counts them", func(t *testing.T) {
		t.Parallel()
		lost := 0
		var s stage.Shelf[int]
		stage.Bind(3, &lost, &s)
		for n := range 10 {
			s.Add(n)
			want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}[max(0, n-2) : n+1]
			same(t, s.Copy(), want...)
			if lost != max(0, n-2) {
				t.Errorf("%d are lost after %d", lost, n+1)
			}
		}
	})
	t.Run("shows what became of an entry, but not in copies that were made", func(t *testing.T) {
		t.Parallel()
		lost := 0
		var s stage.Shelf[string]
		stage.Bind(2, &lost, &s)
		entry := s.Add("sent")
		before := s.Copy()
		*entry = "edited"
		same(t, before, "sent")
		same(t, s.Copy(), "edited")
		if all := s.Items(); len(all) != 1 || all[0] != entry {
			t.Errorf("%v", all)
		}
	})
	t.Run("keeps nothing when it shall keep nothing", func(t *testing.T) {
		t.Parallel()
		lost := 0
		var s stage.Shelf[int]
		stage.Bind(-1, &lost, &s)
		if *s.Add(7) != 7 || len(s.Copy()) != 0 || lost != 1 {
			t.Errorf("%v, %d are lost", s.Copy(), lost)
		}
	})
}

func TestAwait(t *testing.T) {
	t.Parallel()
	t.Run("looks again after each change until it is done", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var c stage.Change
			var mu sync.Mutex
			n, looks := 0, 0
			snapshot := func() int {
				mu.Lock()
				defer mu.Unlock()
				return n
			}
			go func() {
				for range 3 {
					time.Sleep(time.Second)
					mu.Lock()
					n++
					mu.Unlock()
					c.Notify()
				}
			}()
			got, err := stage.Await(t.Context(), &c, snapshot, func(n int) bool { looks++; return n == 2 })
			if got != 2 || err != nil || looks != 3 {
				t.Errorf("%d, %v after %d looks", got, err, looks)
			}
			time.Sleep(time.Minute)
		})
	})
	t.Run("misses no change that comes while it looks", func(t *testing.T) {
		t.Parallel()
		var c stage.Change
		n := 0
		snapshot := func() int {
			defer func() { n++; c.Notify() }()
			return n
		}
		if got, err := stage.Await(t.Context(), &c, snapshot, func(n int) bool { return n == 100 }); got != 100 || err != nil {
			t.Errorf("%d, %v", got, err)
		}
	})
	t.Run("ends with its context and what there is then", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		got, err := stage.Await(ctx, &stage.Change{}, func() int { return 7 }, func(int) bool { return false })
		if got != 7 || !errors.Is(err, cause) {
			t.Errorf("%d, %v", got, err)
		}
	})
}

func TestAudience(t *testing.T) {
	t.Parallel()
	t.Run("gets all that happens while it watches, unless it is too slow", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var a stage.Audience[int]
			if stage.Show(&a, 0) != 0 {
				t.Error("nobody missed something")
			}
			ctx, cancel := context.WithCancel(t.Context())
			quick, slow := a.Watch(ctx), a.Watch(t.Context())
			missed := 0
			for n := range 1030 {
				missed += stage.Show(&a, n)
				if got := <-quick; got != n {
					t.Fatalf("%d instead of %d", got, n)
				}
			}
			if missed != 6 || len(slow) != 1024 {
				t.Errorf("%d are missed, %d wait", missed, len(slow))
			}
			cancel()
			synctest.Wait()
			if _, open := <-quick; open {
				t.Error("the channel is open after the end of its context")
			}
		})
	})
}

// fault is one of a simulator.
type fault struct {
	Name string
	On   string
	When stage.Timing
}

func (f fault) Check() error {
	if f.Name == "" {
		return stage.ErrFault
	}
	return nil
}

func (f fault) Timing() stage.Timing { return f.When }

// fall returns on which of n calls a plan falls.
func fall(p *stage.Plans[fault], n int, seed uint64) (calls []int) {
	rng := stage.NewRand(seed)
	for i := range n {
		if stage.Draw(p, rng, func(*fault) bool { return true }) != nil {
			calls = append(calls, i)
		}
	}
	return calls
}

func TestPlans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timing stage.Timing
		want   []int // of eight calls
	}{
		"fall on every call":               {stage.Timing{}, []int{0, 1, 2, 3, 4, 5, 6, 7}},
		"fall on the next calls":           {stage.Timing{Next: 2}, []int{0, 1}},
		"let some calls pass":              {stage.Timing{Skip: 5}, []int{5, 6, 7}},
		"fall on each k-th call":           {stage.Timing{Every: 3}, []int{2, 5}},
		"begin to count behind those":      {stage.Timing{Skip: 1, Every: 3, Next: 2}, []int{3, 6}},
		"fall on a draw, the same always":  {stage.Timing{Probability: 0.5}, fallsOf(0.5)},
		"fall surely with a probability 1": {stage.Timing{Probability: 1, Next: 1}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p stage.Plans[fault]
			if err := p.Plan(fault{Name: "x", When: c.timing}); err != nil {
				t.Fatal(err)
			}
			same(t, fall(&p, 8, 1), c.want...)
		})
	}
	t.Run("count a call for those that match, up to the one that falls", func(t *testing.T) {
		t.Parallel()
		var p stage.Plans[fault]
		err := p.Plan(fault{Name: "other", On: "b"}, fault{Name: "second", On: "a", When: stage.Timing{Every: 2}}, fault{Name: "first", On: "a", When: stage.Timing{Next: 2}}, fault{Name: "last", On: "a"})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for range 5 {
			names = append(names, stage.Draw(&p, stage.NewRand(1), func(f *fault) bool { return f.On == "a" }).Name)
		}
		same(t, names, "first", "second", "first", "second", "last")
		stage.Clear(&p)
		if f := stage.Draw(&p, stage.NewRand(1), func(*fault) bool { return true }); f != nil {
			t.Errorf("after Clear %s falls", f.Name)
		}
	})
	t.Run("take all or none", func(t *testing.T) {
		t.Parallel()
		for _, bad := range []fault{
			{},
			{Name: "x", When: stage.Timing{Skip: -1}},
			{Name: "x", When: stage.Timing{Next: -1}},
			{Name: "x", When: stage.Timing{Every: -1}},
			{Name: "x", When: stage.Timing{Probability: -0.1}},
			{Name: "x", When: stage.Timing{Probability: 1.1}},
		} {
			var p stage.Plans[fault]
			if err := p.Plan(fault{Name: "good"}, bad); !errors.Is(err, stage.ErrFault) || fall(&p, 1, 1) != nil {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

// fallsOf returns on which of eight calls a fault of that probability falls.
func fallsOf(probability float64) (calls []int) {
	rng := stage.NewRand(1)
	for i := range 8 {
		if rng.Float64() < probability {
			calls = append(calls, i)
		}
	}
	return calls
}

// world is a simulator that counts.
type world struct{ said, planned []string }

func (w *world) Books() []string { return w.said }
func (w *world) Totals() int     { return len(w.said) }
func (w *world) ClearFaults()    { w.planned = nil }
func (w *world) Reset()          { w.said = nil }
func (w *world) Plan(fs ...string) error {
	if fs[0] == "bad" {
		return stage.ErrFault
	}
	w.planned = append(w.planned, fs...)
	return nil
}

func TestControl(t *testing.T) {
	t.Parallel()
	w := &world{}
	c := stage.NewControl[string, []string, int](w, 32)
	c.Do("say", func(texts string, more struct {
		Loud bool `json:"loud"`
	},
	) (map[string]any, error) {
		w.said = append(w.said, texts)
		return map[string]any{"text": texts, "loud": more.Loud}, nil
	}, "text", "")
	c.Do("shout", func() (any, error) { return nil, errors.New("too loud") })
	c.Do("hum", func(notes ...int) error { return map[bool]error{false: errors.New("no notes")}[len(notes) > 1] }, "notes")
	for _, step := range []struct {
		name, request, body string
		status              int
		want                string
	}{
		{"takes what it knows", "POST /sim/say", `{"text":"hi"}`, 200, `{"loud":false,"text":"hi"}`},
		{"takes the fields beside the names", "POST /sim/say", `{"text":"ho","loud":true}`, 200, `{"loud":true,"text":"ho"}`},
		{"refuses another type", "POST /sim/say", `{"text":1}`, 400, `{"error":"json: cannot unmarshal number into Go value of type string"}`},
		{"takes a list", "POST /sim/hum", `{"notes":[1,2]}`, 200, `true`},
		{"says why one alone is nothing", "POST /sim/hum", `{}`, 400, `{"error":"no notes"}`},
		{"refuses what it does not know", "POST /sim/say", `{"texts":1}`, 400, `{"error":"json: unknown field \"texts\""}`},
		{"refuses what is too long", "POST /sim/say", `{"text":"` + strings.Repeat("x", 32) + `"}`, 400, `{"error":"http: request body too large"}`},
		{"says what cannot be done", "POST /sim/shout", "", 400, `{"error":"too loud"}`},
		{"shows the books", "GET /sim/books", "", 200, `["hi","ho"]`},
		{"shows the totals", "GET /sim/totals", "", 200, `2`},
		{"plans faults", "POST /sim/faults", `["slow","cut"]`, 200, `true`},
		{"refuses a bad fault", "POST /sim/faults", `["bad"]`, 400, `{"error":"fault cannot be planned"}`},
		{"clears faults", "DELETE /sim/faults", "", 200, `true`},
		{"begins anew", "POST /sim/reset", "", 200, `true`},
		{"and has forgotten", "GET /sim/totals", "", 200, `0`},
	} {
		method, path, _ := strings.Cut(step.request, " ")
		rec := httptest.NewRecorder()
		c.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(step.body)))
		if rec.Code != step.status || strings.TrimSpace(rec.Body.String()) != step.want || rec.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", step.name, rec.Code, rec.Body)
		}
	}
	same(t, w.planned)
	rec := httptest.NewRecorder()
	c.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/sim/nothing", http.NoBody))
	if rec.Code != http.StatusNotFound {
		t.Errorf("what is not there: %d", rec.Code)
	}
}

func TestControlHasANameForEachArgument(t *testing.T) {
	t.Parallel()
	defer func() {
		if r := recover(); r != "/sim/say: 1 names for the arguments of func(string, int)" {
			t.Errorf("it panicked with %v", r)
		}
	}()
	stage.NewControl[string, []string, int](&world{}, 32).Do("say", func(string, int) {}, "text")
}

// refusal is what rules of a call panic with.
type refusal struct{ text string }

func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rules func()
		want  string
		cut   bool
	}{
		"no rule refuses":      {func() {}, "", false},
		"a rule refuses":       {func() { panic(&refusal{"no"}) }, "no", false},
		"a rule cuts off":      {func() { panic(http.ErrAbortHandler) }, "", true},
		"wrapped, it cuts off": {func() { panic(fmt.Errorf("fault: %w", http.ErrAbortHandler)) }, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused, cut := stage.Refused[refusal](c.rules)
			if cut != c.cut || (refused == nil) != (c.want == "") || refused != nil && refused.text != c.want {
				t.Errorf("%+v, cut %v", refused, cut)
			}
		})
	}
	for _, other := range []any{errors.New("a mistake"), "a mistake", refusal{"no pointer"}} {
		func() {
			defer func() {
				if r := recover(); r != other {
					t.Errorf("it panicked with %v, not with %v", r, other)
				}
			}()
			stage.Refused[refusal](func() { panic(other) })
		}()
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	stage.WriteBody(w, http.StatusTeapot, "text/plain", []byte("tea"))
	if w.Code != http.StatusTeapot || w.Body.String() != "tea" || w.Header().Get("Content-Length") != "3" || w.Header().Get("Content-Type") != "text/plain" {
		t.Errorf("whole: %d %q %v", w.Code, w.Body, w.Header())
	}
	w = httptest.NewRecorder()
	_, cut := stage.Refused[refusal](func() { stage.WriteHalf(w, "text/plain", []byte("teapot")) })
	if !cut || w.Body.String() != "tea" || w.Header().Get("Content-Length") != "6" || !w.Flushed {
		t.Errorf("half: cut %v, %q %v", cut, w.Body, w.Header())
	}
	w = httptest.NewRecorder()
	if stage.WriteGarbage(w); w.Code != http.StatusOK || json.Valid(w.Body.Bytes()) {
		t.Errorf("garbage: %d %q", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	if stage.WriteBadGateway(w); w.Code != http.StatusBadGateway || w.Header().Get("Content-Type") != "text/html" {
		t.Errorf("bad gateway: %d %v", w.Code, w.Header())
	}
}

func TestAct(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	errNobody := errors.New("nobody")
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"it is done":     {func() error { return nil }, ""},
		"it fails":       {func() error { return errNobody }, "greet Ann: nobody"},
		"a rule forbids": {func() error { panic(stage.Forbid("%w: %q", errNobody, "Ann")) }, `greet Ann: nobody: "Ann"`},
		"deep in a rule": {func() error { return func() error { panic(stage.Forbid("%w", errNobody)) }() }, "greet Ann: nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			err := func() (err error) {
				defer stage.Act(&mu, &err, "greet %s", "Ann")()
				if mu.TryLock() {
					t.Error("the lock is free")
				}
				return c.do()
			}()
			if !mu.TryLock() {
				t.Fatal("the lock is held")
			}
			mu.Unlock()
			if (err == nil) != (c.want == "") || err != nil && (err.Error() != c.want || !errors.Is(err, errNobody)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	defer func() {
		if r := recover(); r != "a mistake" || !mu.TryLock() {
			t.Errorf("it panicked with %v", r)
		}
	}()
	func() (err error) {
		defer stage.Act(&mu, &err, "greet")()
		panic("a mistake")
	}() //nolint:errcheck // it panics
}
