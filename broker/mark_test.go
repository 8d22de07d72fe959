package broker

import (
	"context"
	"testing"
	"time"
)

func TestTheLogRemembersHowFarTheStoreBesideItWas(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, c := range []struct{ note, want uint64 }{{7, 0}, {5, 7}, {9, 7}, {0, 9}, {0, 9}} {
		b, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.OpenReport().Store; got != c.want {
			t.Errorf("opening %d: the store was at %d, not %d", i, got, c.want)
		}
		b.NoteStore(c.note)
		if i == 2 {
			b.updateMark() // the watchdog's part; the next opening has it without an orderly end
			m, err := readMark(dir)
			if err != nil || m.Store != c.note || m.Clean {
				t.Errorf("the watchdog wrote down %+v (%v)", m, err)
			}
		}
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestWhatWasConfirmedIsKnownAfterwards(t *testing.T) {
	t.Parallel()
	b := open(t, func(o *Options) { o.Dir = t.TempDir() })
	if seq, err := b.ConfirmedThrough(t.Context()); err != nil || seq != 0 {
		t.Errorf("before anything: %d, %v", seq, err)
	}
	for i := range 3 {
		publish(t, b, envelope(1, i))
	}
	background(t, func(ctx context.Context) error {
		return b.Consume(ctx, func(context.Context, WakeUp) error { return nil })
	})
	for patience := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		seq, err := b.ConfirmedThrough(t.Context())
		if err == nil && seq == 3 {
			return
		}
		if time.Now().After(patience) {
			t.Fatalf("confirmed is %d, %v", seq, err)
		}
	}
}
