package terminal_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/terminal"
	"parley/cmd/parley/terminal/terminaltest"
)

// desk is a screen and who sits before it.
type desk struct {
	*terminal.Screen

	paper *terminaltest.Paper
	keys  *io.PipeWriter
	lines chan string
	ends  chan error
}

func sit(t *testing.T, columns int) *desk {
	t.Helper()
	in, keys := io.Pipe()
	d := &desk{paper: terminaltest.New(columns), keys: keys, lines: make(chan string), ends: make(chan error, 1)}
	d.Screen = terminal.New(in, d.paper, func() (int, int) { return d.paper.Columns, 24 })
	t.Cleanup(func() { _ = keys.Close() })
	return d
}

// read reads a line beside the test.
func (d *desk) read() {
	go func() {
		line, err := d.ReadLine("ann> ")
		if err != nil {
			d.ends <- err
			return
		}
		d.lines <- line
	}()
}

func (d *desk) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(d.keys, keys); err != nil {
		t.Fatal(err)
	}
}

func TestTheLineStaysBelowWhatIsPrinted(t *testing.T) {
	t.Parallel()
	d := sit(t, 20)
	d.read()
	d.press(t, "a line that is longer than a row")
	d.paper.AwaitEnd(t, "ann> a line that is\nlonger than a row")
	d.Print("one\ntwo\n")
	d.paper.AwaitEnd(t, "one\ntwo\nann> a line that is\nlonger than a row")
	if !d.Rewrite(1, "two, and\nthree\n") {
		t.Error("the last row cannot be replaced")
	}
	d.paper.AwaitEnd(t, "one\ntwo, and\nthree\nann> a line that is\nlonger than a row")
	if !d.Rewrite(3, "four\n") {
		t.Error("three rows cannot be replaced")
	}
	if got, want := d.paper.Text(), "four\nann> a line that is\nlonger than a row"; got != want {
		t.Errorf("there stands %q, not %q", got, want)
	}
	// It can be edited: here the first word goes.
	d.press(t, "\x01"+strings.Repeat("\x1b[3~", 2)+"\r")
	if got := <-d.lines; got != "line that is longer than a row" {
		t.Errorf("the line is %q", got)
	}
	if got := d.paper.Strange(); got != nil {
		t.Errorf("orders %q", got)
	}
}

// What stands above a line that was entered is out of reach: the line stands between.
func TestNothingIsReplacedAcrossALineThatWasEntered(t *testing.T) {
	t.Parallel()
	d := sit(t, 40)
	d.Print("one\n")
	d.read()
	d.press(t, "hello\r")
	<-d.lines
	if d.Rewrite(1, "lost\n") {
		t.Error("a row above the line is replaced")
	}
	d.Entered()
	d.Print("two\n")
	if !d.Rewrite(1, "three\n") {
		t.Error("a row below the line is not replaced")
	}
	d.Print("four\n")
	_, _ = io.WriteString(d, "of a log\n")
	if d.Rewrite(1, "lost\n") {
		t.Error("a row above the log is replaced")
	}
	d.Print("five\n")
	if d.Rewrite(30, "lost\n") {
		t.Error("rows that have left the screen are replaced")
	}
	if got, want := d.paper.Text(), "one\nann> hello\nthree\nfour\nof a log\nfive"; strings.TrimRight(got, "\n") != want {
		t.Errorf("there stands %q, not %q", got, want)
	}
}

// Lines that are pasted together are entered one after the other.
func TestPastedLinesAreEnteredOneByOne(t *testing.T) {
	t.Parallel()
	d := sit(t, 40)
	d.read()
	d.press(t, "one\r\ntwo\nthree")
	first := <-d.lines
	d.Print("x\n")
	if d.Entered(); d.Rewrite(1, "lost\n") {
		t.Error("a row is replaced that the second line leaves above it")
	}
	d.read()
	second := <-d.lines
	d.Entered()
	if d.Print("y\n"); !d.Rewrite(1, "z\n") {
		t.Error("a row below the lines is not replaced")
	}
	if first != "one" || second != "two" {
		t.Errorf("%q and %q", first, second)
	}
}

func TestEarlierLinesComeBack(t *testing.T) {
	t.Parallel()
	d := sit(t, 40)
	for _, keys := range []string{"one\r", "two\r", "\x1b[A\x1b[A and more\r"} {
		d.read()
		d.press(t, keys)
		if got, want := <-d.lines, strings.TrimPrefix(strings.TrimRight(keys, "\r"), "\x1b[A\x1b[A"); got != want && got != "one"+want {
			t.Errorf("%q is %q", keys, got)
		}
		d.Entered()
	}
}

func TestTheTabKeyCompletes(t *testing.T) {
	t.Parallel()
	d := sit(t, 40)
	d.Complete = func(line string) []string {
		return slices.DeleteFunc([]string{":group", ":quit", ":quiet ä"}, func(s string) bool { return !strings.HasPrefix(s, line) })
	}
	for _, c := range []struct{ keys, want string }{
		{":g\t", ":group "}, {":q\t", ":qui"}, {":q\te\t", ":quiet ä "}, {":x\t", ":x"}, {":gy\x1b[D\t", ":group y"}, {":qui\t", ":qui"},
	} {
		d.read()
		d.press(t, c.keys+"\r")
		if got := <-d.lines; got != c.want {
			t.Errorf("%q is %q, not %q", c.keys, got, c.want)
		}
		d.Entered()
	}
	if text := d.paper.Text(); !strings.Contains(text, ":quit  :quiet ä\nann> :qui") {
		t.Errorf("the choices are not shown above the line:\n%s", text)
	}
}

func TestTheLineEndsWithTheInput(t *testing.T) {
	t.Parallel()
	d := sit(t, 40)
	d.read()
	d.press(t, "\x04")
	if err := <-d.ends; !errors.Is(err, io.EOF) {
		t.Errorf("Ctrl-D is %v", err)
	}
	d.read()
	if err := d.keys.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-d.ends; !errors.Is(err, io.EOF) {
		t.Errorf("the end of the input is %v", err)
	}
	d.Close()
	d.paper.Await(t, "a row of its own", func(text string) bool { return !strings.HasSuffix(text, "ann> x") })
}
