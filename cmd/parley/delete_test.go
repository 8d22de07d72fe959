package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/simulators/model"
)

// usageOf is what usage says of everything, as JSON without its time.
func usageOf(t *testing.T, config string, by string) string {
	t.Helper()
	out := saidOf(t, "usage", "--by", by, "--json", "-c", config)
	return regexp.MustCompile(`(?m)^ *"(now|until)": .*\n`).ReplaceAllString(out, "")
}

// What the commands delete while the gateway runs, what they say of it, and that no total changes.
func TestSessionsAndPeopleAreDeletedAndTheMoneyStays(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	start(t, environment, "run", "--config", config)
	say(t, tg, "a canary of a text")
	await(t, tg, "the answer", answer("a canary of a text"))
	settled(t, config)
	before, sessionsBefore := usageOf(t, config, "model"), usageOf(t, config, "session")
	id := regexp.MustCompile(`\b01[0-9A-HJKMNP-TV-Z]{24}\b`).FindString(saidOf(t, "sessions", "ls", "-c", config))
	workspace := filepath.Join(filepath.Dir(config), "state", "workspaces", id)
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		t.Fatal(err)
	}

	// Nothing without a yes.
	if status, out, said := asked(t, "sessions", "delete", id, "-c", config); status != exitFailed || out != "" || !strings.Contains(said, "would be deleted. What it has cost, $0.0") || !strings.Contains(said, "not confirmed, so nothing was deleted") {
		t.Fatalf("without a yes it ended with %d: %s%s", status, out, said)
	}
	golden(t, "sessions delete", saidOf(t, "sessions", "delete", id, "--yes", "-c", config), `
deleted session SESSION-ID................: 2 messages; what it has cost stays
`)
	if got := usageOf(t, config, "model"); got != before {
		t.Errorf("usage was\n%s\nand is\n%s", before, got)
	}
	if got := usageOf(t, config, "session"); got != sessionsBefore {
		t.Errorf("usage by session was\n%s\nand is\n%s", sessionsBefore, got)
	}
	if _, err := os.Stat(workspace); !os.IsNotExist(err) {
		t.Errorf("the workspace is there: %v", err)
	}
	show := saidOf(t, "sessions", "show", id, "--transcript", "-c", config)
	if strings.Contains(show, "canary") || !regexp.MustCompile(`(?m)^deleted \S+ \S+ UTC by uid \d+$`).MatchString(show) {
		t.Errorf("show says\n%s", show)
	}
	if again := saidOf(t, "sessions", "delete", id, "--yes", "-c", config); !strings.HasPrefix(again, "session "+id+" was deleted already, 20") {
		t.Errorf("a second time it says %s", again)
	}
	if status, _, said := asked(t, "sessions", "export", id, "-c", config); status != exitFailed || !strings.Contains(said, "there is nothing to export") {
		t.Errorf("export ended with %d: %s", status, said)
	}
	if why := saidOf(t, "why", "1", "-c", config); !strings.Contains(why, id+", whose content was deleted 20") {
		t.Errorf("why says\n%s", why)
	}

	// What comes later begins anew, and answers.
	say(t, tg, "another text")
	await(t, tg, "the second answer", answer("another text"))
	settled(t, config)
	requests := m.Requests()
	if strings.Contains(string(requests[len(requests)-1].Body), "canary") {
		t.Error("the model was told what was deleted")
	}
	sum := usageOf(t, config, "day")
	golden(t, "forget", saidOf(t, "forget", "1001", "--yes", "-c", config), `
forgotten 1001 on tg: 1 session of direct messages
`)
	if got := usageOf(t, config, "day"); got != sum {
		t.Errorf("usage was\n%s\nand is\n%s", sum, got)
	}
	if by := saidOf(t, "usage", "--by", "person", "-c", config); !strings.Contains(by, "tg/forgotten") || strings.Contains(by, "1001") {
		t.Errorf("by person:\n%s", by)
	}
	if status, _, said := asked(t, "forget", "77", "--yes", "-c", config); status != exitFailed || !strings.Contains(said, "nothing is known of a person 77") {
		t.Errorf("of nobody it ended with %d: %s", status, said)
	}
	var list admin.SessionList
	if err := json.Unmarshal([]byte(saidOf(t, "sessions", "ls", "--json", "-c", config)), &list); err != nil {
		t.Fatal(err)
	}
	deleted := 0
	for _, s := range list.Sessions {
		if s.State == admin.Deleted && s.Messages == 0 && s.Deleted != nil {
			deleted++
		}
	}
	if deleted != 2 {
		t.Errorf("%d sessions are deleted: %+v", deleted, list.Sessions)
	}
}
