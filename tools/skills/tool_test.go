package skills_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/sessionkeys"
	"parley/tools"
	"parley/tools/skills"
)

// use calls the tool as the agent main.
func use(t *testing.T, all []skills.Skill, args string) (string, error) {
	t.Helper()
	tool, err := skills.Tool(newShelf(t), func(agent string) []skills.Skill {
		if agent != "main" {
			return nil
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
	key, err := sessionkeys.For("main", sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: "1"})
	if err != nil {
		t.Fatal(err)
	}
	call := tools.Call{Name: skills.ToolName, Key: key, Arguments: json.RawMessage(args), Workspace: t.TempDir()}
	if c := tool.Category(call); c != tools.Read {
		t.Errorf("its category is %s", c)
	}
	got, err := tool.Run(t.Context(), call)
	return got.Content, err
}

func load(t *testing.T, folder string) []skills.Skill {
	t.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	all, err := skills.Load(newShelf(t), []string{folder})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTool(t *testing.T) {
	t.Parallel()
	all := load(t, "testdata/skills")
	for args, want := range map[string]string{
		`{"name":"table-plan"}`: "Instructions of the skill table-plan:\n\nTables 1 to 6 seat four, table 7 seats ten.",
		`{"name":"opening-hours"}`: `Instructions of the skill opening-hours:

# Opening hours

Tuesday to Sunday, 17:00 to 23:00. The kitchen closes at 21:45.

For a holiday, look at [the holidays](references/HOLIDAYS.md). scripts/next.sh prints the
next day that is open.

The skill needs: Needs no network.

Files of the skill, to be read with path: references/HOLIDAYS.md, scripts/next.sh
Scripts are not run here, and no tool runs them: do by yourself what one would do, or say that it cannot be done.`,
		`{"name":"opening-hours","path":"references/HOLIDAYS.md"}`: "File references/HOLIDAYS.md of the skill opening-hours:\n\nOn 1 May the Blue Heron opens at 12:00.\n",
		`{"name":"opening-hours","path":"scripts/next.sh"}`:        "File scripts/next.sh of the skill opening-hours:\n\n#!/bin/sh\ndate -d tomorrow\n",
		`{"name":"table-plan","path":"./SKILL.md"}`:                "Instructions of the skill table-plan:\n\nTables 1 to 6 seat four, table 7 seats ten.",
	} {
		if got, err := use(t, all, args); got != want || err != nil {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
	for args, want := range map[string]string{
		`{"name":"table-plans"}`:                                   `no skill "table-plans"; there are table-plan`,
		`{"name":"zzz"}`:                                           `no skill "zzz"; there are opening-hours, table-plan`,
		`{"name":"../skills/table-plan"}`:                          `no skill`,
		`{"name":"table-plan","path":"references/gone"}`:           "not found",
		`{"name":"table-plan","path":"../README.md"}`:              "path not allowed",
		`{"name":"table-plan","path":"/etc/hostname"}`:             "path not allowed",
		`{"name":"opening-hours","path":"references"}`:             "path not allowed",
		`{"name":"opening-hours","path":"../table-plan/SKILL.md"}`: "path not allowed",
	} {
		if got, err := use(t, all, args); err == nil || !strings.Contains(err.Error(), want) || tools.KindOf(err) != tools.Permanent {
			t.Errorf("%s: %q, %v", args, got, err)
		}
	}
	if _, err := use(t, nil, `{"name":"table-plan"}`); err == nil || err.Error() != "there are no skills" {
		t.Errorf("without skills: %v", err)
	}
}

// What lies in the folder may have been made by somebody else: no file of it leads out.
func TestNoFileOfASkillLeadsOutOfIt(t *testing.T) {
	t.Parallel()
	folder, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, folder, "s", "---\nname: s\ndescription: d\n---\nBody")
	in := filepath.Join(folder, "s")
	for _, err := range []error{
		os.Symlink(secret, filepath.Join(in, "link")), os.Link(secret, filepath.Join(in, "hard")), os.Symlink(filepath.Dir(secret), filepath.Join(in, "dir")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := load(t, folder)
	for _, path := range []string{"link", "hard", "dir/secret", "../../secret"} {
		if got, err := use(t, all, fmt.Sprintf(`{"name":"s","path":%q}`, path)); err == nil || strings.Contains(got, "SECRET") {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	// Nor does the file that makes it a skill, when it is exchanged later.
	if err := os.Remove(filepath.Join(in, skills.FileName)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(in, skills.FileName)); err != nil {
		t.Fatal(err)
	}
	if got, err := use(t, all, `{"name":"s"}`); err == nil || strings.Contains(got, "SECRET") {
		t.Errorf("%q, %v", got, err)
	}
}

// Instructions are read when they are asked for; descriptions are not.
func TestToolReadsWhatASkillSaysNow(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "s", "---\nname: s\ndescription: d\n---\nold")
	all := load(t, folder)
	write(t, folder, "s", "---\nname: s\ndescription: d\n---\nnew")
	if got, err := use(t, all, `{"name":"s"}`); err != nil || !strings.HasSuffix(got, "\n\nnew") {
		t.Errorf("%q, %v", got, err)
	}
	write(t, folder, "s", "broken")
	if got, err := use(t, all, `{"name":"s"}`); err == nil || !strings.Contains(err.Error(), "the skill s cannot be read any more") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestToolBoundsWhatItReturns(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, folder, "s", "---\nname: s\ndescription: d\n---\nBody")
	for i := range 60 {
		if err := os.WriteFile(filepath.Join(folder, "s", fmt.Sprintf("f%02d", i)), []byte(strings.Repeat("x", 1+i*4000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := load(t, folder)
	if got, err := use(t, all, `{"name":"s"}`); err != nil || !strings.HasSuffix(got, "f48, f49, and more") {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := use(t, all, `{"name":"s","path":"f59"}`); err != nil || !strings.HasPrefix(got, "File f59 of the skill s, cut: 131072 of 236001 bytes:\n") || len(got) > skills.MaxFile+100 {
		t.Errorf("%d bytes %.80q, %v", len(got), got, err)
	}
}
