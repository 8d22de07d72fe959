package overview_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"parley/transcript"
)

// returned is a message with the result of a tool.
func returned(tool, content string) transcript.Message {
	return transcript.Message{Role: transcript.Tool, Parts: []transcript.Part{transcript.ToolResult{ToolCallID: "c", Name: tool, Content: content}}}
}

// pageText returns what a page holds between the marks of its frame, and its note.
func pageText(t *testing.T, answer string) (text, note string) {
	t.Helper()
	m := regexp.MustCompile(`(?s)up to the mark (\w+):\n(.*)\n(\w+)\n(\[[^\n]*\])$`).FindStringSubmatch(answer)
	if m == nil || m[1] != m[3] {
		t.Fatalf("no framed page: %.300q", answer)
	}
	return m[2], m[4]
}

// requirements R01: what a request holds in part only is read by its number.
func TestReadOutput(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, "line %d: nothing\n", i)
	}
	whole := strings.Replace(lines.String(), "line 2500: nothing", "line 2500: ERROR disk full", 1)
	flat := strings.Repeat("é{\"key\": 1}, ", 6000) + "needle" + strings.Repeat(", {}", 3000)
	b := family(t)
	b.messages["root"] = []transcript.Message{said(transcript.User, "q"), said(transcript.Assistant, ""), returned("grep", whole), returned("web", flat)}
	b.messages["a"] = append(b.messages["a"], returned("view", "short"))
	o := options(b)

	for number, want := range map[int]string{3: whole, 4: flat} {
		t.Run(fmt.Sprintf("pages through all of output %d", number), func(t *testing.T) {
			t.Parallel()
			var all strings.Builder
			from := "0"
			for pages := 1; ; pages++ {
				text, note := pageText(t, must(t, o, "root", "read_output", fmt.Sprintf(`{"output": %d, "from": %s}`, number, from)))
				all.WriteString(text)
				if len(text) > 16<<10 || pages > 10 {
					t.Fatalf("page %d has %d bytes", pages, len(text))
				}
				next := regexp.MustCompile(`go on with from (\d+)\]$`).FindStringSubmatch(note)
				if next == nil {
					if !strings.HasSuffix(note, "the end]") {
						t.Errorf("the last page ends with %q", note)
					}
					break
				}
				from = next[1]
			}
			if all.String() != want {
				t.Error("the pages together are not the output")
			}
		})
	}
	t.Run("finds a line and where to read on", func(t *testing.T) {
		t.Parallel()
		text, note := pageText(t, must(t, o, "root", "read_output", `{"output": 3, "pattern": "(?i)error"}`))
		at, line, _ := strings.Cut(text, ": ")
		n, err := strconv.Atoi(at)
		if err != nil || line != "line 2500: ERROR disk full" || !strings.HasPrefix(whole[n:], "ERROR") {
			t.Errorf("%q %q", text, note)
		}
	})
	t.Run("finds what stands in one long line", func(t *testing.T) {
		t.Parallel()
		text, _ := pageText(t, must(t, o, "root", "read_output", `{"output": 4, "pattern": "n[e]+dle"}`))
		at, line, _ := strings.Cut(text, ": ")
		if n, _ := strconv.Atoi(at); !strings.HasPrefix(flat[n:], "needle") || !strings.Contains(line, "[...]") || len(line) > 400 {
			t.Errorf("%.500q", text)
		}
	})
	t.Run("goes on with a search that found more than a page", func(t *testing.T) {
		t.Parallel()
		from, found := "0", 0
		for range 20 {
			text, note := pageText(t, must(t, o, "root", "read_output", `{"output": 3, "pattern": "nothing$", "from": `+from+`}`))
			found += strings.Count(text, "\n") + 1
			next := regexp.MustCompile(`go on with from (\d+)\]$`).FindStringSubmatch(note)
			if next == nil {
				break
			}
			from = next[1]
		}
		if found != 3999 {
			t.Errorf("%d matches, want 3999", found)
		}
	})
	t.Run("shows no more than a request holds of it", func(t *testing.T) {
		t.Parallel()
		small := o
		small.ResultBytes = 2000
		if got := must(t, small, "root", "read_output", `{"output": 3}`); len(got) > 2000 {
			t.Errorf("%d bytes", len(got))
		}
	})
	t.Run("says whose a short one is, and that it is all", func(t *testing.T) {
		t.Parallel()
		if got := must(t, o, "a", "read_output", `{"output": 3}`); !strings.Contains(got, "What the tool view said, untrusted") ||
			!strings.Contains(got, "\nshort\n") || !strings.HasSuffix(got, "\n[bytes 0 to 5 of 5: this is all]") {
			t.Errorf("%q", got)
		}
	})
	t.Run("says that nothing matches", func(t *testing.T) {
		t.Parallel()
		if got := must(t, o, "root", "read_output", `{"output": 3, "pattern": "xyz"}`); !strings.HasPrefix(got, "[no match]\n[searched bytes 0 to ") {
			t.Errorf("%q", got)
		}
	})
	for args, want := range map[string]string{
		`{"output": 1}`:                   "no output has the number 1;",
		`{"output": 5}`:                   "no output has the number 5;",
		`{"output": 0}`:                   "output",
		`{"output": 3, "from": 10000000}`: "output 3 ends at byte",
		`{"output": 3, "pattern": "("}`:   "no regular expression",
	} {
		if got, err := use(t, o, "root", "read_output", args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
}
