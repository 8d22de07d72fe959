package prompt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"parley/agent/prompt"
	"parley/sessionkeys"
)

// folder makes one with these files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadInstructions(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"TOOLS.md": "t", "AGENTS.md": "a", "SOUL.md": "s", "agents.txt": "x"})
	only := folder(t, map[string]string{"TOOLS.md": "t"})
	for path, want := range map[string][]prompt.File{
		dir:                           {{Name: "AGENTS.md", Text: "a"}, {Name: "TOOLS.md", Text: "t"}},
		only:                          {{Name: "TOOLS.md", Text: "t"}},
		filepath.Join(dir, "SOUL.md"): {{Name: "SOUL.md", Text: "s"}},
	} {
		got, err := prompt.ReadInstructions(path)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", path, err, d)
		}
	}
}

func TestReadInstructionsNamesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	pipe := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(pipe, "AGENTS.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	inside := t.TempDir()
	if err := os.Mkdir(filepath.Join(inside, "AGENTS.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(t.TempDir(), "gone")
	for path, want := range map[string]string{
		gone: gone + ": no such file",
		folder(t, map[string]string{"README.md": "x"}):      ": holds neither AGENTS.md nor TOOLS.md",
		folder(t, map[string]string{"AGENTS.md": "a\xffb"}): "AGENTS.md: not text in UTF-8",
		folder(t, map[string]string{"TOOLS.md": "\x00"}):    "TOOLS.md: not text in UTF-8",
		pipe:                             "AGENTS.md: neither a regular file nor a folder",
		filepath.Join(pipe, "AGENTS.md"): "AGENTS.md: neither a regular file nor a folder",
		inside:                           "AGENTS.md: neither a regular file nor a folder",
	} {
		if got, err := prompt.ReadInstructions(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || got != nil {
			t.Errorf("%s: %v, %v", path, got, err)
		}
	}
	if _, err := prompt.ReadInstructions("/proc/self/mem"); runtime.GOOS == "linux" && (err == nil || !strings.Contains(err.Error(), "/proc/self/mem: ")) {
		t.Errorf("a file that cannot be read from its beginning: %v", err)
	}
	if os.Geteuid() != 0 { // root reads everything
		dir := folder(t, map[string]string{"AGENTS.md": "a"})
		if err := os.Chmod(filepath.Join(dir, "AGENTS.md"), 0); err != nil {
			t.Fatal(err)
		}
		if _, err := prompt.ReadInstructions(dir); err == nil || !strings.Contains(err.Error(), "AGENTS.md: permission denied") {
			t.Errorf("%v", err)
		}
	}
}

func TestALongFileIsCutAndSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, shown string }{
		"as long as may be":     {strings.Repeat("x", prompt.MaxFile), strings.Repeat("x", prompt.MaxFile)},
		"at the end of a line":  {strings.Repeat("123456\n", 2000), strings.Repeat("123456\n", prompt.MaxFile/7)},
		"letters of one byte":   {strings.Repeat("x", prompt.MaxFile+9), strings.Repeat("x", prompt.MaxFile)},
		"a line without an end": {"x" + strings.Repeat("ä", prompt.MaxFile), "x" + strings.Repeat("ä", prompt.MaxFile/2-1)},
	} {
		fs, err := prompt.ReadInstructions(folder(t, map[string]string{"AGENTS.md": c.text}))
		if err != nil {
			t.Fatal(err)
		}
		if fs[0].Text != c.shown {
			t.Errorf("%s: %d bytes, not %d", name, len(fs[0].Text), len(c.shown))
		}
		got := prompt.Agent{Instructions: fs}.Full(nil, key(t, sessionkeys.DM, "1"), noon)[0].Text
		notice := fmt.Sprintf("\n\n[AGENTS.md is cut here: %d of its %d bytes are shown]", len(c.shown), len(c.text))
		if strings.HasSuffix(got, notice) != (c.shown != c.text) || !utf8.ValidString(got) {
			t.Errorf("%s: the end is %q", name, got[len(got)-100:])
		}
	}
}

func TestFitInstructionsKeepsTheWholeWithinBounds(t *testing.T) {
	t.Parallel()
	var all []prompt.File
	for i := range 7 {
		all = append(all, prompt.File{Name: fmt.Sprint("f", i), Text: strings.Repeat(strings.Repeat("x", 99)+"\n", 110)})
	}
	sum := 0
	for i, f := range prompt.FitInstructions(all) {
		sum += len(f.Text)
		want := []int{11_000, 11_000, 11_000, 11_000, 11_000, 5_000, 0}[i]
		if len(f.Text) != want || (f.Size == 11_000) != (want < 11_000) {
			t.Errorf("%s: %d of %d bytes", f.Name, len(f.Text), f.Size)
		}
	}
	if sum != prompt.MaxFiles {
		t.Errorf("%d bytes", sum)
	}
	if len(all[6].Text) != 11_000 {
		t.Error("what was given was changed")
	}
	got := prompt.Agent{Instructions: prompt.FitInstructions(all)}.Full(nil, key(t, sessionkeys.DM, "1"), noon)[0].Text
	for _, want := range []string{"[f5 is cut here: 5000 of its 11000 bytes are shown]", "[f6 is cut here: 0 of its 11000 bytes are shown]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said", want)
		}
	}
}

func TestCheckCatalogue(t *testing.T) {
	t.Parallel()
	var all []prompt.Skill
	for i := range 16 {
		all = append(all, prompt.Skill{Name: fmt.Sprintf("skill-%02d", i), Description: strings.Repeat("x", 1024)})
	}
	if err := prompt.CheckCatalogue(all[:15]); err != nil {
		t.Error(err)
	}
	if err := prompt.CheckCatalogue(all); err == nil || !strings.Contains(err.Error(), "these 16 skills have 16") {
		t.Errorf("%v", err)
	}
}
