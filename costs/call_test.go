package costs_test

import (
	"errors"
	"testing"

	. "parley/costs"
)

func TestCallIDsComeApartAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		id   CallID
		want string
	}{
		{CallID{Turn: "01JDXK", Purpose: RootTurn, Step: 3, Attempt: 1}, "01JDXK/root/3/1"},
		{CallID{Turn: "3", Purpose: RootTurn, Step: 131, Attempt: 1}, "3/root/131/1"},
		{CallID{Turn: "31", Purpose: RootTurn, Step: 31, Attempt: 1}, "31/root/31/1"},
		{CallID{Turn: "a/b", Purpose: "x%/", Step: 1, Attempt: 2}, "a%2Fb/x%25%2F/1/2"},
		{CallID{Turn: "é\n", Purpose: Title, Step: 1, Attempt: 1}, "%C3%A9%0A/title/1/1"},
	} {
		if got := tc.id.String(); got != tc.want {
			t.Errorf("%+v is %s, want %s", tc.id, got, tc.want)
		}
		if back, err := ParseCallID(tc.want); err != nil || back != tc.id {
			t.Errorf("%s is read as %+v, %v", tc.want, back, err)
		}
	}
	for _, s := range []string{
		"", "a", "a/root/1", "a/root/1/1/1", "/root/1/1", "a//1/1", "a/root/0/1", "a/root/1/0", "a/root/-1/1", "a/root/01/1",
		"a/root/+1/1", "a/root/1/", "a/root/1/99999999999999999999", "a%2f/root/1/1", "a%41/root/1/1", "a%2/root/1/1", "a%zz/root/1/1", "a b/root/1/1",
	} {
		if id, err := ParseCallID(s); !errors.Is(err, ErrCallID) || id != (CallID{}) {
			t.Errorf("%q is read as %+v, %v", s, id, err)
		}
	}
}

func FuzzCallID(f *testing.F) {
	f.Add("t", "root", 1, 1, "t", "root", 1, 2, "t/root/1/1")
	f.Add("3", "root", 131, 1, "31", "root", 31, 1, "3/root/131/1")
	f.Add("a/root", "x", 1, 1, "a", "root/x", 1, 1, "a%2Froot/x/1/1")
	f.Add("", "", -1, 0, "%", "%25", 1, 1, "//-1/0")
	f.Fuzz(func(t *testing.T, turn1, purpose1 string, step1, attempt1 int, turn2, purpose2 string, step2, attempt2 int, text string) {
		a := CallID{Turn: turn1, Purpose: Purpose(purpose1), Step: step1, Attempt: attempt1}
		b := CallID{Turn: turn2, Purpose: Purpose(purpose2), Step: step2, Attempt: attempt2}
		if (a.String() == b.String()) != (a == b) {
			t.Fatalf("%+v and %+v are %s and %s", a, b, a, b)
		}
		back, err := ParseCallID(a.String())
		if valid := a.Validate() == nil; valid != (err == nil) || valid && back != a {
			t.Fatalf("%+v is %s, read as %+v, %v", a, a, back, err)
		}
		if id, err := ParseCallID(text); err == nil && id.String() != text {
			t.Fatalf("%q is read as %+v, which is %s", text, id, id)
		}
	})
}
