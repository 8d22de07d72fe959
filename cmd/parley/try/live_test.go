package try

import (
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/terminal"
	"parley/cmd/parley/terminal/terminaltest"
	"parley/gateway/commands"
	"parley/sessions"
)

func alive(columns int) (*live, *terminaltest.Paper) {
	paper := terminaltest.New(columns)
	return &live{screen: terminal.New(strings.NewReader(""), paper, func() (int, int) { return paper.Columns, 24 }), prompt: make(chan string, 1)}, paper
}

func TestAMessageChangesWhereItStands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		seen []shownMessage
		want string
	}{
		{"grows", []shownMessage{sent(1, "one"), edited(1, "one two"), edited(1, "one two three four"), edited(1, "one two three four\nfive")}, "parley: one two\nthree four\nfive\n"},
		{"a changed row", []shownMessage{sent(1, "one two three four five six"), edited(1, "one two 3 four five six")}, "parley: one two\n3 four five six\n"},
		{"shorter", []shownMessage{sent(1, "one two three four"), edited(1, "one")}, "parley: one\n"},
		{"two messages", []shownMessage{sent(1, "a"), sent(2, "b"), edited(2, "bc")}, "parley: a\nparley: bc\n"},
		{"an earlier message", []shownMessage{sent(1, "a"), sent(2, "b"), edited(1, "c")}, "parley: a\nparley: b\nparley: c\n"},
	} {
		l, paper := alive(16)
		for _, h := range c.seen {
			l.show(h)
		}
		if got := paper.Text(); strings.TrimRight(got, "\n") != strings.TrimRight(c.want, "\n") {
			t.Errorf("%s: there stands %q, not %q", c.name, got, c.want)
		}
	}
}

// A message that grows while something else is printed goes on below it, with the row
// that has grown.
func TestAMessageGoesOnBelowWhatCameBetween(t *testing.T) {
	t.Parallel()
	l, paper := alive(24)
	l.show(sent(1, "one two three four five"))
	_, _ = fmt.Fprintln(l.screen, "a log")
	l.show(edited(1, "one two three four five six"))
	l.show(edited(1, "one two three four five six seven eight"))
	paper.Columns = 30
	l.show(edited(1, "one two three four five six seven eight nine"))
	l.printNote("(a note)")
	l.show(edited(1, "one two three four five six seven eight nine ten"))
	l.show(edited(1, "one two"))
	want := "parley: one two three\nfour five\na log\nparley: … four five six\nseven eight\nparley: … four five six seven\neight nine\n(a note)\nparley: … eight nine ten\nparley: one two"
	if got := strings.TrimRight(paper.Text(), "\n"); got != want {
		t.Errorf("there stands\n%s\nnot\n%s", got, want)
	}
}

// Without colours there is nothing but text and what moves the cursor.
func TestColoursAreOnlyThereIfTheyAreWanted(t *testing.T) {
	t.Parallel()
	for _, colour := range []bool{false, true} {
		l, paper := alive(80)
		l.colour = colour
		l.show(sent(1, "a"))
		l.printNote("   (a note)")
		l.printSample("  :picture", "  shows one")
		if paper.Styled() != colour || paper.Strange() != nil || strings.TrimRight(paper.Text(), "\n") != "parley: a\n   (a note)\n  :picture  shows one" {
			t.Errorf("with colour %v: %v, %q, %q", colour, paper.Styled(), paper.Strange(), paper.Text())
		}
	}
}

func TestTheTableOfCostsHasAHeadAndStandsInColumns(t *testing.T) {
	t.Parallel()
	lines := costTable(commands.FormatCosts([]sessions.Session{
		{ID: "root", Own: 2e9, Subtree: 14.5e9},
		{ID: "a", Parent: "root", Depth: 1, Title: "漢字", Own: 1e9, Subtree: 12.5e9},
		{ID: "b", Parent: "a", Depth: 2, Title: "below it", Own: 11.5e9, Subtree: 11.5e9},
	}).Rows)
	want := []string{
		"                   by itself   with sub-agents",
		"the conversation     $0.0020           $0.0145",
		"  漢字               $0.0010           $0.0125",
		"    below it         $0.0115           $0.0115",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n%s", strings.Join(lines, "\n"))
	}
	lines = costTable([]commands.CostRow{{Own: "$1.00", Subtree: "$4.00"}, {Depth: 1, More: 11, Subtree: "$3.00"}})
	if want := "  11 more                                $3.00"; lines[2] != want {
		t.Errorf("%q, not %q", lines[2], want)
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"": "", "hello": "", ":pi": ":picture", ":": ":as|:dm|:group|:picture|:voice|:who|:help|:quit", "/appr": "/approvals|/approve",
		"/approve ": "/approve AB123|/approve CD456", "/deny C": "/deny CD456", "/cost x": "",
	} {
		if got := strings.Join(completions(line, []string{"AB123", "CD456"}), "|"); got != want {
			t.Errorf("%q: %s", line, got)
		}
	}
	var c codes
	c.note("/approve AB123 permits it once, /deny AB123 refuses it.")
	c.note("/approve CD456 permits it once, and /approve AB123, too.")
	if got := strings.Join(c.all(), " "); got != "CD456 AB123" {
		t.Errorf("codes %s", got)
	}
	c.forget("/approve cd456")
	c.forget("/deny")
	c.forget("hello AB123")
	if got := strings.Join(c.all(), " "); got != "AB123" {
		t.Errorf("codes %s", got)
	}
}
