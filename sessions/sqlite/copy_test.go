package sqlite_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"parley/sessions"
	"parley/sessions/sqlite"
)

// A copy is made while others write, and has all that was answered before.
func TestACopyHasAllThatWasAnsweredBefore(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := openAt(t, filepath.Join(dir, "parley.db"))
	if _, err := s.StartGeneration(ctx, "a log"); err != nil {
		t.Fatal(err)
	}
	notice := func(id string) {
		if _, err := s.Notice(ctx, sessions.InboxID{Channel: "telegram", Event: id}, []sessions.Outgoing{{ID: id, Channel: "tg", Text: id, At: noon}}, noon); err != nil {
			t.Error(err)
		}
	}
	for i := range 50 {
		notice("before " + strconv.Itoa(i))
	}
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				notice("beside " + strconv.Itoa(i))
			}
		}
	})
	path := filepath.Join(dir, "copy.db")
	c, err := s.CopyTo(ctx, path)
	close(stop)
	writer.Wait()
	want, schemaErr := sqlite.Schema()
	if err != nil || schemaErr != nil || c.Generation != "a log" || c.Schema != want {
		t.Fatalf("copied %+v: %v, %v", c, err, schemaErr)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", st.Mode(), err)
	}
	if _, err := s.CopyTo(ctx, path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a file that is there it copied with %v", err)
	}

	other := openAt(t, path)
	for _, c := range []struct {
		generation string
		through    uint64
		ok         bool
	}{{"another log", 7, false}, {"a log", 7, true}, {"a log", 7, true}} {
		if err := other.Adopt(ctx, c.generation, c.through); (err == nil) != c.ok {
			t.Errorf("with %q up to %d it is adopted with %v", c.generation, c.through, err)
		}
	}
	for i := range 50 {
		if d, err := other.Delivery(ctx, "before "+strconv.Itoa(i)); err != nil || !d.MaybeDuplicate {
			t.Errorf("%+v, %v: want an answer that may be a repeat", d, err)
		}
	}
	if doubt, err := other.AmbiguousThrough(ctx); err != nil || doubt != 7 {
		t.Errorf("in doubt up to %d, %v", doubt, err)
	}
}
