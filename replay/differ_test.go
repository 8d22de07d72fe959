package replay_test

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"parley/gateway/recording"
	"parley/replay"
)

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Recordings that another program might have made: each is changed in one place,
// and the replay names it.
func TestWhatIsDifferentIsSaidInItsPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, old, new string
		kind           replay.Kind
		want           string
	}{
		"a word of the system message": {"commands", "You are an assistant", "You were an assistant", replay.Requests, "system message, block 1, line 1:\n- You were an"},
		"a tool's description":         {"commands", `"name":"glob","description":"`, `"name":"glob","description":"Once, `, replay.Requests, "description of tool glob"},
		"a tool less":                  {"commands", `"name":"glob",`, `"name":"glib",`, replay.Requests, "tool glib:\n- is offered\n+ is not\ntool glob:\n- is not offered\n+ is"},
		"the length of an answer":      {"commands", `"max_tokens":4096,"digest`, `"max_tokens":5096,"digest`, replay.Requests, "most output tokens"},
		"what a call cost":             {"commands", `"amount":`, `"amount":1`, replay.Costs, "pico-dollars ($"},
		"an answer's text":             {"commands", `"text":"A new conversation`, `"text":"The new conversation`, replay.Replies, "- The new conversation"},
		"how an answer is shown":       {"tools", `{"type":"bold"`, `{"type":"italic"`, replay.Replies, "part 1 as it is sent"},
		"how a turn ended":             {"tools", `"state":"done","outcome":"end_turn"`, `"state":"done","outcome":"max_tokens"`, replay.Turns, "outcome:\n- max_tokens\n+ end_turn"},
		"a file that is not sent":      {"files", `"tools":null`, `"tools":["write_file"]`, replay.Replies, "file:\n- a_1.txt, text/plain; charset=utf-8, 4 bytes\n+ (it is not sent)"},
		"a denial":                     {"tools", "Error: Permission denied", "Error: Permission refused", replay.ToolCalls, "Permission"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := read(t, c.file)
			if !strings.Contains(file, c.old) {
				t.Fatalf("%s is not in the recording", c.old)
			}
			r := run(t, []byte(strings.ReplaceAll(file, c.old, c.new)))
			for _, d := range r.Differences {
				if d.Kind == c.kind && strings.Contains(d.What, c.want) {
					return
				}
			}
			t.Errorf("it says\n%s", said(t, r))
		})
	}
}

// What the log had no more is made again from the transcript, and reads the
// same.
func TestMessagesThatWerePrunedAreMadeAgain(t *testing.T) {
	t.Parallel()
	body := regexp.MustCompile(`("type":"envelope","session":"[^"]*","seq":[0-9]+),.*`)
	for _, name := range []string{"group", "commands", "edited"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := body.ReplaceAllString(read(t, name), `$1,"pruned":true}`)
			r := run(t, []byte(file))
			for _, d := range r.Differences {
				if !strings.Contains(d.What, "A new conversation") { // nothing asks for it now
					t.Error(said(t, r))
				}
			}
			if len(r.Notes) == 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "made again from the transcript") {
				t.Errorf("notes: %q", r.Notes)
			}
		})
	}
}

func TestATurnThatWasOpenIsReplayedAsFarAsItHadGone(t *testing.T) {
	t.Parallel()
	lines := strings.SplitAfter(read(t, "tools"), "\n")
	var kept []string
	for _, l := range lines[:len(lines)-1] {
		if strings.Contains(l, `/root/2/1"`) && strings.HasPrefix(l, `{"type":"cost"`) {
			break
		}
		kept = append(kept, strings.Replace(l, `"state":"done","outcome":"end_turn"`, `"state":"open"`, 1))
	}
	kept = append(kept, `{"type":"end","lines":`+strconv.Itoa(len(kept))+`}`)
	r := run(t, []byte(strings.Join(kept, "")))
	if !r.Same() || !strings.Contains(strings.Join(r.Notes, "\n"), "was open at the export") {
		t.Error(said(t, r))
	}
}

func TestWhatCannotBeReplayedIsSaid(t *testing.T) {
	t.Parallel()
	file := read(t, "commands")
	for name, c := range map[string]struct{ old, new, want string }{
		"an agent that is gone": {`"agents":{"main":`, `"agents":{"other":`, `its agent "main" was not configured any more`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := recording.Read(bytes.NewReader([]byte(strings.Replace(file, c.old, c.new, 1))))
			if err != nil {
				t.Fatal(err)
			}
			_, err = replay.Run(t.Context(), r, replay.Options{})
			if !errors.Is(err, replay.ErrNotReplayable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
