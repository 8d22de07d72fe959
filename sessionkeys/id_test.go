package sessionkeys_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	. "parley/sessionkeys"
)

func TestSessionIDsSortByTheirStartAndNeverRepeat(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	seen := map[SessionID]bool{}
	before := SessionID("")
	for i := range 1000 {
		id := NewSessionID(at.Add(time.Duration(i) * time.Millisecond))
		if id <= before || seen[id] {
			t.Fatalf("%s after %s", id, before)
		}
		seen[id], before = true, id
	}
	if one, two := NewSessionID(at), NewSessionID(at); one == two {
		t.Errorf("two sessions of one millisecond share the id %s", one)
	}
}

func TestAnUnsetClockStillGivesASession(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Unix(-1, 0), time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if id := NewSessionID(at); len(id) != 26 {
			t.Errorf("id at %v is %q", at, id)
		}
	}
	if id := NewSessionID(time.Time{}); id[:10] != "0000000000" {
		t.Errorf("an unset clock does not count as 1970: %s", id)
	}
}

func TestChildIDsKeepTheirPartsApart(t *testing.T) {
	t.Parallel()
	ids := map[SessionID]string{}
	for _, c := range []struct {
		name   string
		parent SessionID
		turn   string
		step   int
		call   string
	}{
		{"3 + 131", "p", "3", 1, "131"},
		{"31 + 31", "p", "31", 1, "31"},
		{"step moved into the turn", "p", "31", 3, "1"},
		{"step moved into the call", "p", "3", 1, "1131"},
		{"parent moved into the turn", "", "p3", 1, "131"},
		{"all in the parent", "p31131", "", 0, ""},
		{"negative step", "p", "3", -1, "131"},
		{"other case", "P", "3", 1, "131"},
	} {
		id := ChildID(c.parent, c.turn, c.step, c.call)
		if other, taken := ids[id]; taken {
			t.Errorf("%q and %q share %s", c.name, other, id)
		}
		ids[id] = c.name
		if id != ChildID(c.parent, c.turn, c.step, c.call) {
			t.Errorf("%q: a replay finds another child", c.name)
		}
		if id[:2] != "c-" || !tokenForm.MatchString(string(id[2:])) || !tokenForm.MatchString(id.MailboxToken()) {
			t.Errorf("%q: id %s, mailbox %s", c.name, id, id.MailboxToken())
		}
		if string(id[2:]) == id.MailboxToken() {
			t.Errorf("%q: the mailbox token gives the id away", c.name)
		}
	}
}

func TestDifferentSpawnsNeverShareAChild(t *testing.T) {
	t.Parallel()
	type spawn struct {
		parent, turn, call string
		step               int
	}
	part := rapid.StringMatching(`[13]{0,3}`)
	gen := rapid.Custom(func(t *rapid.T) spawn {
		return spawn{part.Draw(t, "parent"), part.Draw(t, "turn"), part.Draw(t, "call"), rapid.IntRange(0, 40).Draw(t, "step")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		same := ChildID(SessionID(a.parent), a.turn, a.step, a.call) == ChildID(SessionID(b.parent), b.turn, b.step, b.call)
		if same != (a == b) {
			t.Fatalf("%+v and %+v: same id %v", a, b, same)
		}
	})
}

func TestANestedTurnIsNamedByTheCallThatOpenedIt(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, child := range []SessionID{"c-1", "c-11"} {
		for _, turn := range []string{"t1", "1t1"} {
			for _, step := range []int{1, 11} {
				for _, call := range []string{"c", "1c"} {
					id := NestedTurn(child, turn, step, call)
					if seen[id] || id != NestedTurn(child, turn, step, call) || id[2:] == string(ChildID(child, turn, step, call))[2:] {
						t.Errorf("%s of %s, %s, %d, %s", id, child, turn, step, call)
					}
					seen[id] = true
				}
			}
		}
	}
}
