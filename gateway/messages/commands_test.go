package messages_test

import (
	"strings"
	"testing"

	"parley/gateway/messages"
)

func TestWhatIsACommandAndWhatIsNot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"/stop": "stop", "/STOP": "stop", "/Stop now": "stop now", "  /stop\n": "stop", "/stop\tnow  please ": "stop now  please",
		"/stop\u00a0now": "stop now", "/stop\u2003": "stop", "/new": "new", "/a_1": "a_1", "/nonsense": "nonsense", "/tmp": "tmp",
		"": "", "/": "", "/ ": "", "/ stop": "", "//": "", "//stop": "", "stop": "", "a /stop": "", "/usr/bin": "", "/usr/bin ls": "",
		"/1": "", "/_a": "", "/stop!": "stop", "/stop, please": "stop please", "/help?": "help", "/new-chat": "new-chat", "/-new": "", "/...": "", "/etc/passwd what is this file": "", "/a.txt": "", "/stop@bot": "", "/🙂": "", "/stop🙂": "", "/über": "", "🙂 /stop": "",
		"/\x00stop": "", "/st\xffop": "", "1/2": "", "/\u0130x": "",
	} {
		c, ok := messages.ParseCommand(text)
		if ok != (want != "") || ok && strings.TrimSuffix(c.Name+" "+c.Args, " ") != want {
			t.Errorf("%q is %+v, %v; want %q", text, c, ok, want)
		}
	}
}

func TestEachCommandTakesEffectWhenItShould(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]messages.CommandKind{
		"new": messages.Queued, "clear": messages.Queued, "resume": messages.Queued, "stop": messages.Control, "sessions": messages.AtOnce,
		"help": messages.AtOnce, "status": messages.AtOnce, "cost": messages.AtOnce, "agents": messages.AtOnce, "start": messages.AtOnce, "x": messages.AtOnce,
	} {
		c := messages.Command{Name: name}
		if c.Kind() != want || c.StartsSession() != (want == messages.Queued && name != "resume") || c.ResumesSession() != (name == "resume") {
			t.Errorf("/%s: kind %d, fresh %v", name, c.Kind(), c.StartsSession())
		}
	}
}

// A choice waits for its turn; the question what there is to choose does not.
func TestACommandThatChoosesIsQueuedAndOneThatListsIsNot(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]messages.CommandKind{
		"/model": messages.AtOnce, "/model list": messages.AtOnce, "/provider List": messages.AtOnce, "/model 2": messages.Queued, "/provider x": messages.Queued,
	} {
		c, _ := messages.ParseCommand(text)
		if provider, chooses := c.ChoosesModel(); c.Kind() != want || chooses != (want == messages.Queued) || provider != strings.HasPrefix(text, "/provider") || c.StartsSession() || c.IsTurn() {
			t.Errorf("%s: kind %d, chooses %v", text, c.Kind(), chooses)
		}
	}
}

func TestCommandsOfGoalsAreQueuedWhereTheyChangeOne(t *testing.T) {
	t.Parallel()
	for text, queued := range map[string]bool{"/goal": false, "/goal paint it": true, "/done": true, "/done now": true} {
		c, ok := messages.ParseCommand(text)
		if !ok || (c.Kind() == messages.Queued) != queued || !c.ChangesGoal() || c.IsTurn() || c.StartsSession() {
			t.Errorf("%s: %+v", text, c)
		}
	}
}

// AI04: plan mode begins and ends between turns.
func TestPlanIsQueued(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"/plan", "/plan on", "/plan off", "/plan a party"} {
		if c, ok := messages.ParseCommand(text); !ok || c.Kind() != messages.Queued || !c.SwitchesPlan() || c.IsTurn() || c.StartsSession() {
			t.Errorf("%s: %+v", text, c)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"/stop", "/ ", "/usr/bin", "/new  x\n y", "/\u212a", "\u00a0/a\u2028b", "/a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := messages.ParseCommand(s)
		if !ok {
			if c != (messages.Command{}) {
				t.Errorf("%q is no command, but %+v", s, c)
			}
			return
		}
		if !strings.HasPrefix(strings.TrimSpace(s), "/") || c.Name == "" || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" {
			t.Errorf("%q gives %+v", s, c)
		}
		if again, ok := messages.ParseCommand(c.String()); !ok || again != c {
			t.Errorf("%q gives %+v, and that gives %+v", s, c, again)
		}
	})
}

// requirements AI05
func TestSessionResumeIsResume(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]messages.Command{
		"/session resume 3":           {Name: "resume", Args: "3"},
		"/session  Resume red apples": {Name: "resume", Args: "red apples"},
		"/session resume":             {Name: "resume"},
		"/session":                    {Name: "sessions"},
		"/session other":              {Name: "session", Args: "other"},
	} {
		if got, ok := messages.ParseCommand(text); !ok || got != want {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
	}
}
