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
		"nothing":               {"", "empty file"},
		"another file":          {"root:x:0:0:root:/root:/bin/bash\n", "line 1: not a recording of parley"},
		"other JSON":            {`{"type":"header"}` + "\n", "line 1: not a recording of parley"},
		"another version":       {strings.Replace(lines[0], `"version":1`, `"version":2`, 1), "line 1: recording has version 2, and this program reads version 1"},
		"no key":                {strings.Replace(lines[0], `"key":"main`, `"key":"`, 1), "line 1: the header's key"},
		"cut within a line":     {strings.Join(lines[:5], "") + lines[5][:40], "line 6: line cut off in the middle"},
		"cut behind a line":     {strings.Join(lines[:5], ""), "cut off after line 5: the last line is missing"},
		"a line that is broken": {strings.Join(lines[:4], "") + "{]\n" + strings.Join(lines[4:], ""), "line 5: damaged line"},
		"a value that is wrong": {strings.Join(lines[:n-1], "") + `{"type":"end","lines":"many"}`, "damaged line"},
		"an unknown line":       {strings.Join(lines[:4], "") + `{"type":"dream"}` + "\n", `line 5: line of the unknown type "dream"`},
		"a header more":         {strings.Join(lines[:4], "") + lines[0], "line 5: second header"},
		"a message less":        {without(find("message")), "lines are missing"},
		"a frame less":          {without(find("frame")), "unknown template"},
		"a session less":        {without(find("session")), "line 2: line of the unknown session"},
		"a cost less":           {without(find("cost")), "lines are missing"},
		"something behind":      {strings.Join(lines, "") + "\n" + lines[1], "line after the end of the recording"},
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
