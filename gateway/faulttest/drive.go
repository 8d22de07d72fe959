package faulttest

import (
	"context"
	"fmt"
	"net"
	"regexp"
	"testing"
	"time"

	"parley/simulators/telegram"
)

// whole is an answer that is all there; a preview of it is not.
var whole = regexp.MustCompile(`^(?s:.*)answer m\d+x\d+ canary[0-9a-f]{12} (?s:.*)\b` + end + `$`)

// Drive lets people say everything, each conversation with some messages ahead
// of its answers, and returns when all are answered: with an answer, or with
// words that reply to the question. Meanwhile it calls each of the disturbances
// in a goroutine of its own and waits for them; their context ends when
// everything was said and answered.
//
// It gives up, and leaves the verdict to Finish, when nothing was answered for
// Patience.
func (r *Run) Drive(disturb ...func(ctx context.Context)) {
	r.t.Helper()
	ctx, stop := context.WithCancel(r.t.Context())
	defer stop()
	ended := make(chan struct{}, len(disturb))
	for _, d := range disturb {
		go func() {
			defer func() { r.Pace.hurry(); ended <- struct{}{} }() // also when it ends the test
			d(ctx)
		}()
	}
	r.sayAll(ctx)
	stop()
	for range disturb {
		<-ended
	}
}

func (r *Run) sayAll(ctx context.Context) {
	seen := r.Telegram.Watch(ctx)
	f := &dialogue{r: r, said: make([]int, len(r.Workload.Conversations)), answered: map[string]bool{}, of: map[[2]int64]string{}, noticed: map[[2]int64]bool{}, loose: map[string]bool{}, decided: map[string]bool{}}
	f.count = make([]int, len(r.Workload.Conversations))
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	progress := time.Now()
	for f.sayMore(); len(f.answered) < r.Workload.Questions(); f.sayMore() {
		before := len(f.answered)
		select {
		case h := <-seen:
			if h.Kind == "sent" || h.Kind == "edited" {
				f.observe(h.ChatID, h.MessageID, h.ReplyTo, h.Text)
			}
		case <-tick.C: // a watcher may miss some; the books do not
			for _, m := range r.Telegram.Books().Messages {
				f.observe(m.ChatID, m.MessageID, m.ReplyTo, m.Text())
			}
		case <-ctx.Done():
			return
		}
		if len(f.answered) > before {
			progress = time.Now()
		}
		if r.o.Expect != "" && time.Since(progress) > Patience/3 {
			return
		}
		if time.Since(progress) > Patience {
			r.t.Errorf("nothing was answered for %s; %d of %d questions are", Patience, len(f.answered), r.Workload.Questions())
			return
		}
	}
}

// dialogue is what was said, and what was answered.
type dialogue struct {
	r        *Run
	said     []int               // by conversation
	count    []int               // answered, by conversation
	answered map[string]bool     // by tag
	of       map[[2]int64]string // questions by chat and message
	noticed  map[[2]int64]bool
	loose    map[string]bool // answered by words that reply to nothing
	decided  map[string]bool // codes of questions for permission
}

func (f *dialogue) sayMore() {
	for c := range f.r.Workload.Conversations {
		conv := &f.r.Workload.Conversations[c]
		for f.said[c] < len(conv.Questions) && f.said[c] < f.count[c]+f.ahead(conv, f.said[c]) && f.r.Pace.tryNext() {
			q := conv.Questions[f.said[c]]
			said, err := f.r.Telegram.Say(conv.Chat, q.From, q.Text, telegram.SayOptions{})
			if err != nil {
				f.r.t.Errorf("say %q: %v", q.Text, err)
				return
			}
			f.of[[2]int64{conv.Chat.ID, said.MessageID}] = q.Tag()
			f.said[c]++
		}
	}
}

func (f *dialogue) observe(chat, message, replyTo int64, text string) {
	tag := ""
	if asksPermission(text) {
		f.decide(chat, message, text)
		return
	}
	switch m := answerIn.FindStringSubmatch(text); {
	case m != nil && whole.MatchString(text):
		tag = "m" + m[1] + "x" + m[2]
	case tellsRefusal(text):
		tag = f.refusedIn(chat)
	case isNotice(text) && !f.noticed[[2]int64{chat, message}]:
		f.noticed[[2]int64{chat, message}] = true
		tag = f.questionFor(chat, replyTo)
	}
	if f.loose[tag] && whole.MatchString(text) { // the words were about another
		delete(f.loose, tag)
		tag = f.questionFor(chat, 0)
	}
	if tag == "" || f.answered[tag] {
		return
	}
	f.answered[tag] = true
	c := 0
	if _, err := fmt.Sscanf(tag, "m%dx", &c); err == nil && c < len(f.count) {
		f.count[c]++
	}
}

// questionFor returns which question words are about that reply to a message, or to none:
// then the oldest of the chat that has no answer.
func (f *dialogue) questionFor(chat, replyTo int64) string {
	if tag := f.of[[2]int64{chat, replyTo}]; tag != "" {
		return tag
	}
	for c, conv := range f.r.Workload.Conversations {
		if conv.Chat.ID != chat {
			continue
		}
		for _, q := range conv.Questions[:f.said[c]] {
			if !f.answered[q.Tag()] {
				f.loose[q.Tag()] = true
				return q.Tag()
			}
		}
	}
	return ""
}

// KillRandomly returns a disturbance for Drive: n times it waits until a random number
// of further messages, at most most, was sent, and kills a random process.
func (r *Run) KillRandomly(n, limit int) func(context.Context) {
	type moment struct{ after, process int }
	var moments []moment
	for range n {
		moments = append(moments, moment{1 + r.Rand.IntN(limit), r.Rand.IntN(len(r.slots))})
	}
	return func(ctx context.Context) {
		r.Pace.SetRounds(n)
		for i, m := range moments {
			if !r.AwaitSent(ctx, m.after) {
				r.t.Errorf("the load ended after %d of %d kills", i, n)
				return
			}
			r.Kill(m.process)
		}
	}
}

// AwaitSent waits until n more messages were sent; false when ctx ended before. Until it
// is called again, or the disturbance is over, people say no more than this round's
// share of what they have to say yet: however long the machine takes for what is
// done now, the load is not over by then.
func (r *Run) AwaitSent(ctx context.Context, n int) bool {
	r.Pace.deal(n)
	target := r.Telegram.Totals().Sent + n
	ok := r.WaitUntil(ctx, func() bool { return r.Telegram.Totals().Sent >= target })
	r.Pace.endRound()
	return ok
}

// WaitUntil waits until done; false when ctx ended before.
func (r *Run) WaitUntil(ctx context.Context, done func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return done()
		case <-tick.C:
		}
	}
	return true
}

// Await waits for what must come; the test fails when it does not within
// Patience.
func (r *Run) Await(what string, done func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), Patience)
	defer cancel()
	if !r.WaitUntil(ctx, done) {
		r.t.Fatalf("waiting for %s", what)
	}
}

// freeAddr returns an address of loopback on which nobody listens.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
