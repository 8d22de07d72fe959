package sqlite_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"parley/disks"
	"parley/disks/diskstest"
	"parley/sessions"
	"parley/sessions/sqlite"
)

func TestWithoutRoomNothingIsLostAndWithRoomItGoesOn(t *testing.T) {
	t.Parallel()
	diskstest.Run(t, func(t *testing.T, mount func(int) *diskstest.Disk) {
		d := mount(16 << 20)
		path := filepath.Join(d.Dir, "parley.db")
		s := openAt(t, path)
		w := newDesk(t, s, "ann")
		for i := range 20 {
			w.turn(i)
		}
		session := w.session()
		for round := range 3 {
			d.Fill()
			if err := s.Probe(t.Context()); !errors.Is(err, disks.ErrFull) {
				t.Fatalf("Probe: %v", err)
			}
			// Single writes may find room in the log, but not for ever.
			until := time.Now().Add(time.Hour)
			var err error
			for i := 0; err == nil; i++ {
				until = until.Add(time.Second)
				err = s.Heartbeat(t.Context(), sessions.Worker{Name: "much", Nonce: "to write"}, until)
			}
			if !disks.IsFull(err) || errors.Is(err, sessions.ErrDamaged) {
				t.Fatalf("a write: %v", err)
			}
			if ms, err := s.Messages(t.Context(), session); err != nil || len(ms) != 40+2*round {
				t.Fatalf("%d messages, %v", len(ms), err)
			}
			d.Free()
			if err := s.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.turn(20 + round)
		}
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}

		// Closed and opened on a full disk it says so, and takes no harm.
		d.Fill()
		if err := s.Close(); err != nil {
			t.Errorf("closed with %v", err)
		}
		if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path}); !disks.IsFull(err) || errors.Is(err, sessions.ErrDamaged) {
			t.Errorf("opened with %v", err)
		}
		d.Free()
		s = openAt(t, path)
		if err := s.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		if ms, err := s.Messages(t.Context(), session); err != nil || len(ms) != 46 {
			t.Errorf("%d messages, %v", len(ms), err)
		}
	})
}

func TestTheLeasesOfEarlierProcessesEndWhenTheFileIsOpened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	s := openAt(t, path)
	w := newDesk(t, s, "ann")
	if err := s.Heartbeat(t.Context(), w.w, time.Now().Add(24*time.Hour)); err != nil { // the clock was set back since
		t.Fatal(err)
	}
	touch := sessions.Touch{Token: w.key.Token(), Key: w.key, Seq: 1, By: w.w, Take: true, Now: time.Now()}
	if _, got, err := s.Touch(t.Context(), touch); err != nil || !got {
		t.Fatalf("taken: %v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	other := sessions.Worker{Name: "another-name", Nonce: "n"}
	if err := s.Heartbeat(t.Context(), other, time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if ms, err := s.Recover(t.Context(), other, time.Now(), 10); err != nil || len(ms) != 1 {
		t.Errorf("%d mailboxes, %v", len(ms), err)
	}
}
