package commands_test

import (
	"testing"

	"parley/gateway/messages"
	"parley/gateway/preferences"
	"parley/sessions"
)

func TestModelListsWhatMayBeChosen(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	d.Menu = func(string) preferences.Menu {
		return preferences.Menu{Own: "a/one", Models: []string{"a/one", "b/two", "b/three"}}
	}
	d.Works = func(model string) bool { return model != "b/two" }
	answer := func(name, sign string) string {
		t.Helper()
		by := asker(k)
		by.Sign = sign
		text, err := d.Answer(t.Context(), by, messages.Command{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	same := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	same(answer("model", ""), "Here `a/one` answers, by default. You may choose, from your next message on:\n\n"+
		"- 1: `a/one`, the default, answers now\n- 2: `b/two` (does not work at the moment)\n- 3: `b/three`\n\n"+
		"/model 3 chooses the last of them, as do words of its name; /model default takes a choice back.")
	r, err := preferences.Choice{Model: "b/three"}.Record(k.Token(), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	same(answer("provider", "!"), "Here `b/three` answers, chosen here. You may choose, from your next message on:\n\n"+
		"- a: `a/one`, the default\n- b: `b/two` (does not work at the moment); `b/three`, answers now\n\n"+
		"!provider a chooses the first of that provider, !model one of all, and !model default takes a choice back.")
	session := sessions.Session{ID: "s", Key: k}
	if got, err := d.SessionModel(t.Context(), session); got != "b/three" || err != nil {
		t.Errorf("the session's model is %q, %v", got, err)
	}
	session.Parent = "p" // a sub-agent keeps its agent's
	if got, err := d.SessionModel(t.Context(), session); got != "a/one" || err != nil {
		t.Errorf("a sub-agent's model is %q, %v", got, err)
	}
	d.Menu = func(string) preferences.Menu { return preferences.Menu{Own: "a/one", Models: []string{"a/one"}} }
	contains(t, answer("model", ""), "Here `a/one` answers. There is no other model that you may choose")
}
