package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/simulators/model"
)

func (h *fixture) plan(faults ...model.Fault) {
	h.t.Helper()
	if err := h.Plan(faults...); err != nil {
		h.t.Fatal(err)
	}
}

func TestPlannedErrorsHaveTheProvidersWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	h := start(t, model.Options{Now: func() time.Time { return now }})
	for _, c := range []struct {
		path  string
		fault model.Fault
		words string
		after string
	}{
		{messages, model.Fault{Status: 429}, `"type":"rate_limit_error"`, ""},
		{messages, model.Fault{Status: 429, RetryAfter: model.Duration(1500 * time.Millisecond)}, `"type":"rate_limit_error"`, "2"},
		{messages, model.Fault{Status: 529, RetryAfter: model.Duration(30 * time.Second), RetryDate: true}, `"overloaded_error","message":"Overloaded"`, "Fri, 02 Jan 2026 03:04:35 GMT"},
		{messages, model.Fault{Status: 500}, `"type":"api_error"`, ""},
		{messages, model.Fault{Status: 401}, `"type":"authentication_error"`, ""},
		{messages, model.Fault{Status: 403}, `"type":"permission_error"`, ""},
		{messages, model.Fault{Status: 502, HTMLBody: true}, `<h1>502 Bad Gateway</h1>`, ""},
		{completions, model.Fault{Status: 429}, `"rate_limit_exceeded"`, ""},
		{completions, model.Fault{Status: 401}, `"code":"invalid_api_key"`, ""},
		{answers, model.Fault{Status: 429, RetryAfter: model.Duration(2 * time.Second)}, `"rate_limit_exceeded"`, "2"},
		{answers, model.Fault{Status: 502, HTMLBody: true}, `<h1>502 Bad Gateway</h1>`, ""},
	} {
		c.fault.Kind = model.FaultStatus
		h.plan(c.fault)
		status, header, body, _ := h.post(c.path, ask(c.path, "x", true))
		if status != c.fault.Status || !strings.Contains(body, c.words) || header.Get("Retry-After") != c.after {
			t.Errorf("%+v: %d %v %s", c.fault, status, header, body)
		}
		if e := h.last(); e.Outcome != model.Refused || e.Fault != model.FaultStatus || e.Usage != (model.Usage{}) {
			t.Errorf("bill %+v", e)
		}
		if status, _, _, _ := h.post(c.path, ask(c.path, "x", true)); status != 200 {
			t.Errorf("%+v hit twice", c.fault)
		}
	}
}

func TestABrokenStreamIsBilledForWhatWasSent(t *testing.T) {
	t.Parallel()
	const eightWords = "1234567 1234567 1234567 1234567 1234567 1234567 1234567 1234567 " // 16 tokens
	for _, c := range []struct {
		kind     model.FaultKind
		path     string
		after    int
		outcome  model.Outcome
		output   int64
		reported bool
		events   int
		broken   bool
	}{
		{model.FaultCut, messages, 0, model.Cut, 0, false, 0, true},
		{model.FaultCut, messages, 5, model.Cut, 4, true, 5, true},
		{model.FaultCut, messages, 99, model.Cut, 16, true, 13, true},
		{model.FaultCut, completions, 3, model.Cut, 4, false, 3, true},
		{model.FaultClose, messages, 5, model.Cut, 4, true, 5, true},
		{model.FaultEnd, messages, 5, model.Cut, 4, true, 5, false},
		{model.FaultEnd, completions, 3, model.Cut, 4, false, 3, false},
		{model.FaultErrorEvent, messages, 5, model.Cut, 4, true, 6, false},
		{model.FaultErrorEvent, completions, 3, model.Cut, 4, false, 4, false},
		{model.FaultGarbage, messages, 5, model.Spoiled, 4, true, 6, false},
		{model.FaultGarbage, completions, 3, model.Spoiled, 4, false, 4, false},
		{model.FaultNoUsage, messages, 0, model.Complete, 16, false, 14, false},
		{model.FaultNoUsage, completions, 0, model.Complete, 16, false, 11, false},
		{model.FaultCut, answers, 0, model.Cut, 0, false, 0, true},
		{model.FaultCut, answers, 6, model.Cut, 4, false, 6, true},
		{model.FaultCut, answers, 99, model.Cut, 16, false, 15, true},
		{model.FaultClose, answers, 6, model.Cut, 4, false, 6, true},
		{model.FaultEnd, answers, 6, model.Cut, 4, false, 6, false},
		{model.FaultErrorEvent, answers, 6, model.Cut, 4, false, 8, false},
		{model.FaultGarbage, answers, 6, model.Spoiled, 4, false, 7, false},
		{model.FaultNoUsage, answers, 0, model.Complete, 16, false, 16, false},
	} {
		t.Run(string(c.kind)+c.path, func(t *testing.T) {
			t.Parallel()
			h := start(t, model.Options{})
			h.plan(model.Fault{Kind: c.kind, After: c.after})
			_, _, body, err := h.post(c.path, ask(c.path, eightWords, true))
			<-h.served
			if (err != nil) != c.broken {
				t.Errorf("body ended with %v", err)
			}
			if c.kind == model.FaultCut && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("not reset: %v", err)
			}
			if strings.Contains(body, "message_stop") != (c.kind == model.FaultNoUsage && c.path == messages) ||
				strings.Contains(body, "[DONE]") != (c.kind == model.FaultNoUsage && c.path == completions) ||
				strings.Contains(body, "response.completed") != (c.kind == model.FaultNoUsage && c.path == answers) {
				t.Errorf("body %s", body)
			}
			if c.kind == model.FaultNoUsage && strings.Contains(strings.ReplaceAll(body, "max_output_tokens", ""), "tokens") {
				t.Errorf("told usage: %s", body)
			}
			if c.kind == model.FaultErrorEvent && !strings.Contains(body, map[string]string{messages: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"", completions: `data: {"error":{`, answers: `event: error` + "\ndata: " + `{"type":"error","sequence_number":6,"code":"server_error"`}[c.path]) {
				t.Errorf("body %s", body)
			}
			e := h.last()
			if want := (model.Usage{Input: 16, Output: c.output}); e.Usage != want || e.Outcome != c.outcome || e.Events != c.events || (e.Reported != nil) != c.reported {
				t.Errorf("bill %+v", e)
			}
		})
	}
}

func TestAnAnswerThatIsNotStreamedBreaksInTheMiddle(t *testing.T) {
	t.Parallel()
	for kind, broken := range map[model.FaultKind]bool{
		model.FaultCut: true, model.FaultClose: true, model.FaultEnd: false, model.FaultGarbage: false,
	} {
		h := start(t, model.Options{})
		h.plan(model.Fault{Kind: kind})
		status, _, body, err := h.post(messages, ask(messages, "x", false))
		<-h.served
		if status != 200 || json.Valid([]byte(body)) || (err != nil) != broken {
			t.Errorf("%s: %d %v %s", kind, status, err, body)
		}
		if e := h.last(); e.Usage.Output != 1 || e.Reported != nil || e.Outcome == model.Complete {
			t.Errorf("%s: bill %+v", kind, e)
		}
	}
}

func TestHTMLWithStatus200IsNoAnswerAndCostsNothing(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	h.plan(model.Fault{Kind: model.FaultHTML})
	status, header, body, _ := h.post(completions, ask(completions, "x", true))
	if e := h.last(); status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/html") || !strings.HasPrefix(body, "<html>") ||
		e.Outcome != model.Spoiled || e.Usage != (model.Usage{}) {
		t.Errorf("%d %s %+v", status, body, e)
	}
}

func TestSilenceLastsUntilTheClientLeavesOrTheTimeIsOver(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		h := start(t, model.Options{})
		h.plan(
			model.Fault{Kind: model.FaultSilentBefore},
			model.Fault{Kind: model.FaultSilentBefore, Hold: model.Duration(time.Millisecond)},
			model.Fault{Kind: model.FaultSilentAfter, Hold: model.Duration(time.Millisecond)},
			model.Fault{Kind: model.FaultSilentAfter},
		)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for h.Bill().Open == 0 { // until it is being served
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if _, err := h.send(ctx, messages, ask(messages, "hello", stream)); !errors.Is(err, context.Canceled) {
			t.Errorf("first: %v", err)
		}
		if e := <-h.served; e.Outcome != model.Aborted || e.Usage != (model.Usage{}) || e.Status != 0 {
			t.Errorf("first: %+v", e)
		}
		if res, err := h.send(t.Context(), messages, ask(messages, "hello", stream)); err == nil {
			t.Errorf("second: %s", text(t, res))
		}
		if e := <-h.served; e.Outcome != model.Cut || e.Usage != (model.Usage{}) {
			t.Errorf("second: %+v", e)
		}
		_, _, body, err := h.post(messages, ask(messages, "hello", stream))
		if e := <-h.served; err == nil || body == "" || e.Outcome != model.Cut || e.Usage.Input != 2 {
			t.Errorf("third: %v %q %+v", err, body, e)
		}
		ctx, cancel = context.WithCancel(t.Context())
		defer cancel()
		res, err := h.send(ctx, messages, ask(messages, "hello", stream))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := res.Body.Read(make([]byte, 10)); n == 0 {
			t.Errorf("fourth: %v", err)
		}
		cancel()
		_ = res.Body.Close()
		if e := <-h.served; e.Outcome != model.Aborted || e.Usage.Input != 2 {
			t.Errorf("fourth: %+v", e)
		}
	}
}

func TestASlowAnswerIsAWholeAnswer(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	h.plan(model.Fault{Kind: model.FaultSlow, Hold: model.Duration(10 * time.Microsecond)})
	from := time.Now()
	_, _, body, err := h.post(messages, ask(messages, "hello", true))
	if names, _ := events(t, body); err != nil || names[len(names)-1] != "message_stop" {
		t.Errorf("%v %s", err, body)
	}
	if e := h.last(); e.Fault != model.FaultSlow || e.Outcome != model.Complete || e.Usage.Output != 2 || *e.Reported != e.Usage {
		t.Errorf("bill %+v", e)
	}
	if took := time.Since(from); took < 5*time.Millisecond {
		t.Errorf("took %v", took)
	}
}

func TestAPlanSaysWhichRequestsAreHit(t *testing.T) {
	t.Parallel()
	bad := model.Fault{Kind: model.FaultStatus, Status: 500}
	with := func(change func(*model.Fault)) model.Fault { f := bad; change(&f); return f }
	for name, c := range map[string]struct {
		fault model.Fault
		want  string // . answered, x hit; texts alternate between "plain" and "odd"
	}{
		"one by default": {bad, "x........."},
		"next three":     {with(func(f *model.Fault) { f.Next = 3 }), "xxx......."},
		"matching text":  {with(func(f *model.Fault) { f.Match, f.Next = "odd", 2 }), ".x.x......"},
		"other protocol": {with(func(f *model.Fault) { f.Protocol = model.OpenAI }), ".........."},
		"always":         {with(func(f *model.Fault) { f.Probability = 1 }), "xxxxxxxxxx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := hits(t, 1, c.fault); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// hits sends ten requests and marks those that failed.
func hits(t *testing.T, seed uint64, f model.Fault) string {
	h := start(t, model.Options{Seed: seed})
	h.plan(f)
	got := ""
	for i := range 10 {
		status, _, _, _ := h.post(messages, ask(messages, []string{"plain", "odd"}[i%2], false))
		got += map[bool]string{true: ".", false: "x"}[status == 200]
	}
	return got
}

func TestChanceIsDecidedByTheSeed(t *testing.T) {
	t.Parallel()
	f := model.Fault{Kind: model.FaultStatus, Status: 500, Probability: 0.5}
	one := hits(t, 1, f)
	if one != hits(t, 1, f) || !strings.Contains(one, "x") || !strings.Contains(one, ".") {
		t.Errorf("seed 1: %s", one)
	}
	other := f
	other.Seed = 99
	if one == hits(t, 2, f) && one == hits(t, 1, other) {
		t.Error("no seed matters")
	}
}

func TestARefusedRequestUsesUpNoFaultAndNoAnswer(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Brain: model.Scripted(model.Reply(model.Say("only one")))})
	h.plan(model.Fault{Kind: model.FaultStatus, Status: 529})
	for _, want := range []int{400, 529, 200, 500} {
		body := ask(messages, "x", false)
		if want == 400 {
			body = "{"
		}
		if status, _, text, _ := h.post(messages, body); status != want {
			t.Errorf("status %d, want %d: %s", status, want, text)
		}
	}
}

func TestAnInvalidFaultIsNotPlanned(t *testing.T) {
	t.Parallel()
	s := model.New(model.Options{})
	for _, f := range []model.Fault{
		{},
		{Kind: "frob"},
		{Kind: model.FaultStatus},
		{Kind: model.FaultStatus, Status: 200},
		{Kind: model.FaultCut, After: -1},
		{Kind: model.FaultCut, Probability: 2},
	} {
		if err := s.Plan(model.Fault{Kind: model.FaultCut}, f); err == nil || len(s.Faults()) != 0 {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestAnotherProcessPlansFaultsAndReadsTheBooks(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{Prices: map[string]model.Price{"m": {Output: 5}}})
	get := func(method, path, body string, into any) int {
		r, err := http.NewRequestWithContext(t.Context(), method, h.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		s := text(t, res)
		if into != nil {
			if err := json.Unmarshal([]byte(s), into); err != nil {
				t.Errorf("%s %s: %v in %s", method, path, err, s)
			}
		}
		return res.StatusCode
	}
	var planned []model.Planned
	if status := get("POST", "/sim/faults", `[{"kind":"status","status":429,"retry_after":"3s","next":2},{"kind":"cut","after":3}]`, &planned); status != 200 || len(planned) != 2 {
		t.Errorf("%d %+v", status, planned)
	}
	if status := get("POST", "/sim/faults", `{"kind":"frob"}`, nil); status != 400 {
		t.Errorf("status %d", status)
	}
	if status, header, _, _ := h.post(messages, ask(messages, "kept", true)); status != 429 || header.Get("Retry-After") != "3" {
		t.Errorf("%d %v", status, header)
	}
	if planned = h.Faults(); planned[0].Hits != 1 || planned[0].RetryAfter != model.Duration(3*time.Second) {
		t.Errorf("%+v", planned)
	}
	get("DELETE", "/sim/faults", "", &planned)
	h.tell(messages, ask(messages, "kept", true))
	var bill model.Bill
	get("GET", "/sim/bill", "", &bill)
	if len(planned) != 0 || len(bill.Entries) != 2 || bill.Pico != 5 || bill.Entries[1].Outcome != model.Complete {
		t.Errorf("%+v %+v", planned, bill)
	}
	if status := get("POST", "/sim/reset", "", nil); status != 204 || len(h.Bill().Entries)+len(h.Requests()) != 0 || h.Bill().Pico != 0 {
		t.Errorf("%d %+v", status, h.Bill())
	}
}

func TestWhatIsKeptIsBoundedAndSumsStayExact(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{MaxBill: 8, MaxRequests: 3})
	for range 20 {
		h.tell(messages, ask(messages, "word", false))
	}
	b := h.Bill()
	if len(b.Entries) > 8 || int(b.Dropped)+len(b.Entries) != 20 || b.Usage.Output != 20 || b.Outcomes[model.Complete] != 20 {
		t.Errorf("%d entries, %+v", len(b.Entries), b)
	}
	if n := len(h.Requests()); n != 3 {
		t.Errorf("%d requests recorded", n)
	}
}

func TestStoppingTheServerEndsWhatIsStillOpen(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s := model.New(model.Options{Brain: func(ctx context.Context, _ *model.Prompt) model.Answer {
		close(asked)
		<-ctx.Done()
		return model.Answer{}
	}})
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answered := make(chan error, 1)
	go func() {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+completions, strings.NewReader(ask(completions, "x", true)))
		res, err := client.Do(r)
		if err == nil {
			_ = res.Body.Close()
		}
		answered <- err
	}()
	<-asked
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	<-answered //nolint:errcheck // cut off, or an empty answer
	if b := s.Bill(); b.Open != 0 || b.Outcomes[model.Aborted] != 1 {
		t.Errorf("%+v", b)
	}
	if s.Run(t.Context()) == nil {
		t.Error("ran twice")
	}
}
