package recording_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/gateway/recording"
)

func golden(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("../../replay/testdata/tools.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
}

func TestWhatIsNoWholeRecordingIsSaidWithItsLine(t *testing.T) {
	t.Parallel()
	lines := golden(t)
	n := len(lines)
	without := func(i int) string { return strings.Join(lines[:i], "") + strings.Join(lines[i+1:], "") }
	find := func(kind string) int {
		for i, l := range lines {
			if strings.HasPrefix(l, `{"type":"`+kind+`"`) {
				return i
			}
		}
		t.Fatalf("no line of type %s", kind)
		return 0
	}
	for name, c := range map[string]struct{ file, want string }{
		"nothing":               {"", "it is empty"},
		"another file":          {"root:x:0:0:root:/root:/bin/bash\n", "line 1: it is not a recording of parley"},
		"other JSON":            {`{"type":"header"}` + "\n", "line 1: it is not a recording of parley"},
		"another version":       {strings.Replace(lines[0], `"version":1`, `"version":2`, 1), "line 1: the recording is of version 2, and this program reads version 1"},
		"no key":                {strings.Replace(lines[0], `"key":"main`, `"key":"`, 1), "line 1: the header's key"},
		"cut within a line":     {strings.Join(lines[:5], "") + lines[5][:40], "line 6: it was cut off in the middle"},
		"cut behind a line":     {strings.Join(lines[:5], ""), "it was cut off behind line 5: its last line is missing"},
		"a line that is broken": {strings.Join(lines[:4], "") + "{]\n" + strings.Join(lines[4:], ""), "line 5: it is damaged"},
		"a value that is wrong": {strings.Join(lines[:n-1], "") + `{"type":"end","lines":"many"}`, "it is damaged"},
		"an unknown line":       {strings.Join(lines[:4], "") + `{"type":"dream"}` + "\n", `line 5: a line of type "dream", which this version does not know`},
		"a header more":         {strings.Join(lines[:4], "") + lines[0], "line 5: a second header"},
		"a message less":        {without(find("message")), "lines are missing"},
		"a frame less":          {without(find("frame")), "was not there before"},
		"a session less":        {without(find("session")), "line 2: the session"},
		"a cost less":           {without(find("cost")), "lines are missing"},
		"something behind":      {strings.Join(lines, "") + "\n" + lines[1], "something follows the last line"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := recording.Read(strings.NewReader(c.file))
			if !errors.Is(err, recording.ErrUnreadable) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if _, err := recording.Read(strings.NewReader(strings.Join(lines, ""))); err != nil {
		t.Errorf("without an end of the last line: %v", err)
	}
}

func TestFieldsOfALaterVersionArePassedOver(t *testing.T) {
	t.Parallel()
	lines := golden(t)
	for i := range lines {
		lines[i] = strings.Replace(lines[i], `{"type":`, `{"later":[1],"type":`, 1)
	}
	if _, err := recording.Read(strings.NewReader(strings.Join(lines, ""))); err != nil {
		t.Error(err)
	}
}

// Recordings of the version before do not say what joined a turn.
func TestWhatJoinedATurnIsReadFromTheMessagesOfAnEarlierRecording(t *testing.T) {
	t.Parallel()
	for says, want := range map[string][]uint64{"": {9}, `"joined":[4],`: {4}} {
		text := strings.Join(golden(t), "")
		text = strings.ReplaceAll(text, `-user",`, `-user-9",`)
		text = strings.ReplaceAll(text, `{"type":"turn",`, `{"type":"turn",`+says)
		r, err := recording.Read(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Turns) == 0 || !slices.Equal(r.Turns[0].Joined, want) {
			t.Errorf("with %q: %+v, want %v", says, r.Turns, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("{\"type\":\"header\"}\n")
	if b, err := os.ReadFile("../../replay/testdata/tools.jsonl"); err == nil {
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := recording.Read(strings.NewReader(s)); err != nil && !errors.Is(err, recording.ErrUnreadable) {
			t.Errorf("an error of another kind: %v", err)
		}
	})
}
