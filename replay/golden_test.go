package replay_test

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/gateway/policy"
	"parley/gateway/recording"
	"parley/replay"
)

var update = flag.Bool("update", false, "record the golden conversations again")

// run replays a file with this version's prices.
func run(t *testing.T, file []byte) *replay.Report {
	t.Helper()
	r, err := recording.Read(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	report, err := replay.Run(t.Context(), r, replay.Options{Current: true})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// said is a report as people read it.
func said(t *testing.T, r *replay.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What was recorded once is the same today: what models are asked, what tools
// are called, what people get, what it costs. When it legitimately is not,
//
//	go test ./replay -run Golden -update
//
// records the conversations again.
func TestGoldenRecordingsReplayTheSame(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join("testdata", name+".jsonl")
			if *update {
				if err := os.WriteFile(file, scene(t), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			recorded, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := run(t, recorded)
			if !r.Same() || r.Calls == 0 || r.Replies == 0 {
				t.Errorf("%s\nWhen that is meant: go test ./replay -run Golden -update", said(t, r))
			}
			if dir := os.TempDir(); bytes.Contains(recorded, []byte(dir+"/")) {
				t.Errorf("a path of this machine is in it: %s", dir)
			}
		})
	}
}

func TestAConversationOfNowReplaysTheSame(t *testing.T) {
	t.Parallel()
	if r := run(t, subagents(t)); !r.Same() || len(r.Notes) > 0 || r.Calls != 8 {
		t.Error(said(t, r))
	}
}

// When a message joined a turn hangs on the moment; where it joins in a replay does
// not.
func TestWhatJoinedATurnJoinsAgainAtTheSamePlace(t *testing.T) {
	t.Parallel()
	for _, busy := range []policy.WhileBusy{policy.Steer, policy.Queue} {
		recorded := meanwhile(t, busy)
		for range 4 {
			if r := run(t, recorded); !r.Same() || len(r.Notes) > 0 {
				t.Fatalf("%s: %s", busy, said(t, r))
			}
		}
	}
}

func TestEveryGoldenRecordingHasItsScene(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) != len(scenes) {
		t.Errorf("%d recordings, %d scenes: %v", len(files), len(scenes), err)
	}
}

// withoutSockets is a folder without what cannot be copied.
type withoutSockets struct{ fs.FS }

func (w withoutSockets) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(w.FS, name)
	return slices.DeleteFunc(all, func(e fs.DirEntry) bool { return !e.IsDir() && !e.Type().IsRegular() }), err
}

// AI04: a recording of now says that plan mode was on before anything was said.
func TestAConversationInPlanModeReplaysTheSame(t *testing.T) {
	t.Parallel()
	if r := run(t, planned(t)); !r.Same() || r.Turns != 4 {
		t.Error(said(t, r))
	}
}
