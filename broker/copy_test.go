package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
)

// copyOf copies a log into memory.
func copyOf(t *testing.T, b *Broker) (generation string, streams []StreamCopy, contents map[string]*bytes.Buffer) {
	t.Helper()
	contents = map[string]*bytes.Buffer{}
	generation, streams, err := b.Copy(t.Context(), func(stream string) (io.Writer, error) {
		contents[stream] = &bytes.Buffer{}
		return contents[stream], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return generation, streams, contents
}

// A copy is made while the log is used. What is restored of it has the messages, places and
// the generation that it had, also when it is copied and restored once more.
func TestACopyOfTheLogIsRestored(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir = t.TempDir() })
	for i := range 20 {
		if _, err := b.Publish(t.Context(), envelope(i%3, i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.PutFile(t.Context(), "a-file", strings.NewReader("its content"), 1<<10); err != nil {
		t.Fatal(err)
	}
	if err := b.inbound.DeleteMsg(t.Context(), 20); err != nil { // the last place is empty
		t.Fatal(err)
	}
	want, last, err := b.Generation(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		generation, streams, contents := copyOf(t, b)
		if _, err := b.Publish(t.Context(), envelope(1, 99)); err != nil { // it goes on
			t.Fatal(err)
		}
		dir := t.TempDir()
		reached, err := Restore(t.Context(), Options{Dir: dir}, generation, streams, func(stream string) (io.ReadCloser, error) {
			return io.NopCloser(contents[stream]), nil
		})
		if err != nil || reached != last {
			t.Fatalf("restored up to %d, not %d: %v", reached, last, err)
		}
		b = open(t, func(o *Options) { o.Dir = dir })
		if r := b.OpenReport(); r.HasLoss() || len(r.Problems) > 0 || r.Generation != want {
			t.Errorf("opened with %+v", r)
		}
		for i := range 19 {
			e, err := b.NextAtLeast(t.Context(), token(i%3), uint64(i), last)
			if err != nil || e.Seq != uint64(i+1) || e.ID != envelope(i%3, i).ID {
				t.Errorf("message %d: %+v, %v", i, e, err)
			}
		}
		file, _, err := b.OpenFile(t.Context(), "a-file")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(file); err != nil || string(text) != "its content" {
			t.Errorf("the file holds %q, %v", text, err)
		}
		_ = file.Close()
	}
}

// A dead letter that is redelivered while the log is copied is queued first and then deleted: the copy has it
// once at least.
func TestACopyHasALetterThatIsRedeliveredMeanwhile(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir = t.TempDir() })
	e := envelope(1, 7)
	if err := b.DeadLetter(t.Context(), DeadLetter{ID: e.ID, Reason: "attempts", Key: e.Key, Body: e.Body}); err != nil {
		t.Fatal(err)
	}
	contents := map[string]*bytes.Buffer{}
	generation, streams, err := b.Copy(t.Context(), func(stream string) (io.Writer, error) {
		if len(contents) == 1 {
			if _, err := b.Publish(t.Context(), e); err != nil {
				return nil, err
			}
			letters, err := b.DeadLetters(t.Context(), 0, 1)
			if err != nil || len(letters) != 1 {
				return nil, fmt.Errorf("%d letters: %w", len(letters), err)
			}
			if err := b.DeleteDeadLetter(t.Context(), letters[0].Seq); err != nil {
				return nil, err
			}
		}
		contents[stream] = &bytes.Buffer{}
		return contents[stream], nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	last, err := Restore(t.Context(), Options{Dir: dir}, generation, streams, func(stream string) (io.ReadCloser, error) {
		return io.NopCloser(contents[stream]), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b = open(t, func(o *Options) { o.Dir = dir })
	letters, err := b.DeadLetters(t.Context(), 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	queued, err := b.NextAtLeast(t.Context(), e.Token, 0, last)
	if err != nil && !errors.Is(err, ErrNone) {
		t.Fatal(err)
	}
	if len(letters) == 0 && queued.ID != e.ID {
		t.Fatalf("restored is neither the letter nor the message %s", e.ID)
	}
}

func TestACopyThatIsCutOffIsNotRestored(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir = t.TempDir() })
	if _, err := b.Publish(t.Context(), envelope(1, 1)); err != nil {
		t.Fatal(err)
	}
	generation, streams, contents := copyOf(t, b)
	half := contents[streamInbound].Bytes()
	contents[streamInbound] = bytes.NewBuffer(half[:len(half)/2])
	_, err := Restore(t.Context(), Options{Dir: t.TempDir()}, generation, streams, func(stream string) (io.ReadCloser, error) {
		return io.NopCloser(contents[stream]), nil
	})
	if err == nil || !strings.Contains(err.Error(), "stream INBOUND") {
		t.Errorf("restored with %v", err)
	}
}

func TestTheLogOfAServerAtAURLIsNotCopied(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	b := open(t, func(o *Options) { o.URL = url })
	if _, _, err := b.Copy(context.Background(), nil); !errors.Is(err, ErrElsewhere) {
		t.Errorf("copied with %v", err)
	}
}

// The tools of NATS keep a stream's configuration when they restore it, and not when it was made.
func TestALogAtAURLSaysItselfWhichItIs(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	names := make(chan string, 4)
	var opening sync.WaitGroup
	for range cap(names) { // only one of them makes it
		opening.Go(func() {
			b, err := Open(t.Context(), Options{URL: url})
			if err != nil {
				t.Error(err)
				return
			}
			name, _, err := b.Generation(t.Context())
			if err = errors.Join(err, b.Close(context.Background())); err != nil {
				t.Error(err)
			}
			names <- name
		})
	}
	opening.Wait()
	close(names)
	b := open(t, func(o *Options) { o.URL = url })
	info, err := b.inbound.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name := range names {
		if want := info.Config.Metadata[generationKey]; name != want || want == "" {
			t.Errorf("a process knows the log as %q, and its configuration as %q", name, want)
		}
	}
}
