package try_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/try"
	"parley/costs"
	"parley/gateway/commands"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/sqlite/sqlitetest"
)

func TestSubAgentsAreSeenAtWorkAndTheirCostTreeIsTheLedger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	err := try.Run(t.Context(), try.Options{
		In: strings.NewReader("what is 6*7\nresearch the Blue Heron\nwhat is 7*7\n"), Out: &out, StateDir: dir, Getenv: func(string) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	got := out.String()
	at := 0
	for _, want := range []string{ // in this order; the two side by side in any
		"ann> research the Blue Heron\n", "(sub-agent “the question” begins)\n", "      (sub-agent “the counting” begins)\n", "(sub-agent “the counting” has ended: ",
		"(sub-agent “the question” has ended: ", "the question, says my sub-agent: the counting, says my sub-agent: “the Blue Heron” has 14 characters in 3 words.",
		"by itself   with sub-agents\n", "   the conversation     $",
	} {
		n := strings.Index(got[at:], want)
		if n < 0 {
			t.Fatalf("%q is missing or too early in:\n%s", want, got)
		}
		at += n + len(want)
	}
	if strings.Count(got, "begins)") != 3 || strings.Count(got, "has ended: ") != 3 || strings.Count(got, "with sub-agents") != 1 {
		t.Errorf("three sub-agents and one tree are to be seen:\n%s", got)
	}

	store := sqlitetest.Open(t, dir)
	var root sessionkeys.SessionID
	if err := store.Mailboxes(t.Context(), func(m sessions.Mailbox) bool { root = m.Session; return true }); err != nil {
		t.Fatal(err)
	}
	tree, err := store.Tree(t.Context(), root)
	if err != nil || len(tree) != 4 {
		t.Fatalf("%d sessions, %v", len(tree), err)
	}
	var ledger, own costs.Amount
	if err := store.Ledger(t.Context(), "", func(_ sessionkeys.SessionID, e costs.Entry) bool { ledger += e.Amount; return true }); err != nil {
		t.Fatal(err)
	}
	for _, s := range tree {
		own += s.Own
	}
	if ledger == 0 || ledger != own || ledger != tree[0].Subtree {
		t.Errorf("the ledger has %s, the sessions %s, their root %s", ledger.Display(), own.Display(), tree[0].Subtree.Display())
	}
	for _, row := range commands.FormatCosts(tree).Rows[1:] {
		if line := regexp.MustCompile(`(?m)^ +` + row.Label + ` +` + regexp.QuoteMeta(row.Own) + ` +` + regexp.QuoteMeta(row.Subtree) + `$`); !line.MatchString(got) {
			t.Errorf("%v is not shown", row)
		}
	}
	if last := fmt.Sprintf("this conversation %s)\n", tree[0].Subtree.Display()); !strings.HasSuffix(got, last) {
		t.Errorf("it does not end with %q", last)
	}
}

func TestAPersonSeesSubAgentsWhileTheyWork(t *testing.T) {
	t.Parallel()
	g, keys, ended := person(t, t.Context(), 0)
	at := g.await(t, 0, "research the weather")
	at = g.await(t, at, "ann> ")
	key(t, keys, ":group")
	at = g.await(t, at, "ann (group)> ")
	key(t, keys, "@parley_bot research the weather")
	at = g.await(t, at, "“the counting” begins)")
	at = g.await(t, at, "“the question” has ended: ")
	at = g.await(t, at, "“the weather” has 11 characters in 2 words.")
	at = g.await(t, at, "       the counting     $")
	g.await(t, at, "ann (group)> ")
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
	over(t, g, ended)
}
