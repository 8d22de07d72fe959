package faulttest_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"parley/costs"
	"parley/gateway/admin"
	"parley/gateway/backup"
	"parley/gateway/faulttest"
	"parley/sessions/sqlite"
)

// The gateway is backed up under load, works on, and is killed; its state folder is lost and
// restored. Nothing that was accepted before the backup is lost, the ledger is that of the
// backup, and what was answered since is answered again only with the mark of a repeat.
func TestABackupUnderLoadIsRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		log   bool // the message log is still there
		again int  // questions of each conversation, behind the first
	}{
		"everything is lost":   {false, 2},
		"the database is lost": {true, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRestore(t, c.log, c.again)
		})
	}
}

func testRestore(t *testing.T, keepLog bool, again int) {
	hold := gates{1: make(chan struct{})}
	run := faulttest.Open(t, faulttest.Options{
		Engine: faulttest.Embedded(), Brain: hold.brain,
		Shape: faulttest.Shape{Conversations: 5, Messages: 5, Tools: -1, Spawns: -1},
	})
	open := sync.OnceFunc(func() { close(hold[1]) })
	t.Cleanup(open)
	run.Start()
	state, file := filepath.Join(run.Dir, "state"), filepath.Join(t.TempDir(), "backup.zip")
	client := run.Admin()
	var then costs.Amount
	run.Drive(func(ctx context.Context) {
		defer open()
		heldAt(t, run, 1) // one question is answered, the second is at the model, the third waits
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
		if err == nil {
			err = client.Backup(ctx, false, f)
		}
		if err != nil {
			t.Error(err)
			return
		}
		_ = f.Close()
		report, err := client.Usage(ctx, admin.UsageQuery{By: "model"}) // nothing is booked while the model is silent
		if err != nil {
			t.Error(err)
		}
		then = costs.Amount(report.Total.Cost)
	})
	if t.Failed() {
		return
	}
	questions, convs := run.Workload.Shape.Messages, len(run.Workload.Conversations)
	run.KillAnd(0, func() {
		old := filepath.Join(run.Dir, "old")
		if err := os.Rename(state, old); err != nil {
			t.Error(err)
		}
		restoreTo(t, file, state)
		if keepLog {
			log := filepath.Join(state, "log")
			if err := errors.Join(os.RemoveAll(log), os.Rename(filepath.Join(old, "log"), log)); err != nil {
				t.Error(err)
			}
		}
		if now := spent(t, filepath.Join(state, backup.Database)); now != then || now == 0 {
			t.Errorf("the ledger of the restored database has %v, and that of the backup %v", now, then)
		}
	})
	run.Await("what the backup and the log have unanswered to be answered again", func() bool {
		n := 0
		for _, m := range run.Telegram.Books().Messages {
			if strings.HasPrefix(m.Text(), "(This may be a repeat.)") {
				n++
			}
		}
		return n >= again*convs
	})
	run.Restart(0) // what waits is sent
	tag := regexp.MustCompile(`answer (m\d+x\d+) .* fin$`)
	copies := map[string][2]int{}
	for _, m := range run.Telegram.Books().Messages {
		found := tag.FindStringSubmatch(m.Text())
		if found == nil {
			t.Errorf("a chat shows %q", m.Text())
			continue
		}
		c := copies[found[1]]
		if strings.HasPrefix(m.Text(), "answer") {
			c[0]++
		} else {
			c[1]++
		}
		copies[found[1]] = c
	}
	for _, conv := range run.Workload.Conversations {
		for _, q := range conv.Questions {
			want := [2]int{1, 0} // it was answered before the backup, or is lost
			if q.Number >= 1 && q.Number <= again {
				want[1] = 1
			}
			if copies[q.Tag()] != want {
				t.Errorf("%s was answered %d times, and %d times marked as a repeat, not %v", q.Tag(), copies[q.Tag()][0], copies[q.Tag()][1], want)
			}
		}
	}
	if len(copies) != questions*convs {
		t.Errorf("%d questions were answered, not %d", len(copies), questions*convs)
	}
	if all := strings.Join(logs(t, run), ""); strings.Contains(all, "message log truncated or replaced") || strings.Contains(all, "unread messages lost") {
		t.Error("the restored message log is taken for another one")
	}
}

// restoreTo makes a state folder of a backup.
func restoreTo(t *testing.T, file, dir string) {
	t.Helper()
	a, err := backup.Open(t.Context(), file)
	if err != nil {
		t.Error(err)
		return
	}
	defer func() { _ = a.Close() }()
	if err := a.Restore(t.Context(), dir, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

// spent is the sum of a database's ledger, which must add up.
func spent(t *testing.T, path string) (sum costs.Amount) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = s.Close() }()
	totals, err := s.Totals(t.Context())
	if err = errors.Join(err, s.Check(t.Context())); err != nil {
		t.Error(err)
	}
	for _, total := range totals {
		sum += total.Amount
	}
	return sum
}
