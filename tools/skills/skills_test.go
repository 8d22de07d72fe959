package skills_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/tools/files"
	"parley/tools/skills"
)

func newShelf(t *testing.T) *files.Shelf {
	t.Helper()
	s, err := files.NewShelf(files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// write makes the skill at folder/dir of this SKILL.md.
func write(t *testing.T, folder, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(folder, dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, dir, skills.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	if got, err := skills.Load(newShelf(t), []string{"testdata/skills"}); err == nil {
		t.Errorf("a relative folder was accepted: %v", got)
	}
	folder, err := filepath.Abs("testdata/skills")
	if err != nil {
		t.Fatal(err)
	}
	got, err := skills.Load(newShelf(t), []string{folder})
	if err != nil {
		t.Fatal(err)
	}
	want := []skills.Skill{
		{
			Name:        "opening-hours",
			Description: "Says when the Blue Heron is open, on holidays too. Use when somebody asks about opening hours or wants to come by.", Compatibility: "Needs no network.",
			Dir: filepath.Join(folder, "opening-hours"),
		},
		{Name: "table-plan", Description: "Knows which table seats how many. Use for reservations.", Dir: filepath.Join(folder, "table-plan")},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// The rows of agentskills.io/specification, and of its reference validator.
func TestLoadHoldsASkillToTheSpecification(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for name, c := range map[string]struct {
		dir, text string
		want      string // "": it is one; else part of the mistake
	}{
		"the least":                       {"skill-name", "---\nname: skill-name\ndescription: What it does.\n---\n", ""},
		"all fields":                      {"pdf-processing", "---\nname: pdf-processing\ndescription: Extract text.\nlicense: Apache-2.0\ncompatibility: Requires git\nmetadata:\n  author: example-org\n  version: \"1.0\"\nallowed-tools: Bash(git:*) Read\n---\nBody", ""},
		"allowed-tools as a list":         {"s", "---\nname: s\ndescription: d\nallowed-tools:\n  - Bash(git:*)\n  - Read\n---\n", ""},
		"numbers are texts":               {"7", "---\nname: 7\ndescription: 1.0\nmetadata: {version: 1.0}\n---\n", ""},
		"windows":                         {"s", "\uFEFF---\r\nname: s\r\ndescription: d\r\n---\r\nBody\r\n", ""},
		"a long name":                     {long, "---\nname: " + long + "\ndescription: d\n---\n", ""},
		"the longest description":         {"s", "---\nname: s\ndescription: " + strings.Repeat("ä", 1024) + "\n---\n", ""},
		"another script":                  {"мой-навык", "---\nname: мой-навык\ndescription: d\n---\n", ""},
		"composed and decomposed letters": {"caf\u00e9", "---\nname: cafe\u0301\ndescription: d\n---\n", ""},

		"upper case":              {"PDF-Processing", "---\nname: PDF-Processing\ndescription: d\n---\n", "line 2: name \"PDF-Processing\": only lower-case"},
		"upper case elsewhere":    {"НАВЫК", "---\nname: НАВЫК\ndescription: d\n---\n", "only lower-case"},
		"a hyphen first":          {"-pdf", "---\nname: -pdf\ndescription: d\n---\n", "only lower-case"},
		"a hyphen last":           {"pdf-", "---\nname: pdf-\ndescription: d\n---\n", "only lower-case"},
		"two hyphens":             {"pdf--processing", "---\nname: pdf--processing\ndescription: d\n---\n", "only lower-case"},
		"an underscore":           {"my_skill", "---\nname: my_skill\ndescription: d\n---\n", "only lower-case"},
		"too long a name":         {long + "a", "---\nname: " + long + "a\ndescription: d\n---\n", "name has 65 characters; at most 64"},
		"another folder":          {"wrong-name", "---\nname: correct-name\ndescription: d\n---\n", `name "correct-name" is not that of its folder, "wrong-name"`},
		"no name":                 {"s", "---\ndescription: d\n---\n", "name is missing"},
		"no description":          {"s", "---\nname: s\n---\n", "description is missing"},
		"an empty description":    {"s", "---\nname: s\ndescription: \"  \"\n---\n", "line 3: description is empty"},
		"no value":                {"s", "---\nname: s\ndescription:\n---\n", "description is empty"},
		"too long a description":  {"s", "---\nname: s\ndescription: " + strings.Repeat("ä", 1025) + "\n---\n", "description has 1025 characters; at most 1024"},
		"a list of descriptions":  {"s", "---\nname: s\ndescription: [a, b]\n---\n", "description is a text"},
		"too long compatibility":  {"s", "---\nname: s\ndescription: d\ncompatibility: " + strings.Repeat("x", 501) + "\n---\n", "compatibility has 501 characters; at most 500"},
		"empty compatibility":     {"s", "---\nname: s\ndescription: d\ncompatibility: ''\n---\n", "compatibility is empty"},
		"metadata is a text":      {"s", "---\nname: s\ndescription: d\nmetadata: x\n---\n", "metadata is a map"},
		"metadata holds a list":   {"s", "---\nname: s\ndescription: d\nmetadata: {tags: [a]}\n---\n", "metadata is a map"},
		"allowed-tools is a map":  {"s", "---\nname: s\ndescription: d\nallowed-tools: {a: b}\n---\n", "allowed-tools is a text"},
		"an unknown field":        {"s", "---\nname: s\ndescription: d\ndisable-model-invocation: true\n---\n", `line 4: unknown field "disable-model-invocation"; there are name, description`},
		"a field twice":           {"s", "---\nname: s\ndescription: d\nname: s\n---\n", "line 4: name stands there twice"},
		"a colon without quotes":  {"s", "---\nname: s\ndescription: Use this when: asked\n---\n", "a value with a colon needs quotes"},
		"no front matter":         {"s", "# Skill\n", "no front matter"},
		"front matter never ends": {"s", "---\nname: s\ndescription: d\n", "no front matter"},
		"a list":                  {"s", "---\n- a\n---\n", "the front matter holds keys"},
		"nothing in between":      {"s", "---\n---\n", "the front matter holds keys"},
		"empty":                   {"s", "", "no front matter"},
		"too large":               {"s", "---\nname: s\ndescription: d\n---\n" + strings.Repeat("x", skills.MaxFile), "bytes; at most 131072"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, folder, c.dir, c.text)
			got, err := skills.Load(newShelf(t), []string{folder})
			switch {
			case c.want == "" && (err != nil || len(got) != 1):
				t.Errorf("%v, %v", got, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("the mistake is %v, not %q", err, c.want)
			case c.want != "" && !strings.Contains(err.Error(), filepath.Join(folder, c.dir, skills.FileName)):
				t.Errorf("%v does not name the file", err)
			}
		})
	}
}

func TestLoadSaysEveryMistakeOfEveryFolder(t *testing.T) {
	t.Parallel()
	first, second, empty, gone := t.TempDir(), t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "gone")
	write(t, first, "a", "---\nname: A\nsurname: x\n---\n")
	write(t, first, "b", "---\nname: b\ndescription: d\n---\n")
	write(t, second, "b", "---\nname: b\ndescription: d\n---\n")
	odd := t.TempDir()
	if err := os.Mkdir(filepath.Join(odd, "c"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(odd, "c", "skill.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := skills.Load(newShelf(t), []string{first, second, empty, gone, odd, filepath.Join(first, "b")})
	if err == nil {
		t.Fatal("no mistake")
	}
	for _, want := range []string{
		"[0]: " + first + "/a/SKILL.md: line 2: name \"A\"", "[0]: " + first + "/a/SKILL.md: line 3: unknown field", "[0]: " + first + "/a/SKILL.md: description is missing",
		"[1]: " + second + "/b/SKILL.md: " + first + "/b/SKILL.md is a skill of the same name",
		"[2]: " + empty + " holds no skill", "[3]: read the folder of skills: open " + gone, "[4]: " + odd + "/c/skill.md: the file of a skill is named SKILL.md",
		"[5]: " + first + "/b is itself a skill",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in\n%v", want, err)
		}
	}
}

// A link that the operator made to a skill is followed; one inside of a skill is not.
func TestLoadFollowsLinksToSkillsOnly(t *testing.T) {
	t.Parallel()
	folder, elsewhere := t.TempDir(), t.TempDir()
	write(t, elsewhere, "s", "---\nname: s\ndescription: d\n---\n")
	if err := os.Symlink(filepath.Join(elsewhere, "s"), filepath.Join(folder, "s")); err != nil {
		t.Fatal(err)
	}
	got, err := skills.Load(newShelf(t), []string{folder})
	if err != nil || !slices.ContainsFunc(got, func(s skills.Skill) bool { return s.Name == "s" }) {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(folder, "t"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "s", skills.FileName), filepath.Join(folder, "t", skills.FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := skills.Load(newShelf(t), []string{folder}); err == nil || !strings.Contains(err.Error(), "t/SKILL.md: path not allowed") {
		t.Errorf("%v", err)
	}
}
