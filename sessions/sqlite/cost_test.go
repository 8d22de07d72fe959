package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"parley/sessions/sqlite"
)

// spent is what this process used so far: processor time in microseconds, and what it
// wrote in bytes.
func spent(tb testing.TB) (cpu, written float64) {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	io, err := os.ReadFile("/proc/self/io")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range bytes.Lines(io) {
		if n, ok := bytes.CutPrefix(line, []byte("wchar: ")); ok {
			written, err = strconv.ParseFloat(string(bytes.TrimSpace(n)), 64)
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3, written
}

// statementsOfTurn is how many statements the writer runs for a plain turn.
const statementsOfTurn = 28

// A plain turn in a conversation that is there costs three commits. The answer waits for two: that of
// the opening, which is that of the taking and of the reservation too, and that of the end, which is that
// of the mark before it is sent. More of them, or more statements, are to be noticed.
func TestAPlainTurnIsThreeCommits(t *testing.T) {
	t.Parallel()
	counts := map[int][2]int64{} // statements and commits, by the turns after the first ten
	for _, turns := range []int{0, 20} {
		s, err := sqlite.Open(t.Context(), sqlite.Options{
			Path: filepath.Join(t.TempDir(), "parley.db"), Linger: time.Hour, // what is taken is opened
		})
		if err != nil {
			t.Fatal(err)
		}
		d := newDesk(t, s, "ann")
		for i := range 10 + turns {
			d.turn(i)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		statements, commits := s.Work()
		counts[turns] = [2]int64{statements, commits}
	}
	statements, commits := counts[20][0]-counts[0][0], counts[20][1]-counts[0][1]
	if commits != 20*3 {
		t.Errorf("20 turns are %d commits, want 3 each", commits)
	}
	if statements != 20*statementsOfTurn {
		t.Errorf("20 turns are %d statements, want %d each", statements, statementsOfTurn)
	}
}

// BenchmarkCost is what a whole turn costs with the reads that go with it. Compare
// two versions by running them in turns: the processor's speed changes more from
// one minute to the next than most improvements gain.
func BenchmarkCost(b *testing.B) {
	for _, n := range []int{1, 16, 64} {
		b.Run(fmt.Sprint("chats=", n), func(b *testing.B) {
			s := openAt(b, filepath.Join(b.TempDir(), "parley.db"))
			desks, seqs := make([]*desk, n), make([]uint64, n)
			for g := range desks {
				desks[g] = deskAt(b, s, "ann", fmt.Sprint("chat-", g))
			}
			cpu, written := spent(b)
			spread(b, n, func(g, i int) {
				seqs[g]++
				desks[g].named(fmt.Sprint("turn-", i), seqs[g])
				id := fmt.Sprint("turn-", i)
				if _, err := s.Turn(b.Context(), id); err != nil {
					b.Error(err)
				}
				if _, err := s.Pending(b.Context(), "tg", 0, 100); err != nil {
					b.Error(err)
				}
			})
			cpu2, written2 := spent(b)
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			statements, commits := s.Work()
			b.ReportMetric(float64(statements)/float64(b.N), "statements/op")
			b.ReportMetric(float64(commits)/float64(b.N), "commits/op")
			b.ReportMetric((cpu2-cpu)/float64(b.N), "cpu_us/op")
			b.ReportMetric((written2-written)/4120/float64(b.N), "pages/op")
		})
	}
}
