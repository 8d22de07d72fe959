package main

import (
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

var codeInLine = regexp.MustCompile(`give them this code, within 24 hours: ([0-9A-HJKMNP-TV-Z]{8})$`)

// awaitCode returns the first code that the bot gives to anybody, other than that one.
func awaitCode(t *testing.T, tg *telegram.Server, other string) (code string) {
	t.Helper()
	await(t, tg, "a code", func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if found := codeInLine.FindStringSubmatch(m.Text()); found != nil && found[1] != other {
				code = found[1]
			}
		}
		return code != ""
	})
	return code
}

// (security 5.1, firstday A2) A stranger gets a code, by which the operator lets them in; who is shut
// out is not answered any more, listed or not, also after a restart; and the configuration is
// only read. (docs/decisions/0084)
func TestPeopleAreLetInAndShutOut(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), `people: ["1001"]`, `people: ["1001"], approvers: ["1001"], pairing: true`, 1))
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ben := telegram.Person{ID: 1002, FirstName: "Ben"}
	benSays := func(what string) {
		t.Helper()
		if _, err := tg.Say(telegram.PrivateChat(ben), ben, what, telegram.SayOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	p := start(t, environment, "run", "--config", config)
	say(t, tg, "one")
	await(t, tg, "the answer to Ann", answer("one"))
	for _, c := range []struct{ command, want string }{{"pair", "No code waits.\n"}, {"access", "CHANNEL  PERSON  ACCESS   ROLE   SOURCE         BY  CODE  SINCE\ntg       1001    allowed  admin  configuration\n"}} {
		if out := saidOf(t, c.command, "ls", "-c", config); out != c.want {
			t.Errorf("%s ls at first: %q", c.command, out)
		}
	}

	benSays("let me in")
	code := awaitCode(t, tg, "")
	golden(t, "pair ls", saidOf(t, "pair", "ls", "-c", config), strings.NewReplacer("CODECODE", code, "THEN", "TIME").Replace(`
CODE      CHANNEL  PERSON  ASKED                    EXPIRES
CODECODE  tg       1002    TIME  THEN
`))
	if out := saidOf(t, "__complete", "pair", "approve", "-c", config, ""); !strings.HasPrefix(out, code+"\n") {
		t.Errorf("codes to complete: %q", out)
	}
	for what, args := range map[string][]string{
		"a code has 8 letters and digits":                            {"pair", "approve", "x"},
		"no such code waits":                                         {"pair", "approve", "00000000"},
		"nobody of the id or the code":                               {"pair", "revoke", "1003"},
		"no bot account \"tg2\" in the configuration; there are: tg": {"access", "deny", "tg2", "1002"},
		"the id of a person on tg":                                   {"access", "allow", "tg", "@ben"},
	} {
		if status, _, said := asked(t, append(args, "-c", config)...); status == exitOK || !strings.Contains(said, what) {
			t.Errorf("%q ends with %d: %s", args, status, said)
		}
	}
	if out := saidOf(t, "pair", "approve", strings.ToLower(code), "-c", config); out != "1002 may talk to tg, in direct messages\n" {
		t.Errorf("approve: %q", out)
	}
	benSays("two")
	await(t, tg, "the answer to Ben", answer("two"))
	if status, _, said := asked(t, "pair", "approve", code, "-c", config); status == exitOK || !strings.Contains(said, "no such code waits") {
		t.Errorf("approved again: %d, %s", status, said)
	}

	// An approver does so in the chat.
	cem := telegram.Person{ID: 1003, FirstName: "Cem"}
	if _, err := tg.Say(telegram.PrivateChat(cem), cem, "and me", telegram.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	second := awaitCode(t, tg, code)
	say(t, tg, "/pair "+second)
	await(t, tg, "that Cem is let in", answer("Done: I answer 1003 in direct messages from now on."))

	for _, who := range []string{"1001", "1002"} {
		if out := saidOf(t, "access", "deny", "tg", who, "-c", config); out != who+" is shut out of tg\n" {
			t.Errorf("deny: %q", out)
		}
	}
	say(t, tg, "three")
	benSays("four")
	p.err.awaitLines(t, 2, "the sender is shut out")
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Fatalf("it ended with %d", status)
	}
	start(t, environment, "run", "--config", config).err.awaitLines(t, 1, "gateway started")
	golden(t, "access ls", strings.Replace(saidOf(t, "access", "ls", "-c", config), second, "CODECODE", 1), `
CHANNEL  PERSON  ACCESS              ROLE   SOURCE         BY            CODE      SINCE
tg       1001    allowed, overruled  admin  configuration
tg       1001    denied                     record         the operator            TIME
tg       1002    denied                     record         the operator            TIME
tg       1003    allowed             user   record         Ann           CODECODE  TIME
`)
	if out := saidOf(t, "access", "allow", "tg", "1001", "-c", config); out != "1001 may talk to tg, as the configuration says, with the role admin\n" {
		t.Errorf("allow who is listed: %q", out)
	}
	if out := saidOf(t, "access", "allow", "tg", "1002", "--role", "owner", "-c", config); out != "1002 may talk to tg, in direct messages, with the role owner\n" {
		t.Errorf("allow with a role: %q", out)
	}
	benSays("/access allow 1003 guest")
	await(t, tg, "that Cem is a guest", answer("Done: I answer 1003, who is a guest here."))
	if out := saidOf(t, "access", "ls", "-c", config); !regexp.MustCompile(`(?m)^tg +1002 +allowed +owner +record +the operator .*\ntg +1003 +allowed +guest +record +Ben `).MatchString(out) {
		t.Errorf("roles: %s", out)
	}
	if out := saidOf(t, "access", "allow", "tg", "1002", "-c", config); out != "1002 may talk to tg, in direct messages\n" {
		t.Errorf("allow: %q", out)
	}
	if out := saidOf(t, "pair", "revoke", "1002", "-c", config); out != "1002 on tg was let in, and is not any more\n" {
		t.Errorf("revoke: %q", out)
	}
	say(t, tg, "five")
	await(t, tg, "the answer to Ann who is back", answer("five"))
	for _, unanswered := range []string{"three", "four"} {
		if answer(unanswered)(tg.Books()) {
			t.Errorf("%s is answered", unanswered)
		}
	}
	if out := saidOf(t, "access", "ls", "--json", "-c", config); strings.Count(out, `"source": "record"`) != 1 || !strings.Contains(out, `"source": "configuration"`) {
		t.Errorf("in the end: %s", out)
	}
	if now, err := os.ReadFile(config); err != nil || string(now) != string(text) {
		t.Errorf("the configuration is\n%s\n%v", now, err)
	}
}
