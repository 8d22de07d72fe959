package signal_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/signal"
	"parley/sessionkeys"
	sim "parley/simulators/signal"
)

func direct(p sim.Person) sessionkeys.Address {
	return sessionkeys.Address{Channel: "signal", Account: number, Kind: sessionkeys.DM, Peer: p.ACI}
}

func group(c sim.Chat) sessionkeys.Address {
	return sessionkeys.Address{Channel: "signal", Account: number, Kind: sessionkeys.Group, Peer: c.Group}
}

func failed(t testing.TB, err error) *channels.Error {
	t.Helper()
	var e *channels.Error
	if !errors.As(err, &e) {
		t.Fatalf("Send gave %v", err)
	}
	return e
}

// page is a log that can be read.
type page struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed at the next line; nil: nobody waits
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
	return p.text.Write(b)
}

func (p *page) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await waits until text was written.
func (p *page) await(t testing.TB, text string) {
	t.Helper()
	limit := time.After(patience)
	for {
		p.mu.Lock()
		found := strings.Contains(p.text.String(), text)
		if p.changed == nil {
			p.changed = make(chan struct{})
		}
		changed := p.changed
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%q is never said:\n%s", text, p.String())
		}
	}
}

func logged(p *page) func(*signal.Options) {
	return func(o *signal.Options) { o.Log = slog.New(slog.NewTextHandler(p, nil)) }
}

// G30.
func TestWhatSignalRefusesSaysWhatItMeansAndWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault sim.Fault
		to    sessionkeys.Address
		want  channels.ErrorKind
		told  string // in the log
	}{
		"an untrusted key":               {sim.Fault{Trouble: sim.Untrusted}, direct(ann), channels.Refused, "parley signal trust"},
		"somebody who left":              {sim.Fault{Trouble: sim.Unregistered}, direct(ann), channels.Gone, ""},
		"a challenge":                    {sim.Fault{Trouble: sim.RateLimited}, direct(ann), channels.RateLimit, "submitRateLimitChallenge"},
		"a flood":                        {sim.Fault{Trouble: sim.Flooded}, direct(ann), channels.RateLimit, ""},
		"a flood that arrived":           {sim.Fault{Trouble: sim.FloodedAfter}, direct(ann), channels.RateLimit, ""},
		"a broken key":                   {sim.Fault{Trouble: sim.PreKeyFailure}, direct(ann), channels.Refused, ""},
		"no network for signal-cli":      {sim.Fault{Trouble: sim.NetworkFailure}, direct(ann), channels.Ambiguous, ""},
		"an error of input and output":   {sim.Fault{Trouble: sim.IOError}, direct(ann), channels.Ambiguous, ""},
		"an internal error":              {sim.Fault{Trouble: sim.InternalError}, direct(ann), channels.Ambiguous, ""},
		"a mistake of ours":              {sim.Fault{Trouble: sim.UserError}, direct(ann), channels.Refused, ""},
		"a cut before":                   {sim.Fault{Trouble: sim.Dropped}, direct(ann), channels.Ambiguous, ""},
		"a cut after":                    {sim.Fault{Trouble: sim.Ambiguous}, direct(ann), channels.Ambiguous, ""},
		"half an answer":                 {sim.Fault{Trouble: sim.Truncated}, direct(ann), channels.Ambiguous, ""},
		"an answer that is none":         {sim.Fault{Trouble: sim.Garbage}, direct(ann), channels.Ambiguous, ""},
		"a daemon that is killed before": {sim.Fault{Trouble: sim.KilledBefore}, direct(ann), channels.Ambiguous, ""},
		"a daemon that is killed after":  {sim.Fault{Trouble: sim.KilledAfter}, direct(ann), channels.Ambiguous, ""},
		"a group that is not there":      {sim.Fault{}, group(sim.Chat{Group: sim.MadeUpGroup(9)}), channels.Gone, ""},
		"a place that is none":           {sim.Fault{}, group(sim.Chat{Group: "x"}), channels.Refused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			noError(t, r.Meet(ann))
			var log page
			ch := r.open(t, logged(&log))
			if c.fault.Trouble != "" {
				c.fault.Method, c.fault.Next = "send", 1
				r.plan(t, c.fault)
			}
			_, err := ch.Send(t.Context(), channels.Reply{To: c.to, Body: channels.Body{Text: "hi"}})
			if e := failed(t, err); e.Kind != c.want {
				t.Errorf("Send gave %v, want %s", err, c.want)
			}
			if !strings.Contains(log.String(), c.told) {
				t.Errorf("the operator is not told of %q:\n%s", c.told, log.String())
			}
		})
	}
}

// G30. Nothing is sent there any more until somebody speaks there again.
func TestAPersonWhoLeftAndGroupsThatTakeNothingFromUsAreGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	noError(t, errors.Join(r.Meet(ann), r.SetRegistered(ann, false)))
	r.say(t, team, bob, "hello", sim.SayOptions{})
	did(t)(r.Remove(team, bob, ourACI))
	r.say(t, news, bob, "hello", sim.SayOptions{})
	did(t)(r.Announce(news, bob, true))
	for _, to := range []sessionkeys.Address{direct(ann), group(team), group(news)} {
		_, err := ch.Send(t.Context(), channels.Reply{To: to, Body: channels.Body{Text: "hi"}})
		if e := failed(t, err); e.Kind != channels.Gone {
			t.Errorf("Send to %s gave %v", to.Peer, err)
		}
		if e := failed(t, ch.ShowTyping(t.Context(), to)); e.Kind != channels.Gone {
			t.Errorf("Typing to %s gave %v", to.Peer, e)
		}
	}
}

// G30.
func TestAGroupMessageThatReachedAnybodyIsSentAndNotRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var log page
	ch := r.open(t, logged(&log))
	got := take(t, ch, nil)
	r.say(t, team, bob, "me too", sim.SayOptions{})
	r.say(t, team, ann, "hello", sim.SayOptions{})
	got.texts(2)
	noError(t, r.Reinstall(bob))
	receipt, err := ch.Send(t.Context(), channels.Reply{To: group(team), Body: channels.Body{Text: "hi"}})
	if err != nil || receipt.MessageID == "" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if m := r.Books().Messages; len(m) != 1 || m[0].Results[ann.ACI] != "SUCCESS" || m[0].Results[bob.ACI] != "IDENTITY_FAILURE" {
		t.Errorf("%+v", m)
	}
	if !strings.Contains(log.String(), "message missed some members of a group") || !strings.Contains(log.String(), bob.ACI) || !strings.Contains(log.String(), "parley signal trust") {
		t.Errorf("the operator is not told:\n%s", log.String())
	}
}

// G30.
func TestWhileSignalWaitsForACaptchaNothingIsAskedOfIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	noError(t, errors.Join(r.Meet(ann), r.Meet(bob)))
	if _, err := r.Limit(number, 0); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ch := r.open(t, func(o *signal.Options) { o.Now = func() time.Time { return now } })
	_, err := ch.Send(t.Context(), channels.Reply{To: direct(ann), Body: channels.Body{Text: "hi"}})
	if e := failed(t, err); e.Kind != channels.RateLimit || e.RetryAfter != 5*time.Minute {
		t.Errorf("Send gave %v, %v", err, e.RetryAfter)
	}
	calls := r.Totals().Calls
	now = now.Add(time.Minute)
	_, err = ch.Send(t.Context(), channels.Reply{To: direct(ann), Body: channels.Body{Text: "hi"}})
	if e := failed(t, err); e.Kind != channels.RateLimit || e.RetryAfter != 4*time.Minute {
		t.Errorf("Send gave %v, %v", err, e.RetryAfter)
	}
	if n := r.Totals().Calls; n != calls {
		t.Errorf("%d calls in the meantime", n-calls)
	}
	r.ClearFaults()
	now = now.Add(4 * time.Minute)
	if _, err = ch.Send(t.Context(), channels.Reply{To: direct(ann), Body: channels.Body{Text: "hi"}}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// G30. signal-cli says so of each recipient, or, as -3, of the whole call.
func TestAnOutageLeavesOneMessageInDoubtAndNotOneForEachTry(t *testing.T) {
	t.Parallel()
	for _, trouble := range []sim.Trouble{sim.NetworkFailure, sim.IOError} {
		t.Run(string(trouble), func(t *testing.T) {
			t.Parallel()
			outage(t, trouble)
		})
	}
}

func outage(t *testing.T, trouble sim.Trouble) {
	t.Helper()
	r := newRig(t)
	noError(t, r.Meet(ann))
	ch := r.open(t)
	r.plan(t, sim.Fault{Trouble: trouble})
	send := func() error {
		_, err := ch.Send(t.Context(), channels.Reply{To: direct(ann), Body: channels.Body{Text: "hi"}})
		return err
	}
	if e := failed(t, send()); e.Kind != channels.Ambiguous {
		t.Errorf("the first try: %v", e)
	}
	for range 3 {
		if e := failed(t, send()); e.Kind != channels.Unsent {
			t.Errorf("a further try: %v", e)
		}
	}
	tried := 0
	for _, c := range r.Books().Calls {
		if c.Method == "send" {
			tried++
		}
	}
	if tried != 1 {
		t.Errorf("%d messages were tried", tried)
	}
	r.ClearFaults()
	if err := send(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// AsamK/signal-cli #1777: what a file fails on is no -3.
func TestAnOutageLeavesOneFileInDoubtAndNotOneForEachTry(t *testing.T) {
	t.Parallel()
	var sends atomic.Int32
	ch := canned(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		switch {
		case err != nil:
		case bytes.Contains(body, []byte(`"method":"send"`)):
			sends.Add(1)
			_, err = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Failed to send message: java.net.SocketTimeoutException: timeout (PushNetworkException) (UnexpectedErrorException)","data":null},"id":"1"}`)
		default:
			_, err = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-3,"message":"timeout (IOErrorException)"},"id":"1"}`)
		}
		if err != nil {
			t.Error(err)
		}
	})
	for i, want := range []channels.ErrorKind{channels.Ambiguous, channels.Unsent, channels.Unsent} {
		if e := failed(t, send(t, ch, direct(ann), "a", []byte("x"))); e.Kind != want {
			t.Errorf("try %d: %v", i+1, e)
		}
	}
	if n := sends.Load(); n != 1 {
		t.Errorf("the file was tried %d times", n)
	}
}

func TestWhatMayBeARepeatSaysSoInFrontOfItsStyles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	noError(t, r.Meet(ann))
	ch := r.open(t)
	body := ch.Render("😀 **bold** [a site](https://a.example/x)")[0]
	for _, repeat := range []bool{false, true} {
		if _, err := ch.Send(t.Context(), channels.Reply{To: direct(ann), Body: body, Repeat: repeat}); err != nil {
			t.Fatal(err)
		}
	}
	ms := r.Books().Messages
	if ms[0].Text() != "😀 bold a site (https://a.example/x)" || ms[1].Text() != "(This may be a repeat.)\n\n"+ms[0].Text() {
		t.Errorf("sent %q and %q", ms[0].Text(), ms[1].Text())
	}
	for i, start := range []int{3, 28} {
		if s := ms[i].Versions[0].Styles; len(s) != 1 || s[0] != (sim.Style{Style: "BOLD", Start: start, Length: 4}) {
			t.Errorf("styles %+v", s)
		}
	}
}

func TestWithoutADaemonNothingIsInDoubt(t *testing.T) {
	t.Parallel()
	ch, err := signal.New(signal.Options{Common: channels.Common{Name: "sig"}, Account: number, Command: []string{"/nowhere/signal-cli"}, Dir: shortDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ch.Send(t.Context(), channels.Reply{To: direct(ann), Body: channels.Body{Text: "hi"}})
	if e := failed(t, err); e.Kind != channels.Unsent {
		t.Errorf("Send gave %v", err)
	}
}

// firstday G3. Signal's 429 names no wait, and the message may have arrived
// (AsamK/signal-cli #2071): it is waited, longer each time, and what is sent then says
// that it may be a repeat.
func TestAFloodIsWaitedOutAndItsMessageIsMarked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	noError(t, errors.Join(r.Meet(ann), r.Meet(bob)))
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ch := r.open(t, func(o *signal.Options) { o.Now = func() time.Time { return now } })
	r.plan(t, sim.Fault{Trouble: sim.FloodedAfter, Method: "send", Next: 1})
	r.plan(t, sim.Fault{Trouble: sim.Flooded, Method: "send", Next: 1})
	send := func(p sim.Person, id, text string) error {
		_, err := ch.Send(t.Context(), channels.Reply{To: direct(p), ID: id, Body: channels.Body{Text: text}})
		return err
	}
	for _, wait := range []time.Duration{time.Minute, 2 * time.Minute} {
		if e := failed(t, send(ann, "1", "hi")); e.Kind != channels.RateLimit || e.RetryAfter != wait {
			t.Errorf("Send gave %v, to wait %s", e, e.RetryAfter)
		}
		calls := r.Totals().Calls
		now = now.Add(wait - time.Second)
		if e := failed(t, send(ann, "1", "hi")); e.Kind != channels.RateLimit || e.RetryAfter != time.Second || r.Totals().Calls != calls {
			t.Errorf("before the end of the wait Send gave %v, to wait %s, and %d calls", e, e.RetryAfter, r.Totals().Calls-calls)
		}
		now = now.Add(time.Second)
	}
	noError(t, errors.Join(send(ann, "1", "hi"), send(ann, "2", "more"), send(bob, "3", "hello")))
	if sent := r.Sent(); !slices.Equal(sent, []string{"hi", "(This may be a repeat.)\n\nhi", "more", "hello"}) {
		t.Errorf("sent %q", sent)
	}
	r.plan(t, sim.Fault{Trouble: sim.Flooded, Method: "send", Next: 1})
	if e := failed(t, send(ann, "4", "again")); e.RetryAfter != time.Minute {
		t.Errorf("after a success the wait is %s", e.RetryAfter)
	}
}

// firstday G9. A sign of typing is shown for 15 s; in a group each is a message to every
// member.
func TestASignOfTypingIsSentAgainWhenItIsNearlyOver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	noError(t, r.Meet(ann))
	r.say(t, team, bob, "hello", sim.SayOptions{})
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	ch := r.open(t, func(o *signal.Options) { o.Now = func() time.Time { return now } })
	typed := func(to sessionkeys.Address) (n int) {
		for _, s := range r.Books().Signals {
			if s.Kind == "typing" && s.Chat == to.Peer {
				n++
			}
		}
		return n
	}
	for _, to := range []sessionkeys.Address{group(team), direct(ann)} {
		for range 8 { // every 4 s, as a turn shows it
			noError(t, ch.ShowTyping(t.Context(), to))
			now = now.Add(4 * time.Second)
		}
		if n := typed(to); n != 3 { // at 0, 12 and 24 s
			t.Errorf("in 32 s %d signs were sent to %s", n, to.Peer)
		}
	}
	// A message ends it in people's programs.
	if _, err := ch.Send(t.Context(), channels.Reply{To: direct(ann), Body: channels.Body{Text: "hi"}}); err != nil {
		t.Fatal(err)
	}
	noError(t, ch.ShowTyping(t.Context(), direct(ann)))
	if n := typed(direct(ann)); n != 4 {
		t.Errorf("after a message %d signs were sent in all", n)
	}
	// One that failed is none.
	now = now.Add(time.Minute)
	r.plan(t, sim.Fault{Trouble: sim.UserError, Method: "sendTyping", Next: 1})
	if err := ch.ShowTyping(t.Context(), direct(ann)); err == nil {
		t.Error("a sign that is refused is sent")
	}
	if err := ch.ShowTyping(t.Context(), direct(ann)); err != nil || typed(direct(ann)) != 5 {
		t.Errorf("after one that failed: %v, %d in all", err, typed(direct(ann)))
	}
}
