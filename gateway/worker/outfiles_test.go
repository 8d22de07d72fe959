package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/broker"
	"parley/gateway/worker"
	"parley/llm"
	"parley/llm/llmtest"
	"parley/sessions"
	"parley/tools"
	"parley/tools/files"
	"parley/transcript"
)

// objects is where files lie on their way out.
type objects struct {
	mu   sync.Mutex
	kept map[string]string
	put  func() error // before each
}

func (o *objects) PutFile(_ context.Context, name string, r io.Reader, limit int64) (int64, error) {
	if o.put != nil {
		if err := o.put(); err != nil {
			return 0, err
		}
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	if int64(len(b)) > limit {
		return 0, fmt.Errorf("put: %w", broker.ErrTooLarge)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, there := o.kept[name]; there {
		return 0, errors.New("an object was written twice")
	}
	o.kept[name] = string(b)
	return int64(len(b)), nil
}

func (o *objects) content(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept[name]
}

// sendingRig is a rig whose model sends files: "files n" sends n of them, one in each
// answer, and then says what the calls gave.
func sendingRig(t *testing.T, c files.Config) (*fixture, *objects, func(*worker.Options)) {
	t.Helper()
	r := newRig(t)
	s, err := files.NewSender(c)
	if err != nil {
		t.Fatal(err)
	}
	if r.tools, err = tools.NewSet(noted{r}, s.Tool()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.space, "a.txt"), []byte("AAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.model.Reply = func(n int, q llm.Request) llmtest.Turn {
		want, done, said := 0, 0, ""
		for _, m := range q.Messages {
			if m.Role == transcript.User {
				done, said = 0, ""
				if _, err := fmt.Sscanf(m.Text(), "files %d", &want); err != nil {
					want = 0
				}
			}
			for _, res := range m.Results() {
				done, said = done+1, said+res.Content+"\n"
			}
		}
		switch {
		case want == 0:
			return r.reply(n, q)
		case done < want:
			return llmtest.Turn{llmtest.Call{ID: "c", Name: files.SendName, Input: `{"path":"a.txt"}`}}
		}
		return llmtest.Turn{llmtest.Text(said)}
	}
	o := &objects{kept: map[string]string{}}
	return r, o, func(w *worker.Options) {
		w.Settings.Files = &worker.Files{Sender: s, Store: o, Largest: func(string) (int64, bool) { return 1 << 20, true }}
	}
}

// sentTo is what waits to be sent to person.
func (r *fixture) sentTo(person int) (all []sessions.Delivery) {
	r.t.Helper()
	ds, err := r.store.Pending(context.Background(), "tg", 0, 1<<20)
	if err != nil {
		r.t.Fatal(err)
	}
	return slices.DeleteFunc(ds, func(d sessions.Delivery) bool { return d.To != address(person) })
}

func TestAFileStandsBeforeTheAnswerAndGoesWhereTheTurnAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, o, with := sendingRig(t, files.Config{})
		r.start("w", with)
		r.say(1, "files 2")
		r.idle()
		ds := r.sentTo(1)
		if len(ds) != 3 || ds[0].File == nil || ds[1].File == nil || ds[2].File != nil || ds[0].ID == ds[1].ID {
			t.Fatalf("there wait %+v", ds)
		}
		for _, d := range ds[:2] {
			if d.File.Name != "a.txt" || d.File.Size != 3 || !strings.HasPrefix(d.File.MIME, "text/plain") || o.content(d.File.Object) != "AAA" ||
				d.ReplyTo != ds[2].ReplyTo || d.Turn != ds[2].Turn || d.Session != ds[2].Session || d.MaybeDuplicate || d.Channel != "tg" || d.Text != "" {
				t.Errorf("a file waits as %+v, %+v", d, d.File)
			}
		}
		if want := "a.txt (3 bytes) is on its way into the chat; it comes before your answer.\n"; ds[2].Text != strings.TrimSpace(want+want) {
			t.Errorf("the model was told %q", ds[2].Text)
		}
	})
}

// Each operation of a worker's store fails once, before or after it was performed, and
// its process dies there; whichever it is, each file is sent once, before the answer.
func TestATurnThatDiesAnywhereSendsItsFilesOnce(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, o, with := sendingRig(t, files.Config{MaxSends: 2})
				p := r.start("w", with)
				r.say(0, "it has begun")
				r.wantAnswers(0, "re: it has begun")
				for n := 1; n <= 30; n++ {
					p.store.arm(n, lost)
					r.say(n, "files 3")
					r.await(fmt.Sprint("the answer with operation ", n, " failing"), func() bool { ds := r.sentTo(n); return len(ds) > 0 && ds[len(ds)-1].File == nil })
					ds := r.sentTo(n)
					if len(ds) != 3 || ds[0].File == nil || ds[1].File == nil {
						t.Fatalf("operation %d: there wait %+v", n, ds)
					}
					for _, d := range ds[:2] {
						if o.content(d.File.Object) != "AAA" {
							t.Errorf("operation %d: nothing is kept of %+v", n, d.File)
						}
					}
					if got := ds[2].Text; strings.Count(got, "is on its way") != 2 || strings.Count(got, "2 files were sent for this message") != 1 {
						t.Errorf("operation %d: the model was told %q", n, got)
					}
				}
				r.idle()
			})
		})
	}
}

// A turn that goes on after a crash tells the model of what was sent, also when the
// file is not there any more.
func TestTheModelIsToldThatAFileIsOnItsWayExactlyIfItIs(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%v", lost), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, o, with := sendingRig(t, files.Config{})
				path := filepath.Join(r.space, "a.txt")
				o.put = func() error { return os.Rename(path, path+".gone") } // it is open already
				p := r.start("w", with)
				r.say(0, "it has begun")
				r.wantAnswers(0, "re: it has begun")
				told := map[int]int{}
				for n := 1; n <= 20; n++ {
					if err := os.WriteFile(path, []byte("AAA"), 0o600); err != nil {
						t.Fatal(err)
					}
					p.store.arm(n, lost)
					r.say(n, "files 1")
					r.await(fmt.Sprint("the answer with operation ", n, " failing"), func() bool { ds := r.sentTo(n); return len(ds) > 0 && ds[len(ds)-1].File == nil })
					ds := r.sentTo(n)
					sent := len(ds) - 1
					if said := strings.Count(ds[sent].Text, "is on its way"); said != sent {
						t.Errorf("operation %d: %d files wait, and the model was told %q", n, sent, ds[sent].Text)
					}
					told[sent]++
				}
				if told[1] == 0 || !lost && told[0] == 0 {
					t.Errorf("so many files were sent so often: %v", told)
				}
				r.idle()
			})
		})
	}
}

// A worker that was paused between keeping a file and queuing it wakes up when
// another has sent the file, and changes nothing of it.
func TestALateOwnerNeitherSendsAFileNorChangesOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, o, with := sendingRig(t, files.Config{})
		begun, wake := make(chan struct{}), make(chan struct{})
		first := true
		o.put = func() error {
			o.mu.Lock()
			mine := first
			first = false
			o.mu.Unlock()
			if mine {
				close(begun)
				<-wake
			}
			return nil
		}
		a := r.start("a", with)
		r.say(1, "files 1")
		<-begun
		a.store.set(func(f *faults) { f.frozen = true })
		r.start("b", with)
		r.await("the answer of the other", func() bool { return len(r.sentTo(1)) == 2 })
		before := r.sentTo(1)
		close(wake)
		r.await("the first to be done", func() bool {
			o.mu.Lock()
			defer o.mu.Unlock()
			return len(o.kept) == 2
		})
		if d := r.sentTo(1); len(d) != 2 || d[0].File.Object != before[0].File.Object {
			t.Errorf("there wait %+v", d)
		}
		a.store.set(func(f *faults) { f.frozen = false })
	})
}

func TestWhatCannotBeSentIsSaidToTheModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*worker.Options, *objects)
		want   string
	}{
		"a chat without files": {func(w *worker.Options, _ *objects) {
			w.Settings.Files.Largest = func(string) (int64, bool) { return 0, true }
		}, "files cannot be sent into this chat"},
		"a network's limit": {func(w *worker.Options, _ *objects) {
			w.Settings.Files.Largest = func(string) (int64, bool) { return 2, true }
		}, "at most 2 bytes"},
		"a file that grows meanwhile": {func(_ *worker.Options, o *objects) { o.put = func() error { return broker.ErrTooLarge } }, "too large"},
		"a log that takes none":       {func(_ *worker.Options, o *objects) { o.put = func() error { return broker.ErrFull } }, "could not be taken on its way"},
		"nothing that sends":          {func(w *worker.Options, _ *objects) { w.Settings.Files = nil }, "no file can be sent from here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, o, with := sendingRig(t, files.Config{})
				r.start("w", with, func(w *worker.Options) { c.change(w, o) })
				r.say(1, "files 1")
				r.idle()
				if ds := r.sentTo(1); len(ds) != 1 || !strings.Contains(ds[0].Text, c.want) {
					t.Errorf("there wait %+v", ds)
				}
			})
		})
	}
	t.Run("a channel of another process may take it", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			r, _, with := sendingRig(t, files.Config{})
			r.start("w", with, func(w *worker.Options) { w.Settings.Files.Largest = func(string) (int64, bool) { return 0, false } })
			r.say(1, "files 1")
			r.idle()
			if ds := r.sentTo(1); len(ds) != 2 || ds[0].File == nil {
				t.Errorf("there wait %+v", ds)
			}
		})
	})
}

// What a turn has sent is sent, as what an earlier turn said is: stop ends what is
// still to come.
func TestAStoppedTurnHasSentWhatItSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, o, with := sendingRig(t, files.Config{})
		puts := 0
		o.put = func() error {
			if puts++; puts == 2 {
				r.say(1, "/stop")
				r.await("the request", func() bool { return r.mailbox(1).Controls > 0 })
				time.Sleep(5 * time.Second) // of the bubble's clock: the turn hears of it while this file is taken
			}
			return nil
		}
		r.start("w", with)
		r.say(1, "files 5")
		r.idle()
		ds := r.sentTo(1)
		if n := len(ds); n < 2 || n > 3 || ds[0].File == nil || !strings.HasPrefix(ds[n-1].Text, "Stopped.") {
			t.Errorf("there wait %+v", ds)
		}
	})
}
