package delivery_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/delivery"
	"parley/sessions"
)

// largest is what the network of the rig takes.
const largest = 1 << 20

var _ channels.FileSender = (*net)(nil)

func (n *net) LargestFile() int64 { return largest }

// SendFile shows a file in the chat as its name and what it holds.
func (n *net) SendFile(_ context.Context, r channels.Reply, f channels.File, content io.Reader) (channels.Receipt, error) {
	b, err := io.ReadAll(content)
	if s, ok := content.(io.Seeker); ok && err == nil { // as an adapter that tries twice
		var begin, end int64
		end, err = s.Seek(0, io.SeekCurrent)
		if err == nil {
			begin, err = s.Seek(0, io.SeekStart)
		}
		if err == nil {
			var again []byte
			again, err = io.ReadAll(content)
			if begin != 0 || end != f.Size || string(again) != string(b) {
				err = errors.New("it is not the same when it is read again")
			}
		}
	}
	if err != nil {
		return channels.Receipt{}, &channels.Error{Kind: channels.Unsent, Op: "read", Err: err}
	}
	if int64(len(b)) != f.Size {
		return channels.Receipt{}, &channels.Error{Kind: channels.Unsent, Op: "read", Message: "other bytes than were said"}
	}
	id, err := n.take(call{op: "file", chat: r.To.Peer, text: f.Name + "=" + string(b), replyTo: r.ReplyTo, repeat: r.Repeat})
	return channels.Receipt{MessageID: id}, err
}

// fileStore keeps what files hold.
type fileStore struct {
	mu     sync.Mutex
	kept   map[string]string
	open   func(n int) error // n counts the calls; nil: all is well
	read   error
	opened int
}

func (s *fileStore) OpenFile(_ context.Context, name string) (io.ReadCloser, int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	if s.open != nil {
		if err := s.open(s.opened); err != nil {
			return nil, 0, err
		}
	}
	text, ok := s.kept[name]
	if !ok {
		return nil, 0, fmt.Errorf("open %s: %w", name, broker.ErrNoFile)
	}
	var r io.Reader = strings.NewReader(text)
	if s.read != nil {
		r = io.MultiReader(io.LimitReader(r, 1), broken{s.read})
	}
	return io.NopCloser(r), int64(len(text)), nil
}

func (s *fileStore) DeleteFile(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, name)
	return nil
}

func (s *fileStore) put(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[name] = text
}

func (s *fileStore) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept) == 0
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

// outgoing is a file on its way to a chat.
func outgoing(id, chat, name, content string) sessions.Outgoing {
	return sessions.Outgoing{
		ID: id, Channel: "tg", To: to(chat), ReplyTo: "q", At: time.Now(),
		File: &sessions.File{Name: name, MIME: "text/plain", Size: int64(len(content)), Object: "o-" + id},
	}
}

// send puts a file into the outbox that no turn stands behind.
func (r *fixture) send(chat, name, content string) string { //nolint:unparam // reads better
	r.t.Helper()
	id := rand.Text()
	r.files.put("o-"+id, content)
	_, err := r.store.Notice(r.t.Context(), sessions.InboxID{Channel: "telegram", Event: id}, []sessions.Outgoing{outgoing(id, chat, name, content)}, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

// posted puts a file into the outbox that an open turn sends.
func (r *fixture) posted(chat, turn, name, content string) { //nolint:unparam // reads better
	r.t.Helper()
	id := rand.Text()
	r.files.put("o-"+id, content)
	o := outgoing(id, chat, name, content)
	o.Turn = turn
	if err := r.store.Post(r.t.Context(), r.fence[turn], turn, o); err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixture) states(id string) (s []sessions.SendState) {
	r.t.Helper()
	d, err := r.store.Delivery(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range d.Parts {
		s = append(s, p.State)
	}
	return s
}

func (r *fixture) forgotten() {
	r.t.Helper()
	r.await("what the files held to be deleted", func() bool { return r.files.empty() })
}

func TestAFileGoesOutInItsPlaceAndWhatItHeldIsDeleted(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) *fixture{"specification": newRig, "sqlite": realStore} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := open(t)
			r.queue("a", "one")
			id := r.send("a", "report.pdf", "PDF")
			r.queue("a", "two")
			r.start().wake()
			r.delivered()
			r.wantCalls("send a one", "file a report.pdf=PDF", "send a two")
			r.forgotten()
			if got := r.states(id); !slices.Equal(got, []sessions.SendState{sessions.Sent, sessions.Failed}) {
				t.Errorf("its parts ended as %q", got)
			}
			if got := r.net.calls[1].replyTo; got != "q" {
				t.Errorf("it answers %q", got)
			}
			r.await("all to be counted", func() bool { return r.counted("sent ok") == 3 && r.counted("delivered report.pdf") == 1 })
			if n := r.counted("sent rejected"); n != 0 {
				t.Errorf("%d were counted as rejected", n)
			}
		})
	}
}

func TestEachFailureOfAFileIsDealtWithAsItMustBe(t *testing.T) {
	t.Parallel()
	moved := kind(channels.Moved)
	moved.MovedTo = "b"
	limited := kind(channels.RateLimit)
	limited.RetryAfter = 7 * time.Second
	away := fmt.Errorf("no quorum: %w", broker.ErrUnavailable)
	damaged := errors.New("it is damaged")
	const file, again = "file a r_1.pdf=PDF", "file a r_1.pdf=PDF again"
	said := func(why string) string { return `send a The file r\_1\.pdf could not be sent: ` + why + "." }
	for name, c := range map[string]struct {
		errs   []error // of the calls of the network
		rig    func(r *fixture)
		plain  bool
		calls  []string
		counts map[string]int
	}{
		"unsent is tried again, unmarked": {
			errs: []error{kind(channels.Unsent), kind(channels.Unsent)}, calls: []string{file, file, file}, counts: map[string]int{"retried network": 2, "sent ok": 1},
		},
		"a rate limit is waited out": {
			errs: []error{limited}, calls: []string{file, file}, counts: map[string]int{"retried rate_limited": 1, "sent ok": 1},
		},
		"a chat that moved gets it":    {errs: []error{moved}, calls: []string{file, "file b r_1.pdf=PDF"}, counts: map[string]int{"sent ok": 1}},
		"a chat that is gone drops it": {errs: []error{kind(channels.Gone)}, calls: []string{file}, counts: map[string]int{"sent dropped": 1}},
		"in doubt it is repeated, marked": {
			errs: []error{arrives{kind(channels.Ambiguous)}}, calls: []string{file, again}, counts: map[string]int{"sent ambiguous": 1},
		},
		"in doubt ever again it is given up and said": {
			errs:   slices.Repeat([]error{kind(channels.Ambiguous)}, 6),
			calls:  []string{file, again, again, again, again, again, `send a The file r\_1\.pdf was sent 6 times, and not once is it known to have arrived.`},
			counts: map[string]int{"sent ambiguous": 1, "sent ok": 1},
		},
		"what is refused is said in its place": {
			errs: []error{kind(channels.Refused)}, calls: []string{file, said("the network refuses it")}, counts: map[string]int{"sent rejected": 1, "sent ok": 1},
		},
		"what is not kept any more is said": {
			rig:   func(r *fixture) { _ = r.files.DeleteFile(r.t.Context(), "o-x") },
			calls: []string{said("it is not kept any more")}, counts: map[string]int{"sent rejected": 1, "sent ok": 1},
		},
		"what is not as it was is said": {
			rig:   func(r *fixture) { r.files.put("o-x", "longer than it was") },
			calls: []string{said("it is not kept as it was")}, counts: map[string]int{"sent rejected": 1, "sent ok": 1},
		},
		"what is too large for the network is said": {
			rig: func(r *fixture) {
				big := strings.Repeat("x", largest+1)
				r.files.put("o-x", big)
			},
			calls: []string{said("it has 1048577 bytes, and the network takes 1048576")}, counts: map[string]int{"sent rejected": 1, "sent ok": 1},
		},
		"that a network takes no files is said": {
			plain: true, calls: []string{said("files cannot be sent from here to this chat")}, counts: map[string]int{"sent rejected": 1, "sent ok": 1},
		},
		"while the log is away it waits": {
			rig: func(r *fixture) {
				r.files.open = func(n int) error {
					if n <= 9 {
						return away
					}
					return nil
				}
			},
			calls: []string{file}, counts: map[string]int{"retried network": 9, "sent ok": 1},
		},
		"what cannot be read is tried some times": {
			rig:   func(r *fixture) { r.files.read = damaged },
			calls: []string{said("it is not kept as it was")}, counts: map[string]int{"retried network": 4, "sent rejected": 1, "sent ok": 1},
		},
		"what cannot be opened is tried some times": {
			rig:   func(r *fixture) { r.files.open = func(int) error { return damaged } },
			calls: []string{said("it is not kept as it was")}, counts: map[string]int{"retried network": 4, "sent rejected": 1, "sent ok": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			var n atomic.Int32
			r.net.script = func(_ int, to call) error {
				if i := int(n.Load()); to.op == "file" && i < len(c.errs) {
					n.Add(1)
					return c.errs[i]
				}
				return nil
			}
			o := outgoing("x", "a", "r_1.pdf", "PDF")
			r.files.put("o-x", "PDF")
			if c.rig != nil {
				c.rig(r)
			}
			if len(r.files.kept["o-x"]) > largest {
				o.File.Size = int64(len(r.files.kept["o-x"]))
			}
			if _, err := r.store.Notice(t.Context(), sessions.InboxID{}, []sessions.Outgoing{o}, time.Now()); err != nil {
				t.Fatal(err)
			}
			r.queue("b", "else")
			r.start(func(o *delivery.Options) {
				if c.plain {
					o.Channels = []channels.Channel{plain{r.net}}
				}
			}).wake()
			r.delivered()
			r.forgotten()
			got := slices.DeleteFunc(r.net.log(), func(s string) bool { return s == "send b else" })
			if !slices.Equal(got, c.calls) {
				t.Errorf("the network got\n%q, want\n%q", got, c.calls)
			}
			for what, n := range c.counts {
				if what == "sent ok" {
					n++ // the other chat's
				}
				r.await(what, func() bool { return r.counted(what) == n })
			}
		})
	}
}

// A process dies at each of its writes, before or after it was made, and another
// goes on.
func TestACrashLosesNoFileAndEachFurtherCopyIsMarked(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		for _, refused := range []bool{false, true} {
			for die := 1; die <= 4; die++ {
				t.Run(fmt.Sprintf("write %d lost=%v refused=%v", die, lost, refused), func(t *testing.T) {
					t.Parallel()
					r := realStore(t)
					if refused {
						r.net.script = func(_ int, c call) error {
							if c.op == "file" {
								return kind(channels.Refused)
							}
							return nil
						}
					}
					r.send("a", "1.txt", "ONE")
					r.queue("a", "2")
					for range 2 { // the next one may die as well
						r.die, r.lost = die, lost
						p := r.start(func(o *delivery.Options) { o.Grace = time.Millisecond })
						p.wake()
						r.await("it to die", func() bool {
							p.store.mu.Lock()
							defer p.store.mu.Unlock()
							return p.store.n >= die || len(r.pending()) == 0
						})
						p.end()
					}
					r.die = 0
					r.start().wake()
					r.delivered()
					copies, last := map[string]int{}, ""
					for _, c := range r.net.calls {
						copies[c.text]++
						if copies[c.text] > 1 && !c.repeat && (!refused || c.op != "file") || copies[c.text] > 3 {
							t.Errorf("copy %d of %s, marked %v: %q", copies[c.text], c.text, c.repeat, r.net.log())
						}
						if c.text == "1.txt=ONE" && last != "" && last != c.text {
							t.Errorf("out of order: %q", r.net.log())
						}
						last = c.text
					}
					want := 2
					if refused {
						want = 3
					}
					if len(copies) != want || last != "2" {
						t.Errorf("the chat got %q", r.net.log())
					}
				})
			}
		}
	}
}

// What a file holds is needed until it is known to have arrived, whoever notes it.
func TestWhatAFileHoldsIsKeptAsLongAsAnotherMayHaveToSendIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.send("a", "1.txt", "ONE")
	r.die = 2 // it marks, sends, and does not note the receipt
	p := r.start(func(o *delivery.Options) { o.Grace = time.Millisecond })
	p.wake()
	r.await("it to die", func() bool {
		p.store.mu.Lock()
		defer p.store.mu.Unlock()
		return p.store.n >= 2
	})
	p.end()
	if r.files.empty() || !slices.Equal(r.states(id), []sessions.SendState{sessions.Sending, sessions.Queued}) {
		t.Fatalf("left as %q, kept: %v", r.states(id), r.files.kept)
	}
	r.die = 0
	r.start().wake()
	r.delivered()
	r.wantCalls("file a 1.txt=ONE", "file a 1.txt=ONE again")
	r.forgotten()
}

// A file carries no id: that it is not found does not say that it will not be shown.
func TestAFileThatIsNotFoundIsRepeatedWithAMark(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		found bool
		err   error
		calls []string
	}{
		"it arrived":           {found: true, calls: []string{"file a 1.txt=ONE"}},
		"it is not there, yet": {calls: []string{"file a 1.txt=ONE", "file a 1.txt=ONE again"}},
		"it cannot say":        {err: kind(channels.Refused), calls: []string{"file a 1.txt=ONE", "file a 1.txt=ONE again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.net.script = first(arrives{kind(channels.Ambiguous)})
			f := &finder{net: r.net, find: func(int, string) (channels.Receipt, bool, error) {
				return channels.Receipt{MessageID: "id1"}, c.found, c.err
			}}
			id := r.send("a", "1.txt", "ONE")
			r.start(func(o *delivery.Options) { o.Channels = []channels.Channel{f} }).wake()
			r.delivered()
			r.wantCalls(c.calls...)
			r.forgotten()
			if got := r.states(id); !slices.Equal(got, []sessions.SendState{sessions.Sent, sessions.Failed}) || f.n != 1 {
				t.Errorf("its parts ended as %q; asked %d times", got, f.n)
			}
		})
	}
}

// A preview that may stand in the chat is a doubt of the answer, not of a file.
func TestAPreviewInDoubtMarksTheAnswerAndNotAFile(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(_ int, c call) error {
		if c.text == "I write" {
			return arrives{kind(channels.Ambiguous)}
		}
		return nil
	}
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "I write")
	r.await("the preview", func() bool { return len(r.net.chat()) == 1 })
	r.posted("a", "t1", "1.txt", "ONE")
	r.answer(p, "a", "t1", "There it is.")
	r.wantCalls("send a I write", "file a 1.txt=ONE", "send a There it is. again")
}

// A file of a turn stands before its answer, and the turn goes on to show itself.
func TestAFileOfATurnLeavesItsPreviewToTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.start()
	r.begin("a", "t1")
	p.show("a", "t1", "I write")
	r.await("the preview", func() bool { return len(r.net.chat()) == 1 })
	r.posted("a", "t1", "1.txt", "ONE")
	p.wake()
	r.await("the file", func() bool { return len(r.net.chat()) == 2 })
	r.await("it to be noted", func() bool { return r.counted("delivered 1.txt") == 1 })
	p.show("a", "t1", "There it")
	r.await("the preview to grow", func() bool { return slices.Contains(r.net.log(), "edit a There it in id1") })
	r.answer(p, "a", "t1", "There it is.")
	r.wantCalls("send a I write", "file a 1.txt=ONE", "edit a There it in id1", "edit a There it is. in id1")
	if n := r.counted("first"); n != 1 {
		t.Errorf("%d first replies were counted", n)
	}
}

func TestAPreviewIsNotShownAboveAFileThatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun, held := make(chan struct{}), make(chan struct{})
	r.net.script = func(_ int, c call) error {
		if c.op == "file" {
			close(begun)
			<-held
		}
		return nil
	}
	p := r.start()
	r.begin("a", "t1")
	r.posted("a", "t1", "1.txt", "ONE")
	p.wake()
	<-begun
	p.show("a", "t1", "The answer so f")
	close(held)
	r.await("the preview", func() bool { return len(r.net.chat()) == 2 })
	r.answer(p, "a", "t1", "The answer so far.")
	r.wantCalls("file a 1.txt=ONE", "send a The answer so f", "edit a The answer so far. in id2")
}

// A file that waits in its lane is not the end of its turn.
func TestATurnShowsItselfBehindAFileThatWaits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	begun, held := make(chan struct{}), make(chan struct{})
	r.net.script = func(_ int, c call) error {
		if c.text == "x" {
			close(begun)
			<-held
		}
		return nil
	}
	p := r.start()
	r.begin("a", "t1")
	r.queue("a", "x")
	p.wake()
	<-begun
	r.posted("a", "t1", "1.txt", "ONE")
	r.queue("b", "seen after the file")
	p.wake()
	r.await("the other chat", func() bool { return r.counted("delivered seen after the file") == 1 })
	p.show("a", "t1", "The answer so f")
	close(held)
	r.await("the preview", func() bool { return slices.Contains(r.net.chat(), "The answer so f") })
	if got := r.net.chat(); !slices.Equal(got, []string{"seen after the file", "x", "1.txt=ONE", "The answer so f"}) {
		t.Errorf("in the chats stand %q", got)
	}
}

// What waits for a chat that is shut goes with it, and so does what it held.
func TestFilesOfAClosedChatAreDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.net.script = func(int, call) error { return gone() }
	r.send("a", "1.txt", "ONE")
	r.send("a", "2.txt", "TWO")
	p := r.start()
	p.wake()
	r.await("both to be dropped", func() bool { return r.counted("sent dropped") == 2 })
	r.send("a", "3.txt", "THREE")
	p.wake()
	r.await("the third to be dropped", func() bool { return r.counted("sent dropped") == 3 })
	r.forgotten()
	r.wantCalls("file a 1.txt=ONE")
}
