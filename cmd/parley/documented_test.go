package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// called is a line of a document that calls parley: at the beginning of an indented or fenced
// line, perhaps behind a prompt, another command that runs it, or in a container.
var called = regexp.MustCompile(`^(?:\$ )?(?:sudo (?:-u parley )?)?(?:docker (?:run|exec|compose exec)[^#|]* |kubectl exec [^#|]*-- |go run \./cmd/)?(?:[./]|/usr/bin/)*parley ([a-z-].*)$`)

// span is a call in the running text: `parley status`.
var span = regexp.MustCompile("`(?:\\./)?parley ([a-z][^`]*)`")

// call is the arguments of a documented call.
type call struct {
	where string
	args  []string
}

// calls returns what a document says to run, with backslashes at the ends of lines undone.
func calls(where, text string) (all []call) {
	text = strings.NewReplacer("\\\n", " ", "--name parley", "").Replace(text)
	add := func(command string) {
		command, _, _ = strings.Cut(command, " #")
		command = regexp.MustCompile(` (?:[|>&;]|2>).*| …| \.\.\.`).ReplaceAllString(command, "")
		all = append(all, call{where, strings.Fields(command)})
	}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		rest, indented := strings.CutPrefix(line, "    ")
		if m := called.FindStringSubmatch(strings.TrimSpace(rest)); m != nil && (indented || fenced) && !strings.HasPrefix(m[1], version()+",") {
			add(m[1])
		}
	}
	for _, m := range span.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
		add(m[1])
	}
	return all
}

// documents are all texts for people that name commands, but for the page that is written from them.
func documents(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../configs/*.yaml", "../../Dockerfile*", "../../deploy/packages/*.sh", "../../deploy/systemd/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		names = append(names, slices.DeleteFunc(found, func(name string) bool { return filepath.Base(name) == filepath.Base(commandsPage) })...)
	}
	return names
}

// Each command that a document names is there, with the flags that it names.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	checked := map[string]int{}
	for _, name := range documents(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		plain := string(text)
		if filepath.Ext(name) != ".md" {
			// What comments and units call, as a document indents it.
			plain = regexp.MustCompile(`(?m)^(?:#  +|CMD |Exec[A-Za-z]*=|  \d\. )`).ReplaceAllString(plain, "    ")
		}
		for _, c := range calls(filepath.Base(name), plain) {
			checked[c.where]++
			if problem := tryCall(c.args); problem != "" {
				t.Errorf("%s: parley %s: %s", c.where, strings.Join(c.args, " "), problem)
			}
		}
	}
	for name, least := range map[string]int{"README.md": 13, "install.md": 10, "operating.md": 60, "signal.md": 5, "quickstart.md": 11, "parley.service": 2, "Dockerfile": 2} {
		if checked[name] < least {
			t.Errorf("%s: only %d calls were found", name, checked[name])
		}
	}
}

// tryCall says what is wrong with a call, without running anything.
func tryCall(args []string) string {
	root := rootCommand(program{getenv: os.LookupEnv})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	c, rest, err := root.Find(args)
	if err != nil {
		return err.Error()
	}
	if c == root && !slices.Contains(args, "--version") {
		return "no such command"
	}
	if c.DisableFlagParsing {
		return "" // it takes the flags of another program
	}
	if err := c.ParseFlags(rest); err != nil {
		// What stands for a value, as in --limit N, is no mistake of the document.
		if text := err.Error(); strings.HasPrefix(text, "unknown") {
			return text
		}
		return ""
	}
	switch {
	case c.HasSubCommands() && c.Flags().NArg() > 0:
		return "no command " + c.Flags().Arg(0) + " below " + c.CommandPath()
	case isGroup(c) && !slices.Contains(args, "--help"):
		return "it prints the help of " + c.CommandPath()
	}
	return ""
}

func TestADocumentedCommandThatIsNotThereIsFound(t *testing.T) {
	t.Parallel()
	const text = "Run `parley status --josn`.\n\n    $ sudo parley rnu --config x   # comment\n    docker exec parley /parley sessions show ID --jsn | jq\n    ./parley prices lst\n    ./parley budget\n"
	var problems []string
	for _, c := range calls("x.md", text) {
		problems = append(problems, tryCall(c.args))
	}
	if len(problems) != 5 || slices.Contains(problems, "") {
		t.Errorf("%q", problems)
	}
}
