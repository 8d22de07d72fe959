package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// proofs name the test that runs each command to its end, with what it prints.
var proofs = map[string]string{
	"access allow":           "TestPeopleAreLetInAndShutOut",
	"access deny":            "TestPeopleAreLetInAndShutOut",
	"access ls":              "TestPeopleAreLetInAndShutOut",
	"approvals approve":      "TestTheOperatorDecidesAboutCalls",
	"approvals deny":         "TestTheOperatorDecidesAboutCalls",
	"approvals ls":           "TestTheOperatorDecidesAboutCalls",
	"approvals show":         "TestTheOperatorDecidesAboutCalls",
	"backup":                 "TestBackupAndRestore",
	"budget ls":              "TestBudgetsOfAGatewayThatRuns",
	"budget raise":           "TestBudgetsOfAGatewayThatRuns",
	"budget revoke":          "TestBudgetsOfAGatewayThatRuns",
	"check-config":           "config.txtar",
	"completion bash":        "help.txtar",
	"completion fish":        "help.txtar",
	"completion powershell":  "help.txtar",
	"completion zsh":         "help.txtar",
	"cron ls":                "TestCronListsJobsWithTheirRunsAndCosts",
	"cron run":               "TestCronListsJobsWithTheirRunsAndCosts",
	"dead-letters drop":      "TestDeadLettersAreListedRedeliveredAndDropped",
	"dead-letters ls":        "TestDeadLettersAreListedRedeliveredAndDropped",
	"dead-letters redeliver": "TestDeadLettersAreListedRedeliveredAndDropped",
	"dead-letters show":      "TestDeadLettersAreListedRedeliveredAndDropped",
	"doctor":                 "TestDoctor",
	extractPDF:               "extract-pdf.txtar",
	"forget":                 "TestSessionsAndPeopleAreDeletedAndTheMoneyStays",
	"healthcheck":            "checkHealth",
	"help":                   "help.txtar",
	"init":                   "config.txtar",
	keepSignalCLI:            "TestNoCommandWritesTheConfiguration", // package channels/signal tests what it does
	"man":                    "version.txtar",
	"mcp allow":              "TestTheOperatorConsentsToToolsOfMCPServers",
	"mcp login":              "TestTheOperatorLogsInAtAnMCPServer",
	"mcp logout":             "TestTheOperatorLogsInAtAnMCPServer",
	"mcp ls":                 "TestTheOperatorConsentsToToolsOfMCPServers",
	"mcp revoke":             "TestTheOperatorConsentsToToolsOfMCPServers",
	"mcp serve":              "serve",
	"mcp show":               "TestTheOperatorConsentsToToolsOfMCPServers",
	"page":                   "TestPageGivesACodeToLogInWith",
	"pair approve":           "TestPeopleAreLetInAndShutOut",
	"pair ls":                "TestPeopleAreLetInAndShutOut",
	"pair revoke":            "TestPeopleAreLetInAndShutOut",
	"prices check":           "prices.txtar",
	"prices ls":              "prices.txtar",
	"reload":                 "TestReload",
	"replay":                 "replay.txtar",
	"restore":                "TestBackupAndRestore",
	"run":                    "TestRunAnswersAndFinishesWhatRunsBeforeItEnds",
	"schema":                 "config.txtar",
	"sessions delete":        "TestSessionsAndPeopleAreDeletedAndTheMoneyStays",
	"sessions export":        "TestSessionsAndUsageOfAGatewayThatAnswered",
	"sessions import":        "TestSessionsAndUsageOfAGatewayThatAnswered",
	"sessions ls":            "TestSessionsAndUsageOfAGatewayThatAnswered",
	"sessions show":          "TestSessionsAndUsageOfAGatewayThatAnswered",
	"sessions watch":         "TestWatchAndWhyOfAnOrdinaryMessage",
	"signal groups":          "TestASignalAccountIsOperatedThroughTheGateway",
	"signal link":            "TestASignalAccountIsOperatedThroughTheGateway",
	"signal trust":           "TestASignalAccountIsOperatedThroughTheGateway",
	"sim":                    "TestSimEndsInOrderWhenToldTo",
	"sim signal-cli":         "TestASupervisorRunsTheSignalCLIOfSim",
	"slack manifest":         "slack.txtar",
	"status":                 "TestStatusOfAGatewayThatRunsAndOfOneThatEnded",
	"tools call":             "tools.txtar",
	"tools check":            "tools.txtar",
	"try":                    "try.txtar",
	"usage":                  "TestSessionsAndUsageOfAGatewayThatAnswered",
	"version":                "version.txtar",
	"why":                    "TestWatchAndWhyOfAnOrdinaryMessage",
}

// Each command is run by a test, as a process, where proofs says.
func TestEachCommandIsRunByATest(t *testing.T) {
	t.Parallel()
	for _, c := range leaves() {
		if proofs[c] == "" {
			t.Errorf("no test is named for parley %s", c)
		}
	}
	if all := leaves(); len(all) != len(proofs) {
		t.Errorf("there are %d commands, and tests for %d", len(all), len(proofs))
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file) // of this package
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range regexp.MustCompile(`(?s)\nfunc (?:\([^)]*\) )?(\w+)\([^\n]*\{\n.*?\n}\n`).FindAllStringSubmatch(string(text), -1) {
			functions[f[1]] = f[0]
		}
	}
	for command, proof := range proofs {
		if strings.HasSuffix(proof, ".txtar") {
			text, err := os.ReadFile(filepath.Join("testdata", "script", proof))
			if err != nil || !regexp.MustCompile(`(?m)^(exec|exec sh -c '|ends \d+) ?parley `+command+`\b`).Match(text) {
				t.Errorf("%s does not run parley %s: %v", proof, command, err)
			}
			continue
		}
		first, _, _ := strings.Cut(command, " ")
		if body, ok := functions[proof]; !ok || !strings.Contains(body, `"`+first+`"`) && command != keepSignalCLI && !strings.Contains(body, `{"`+first+`", `) {
			t.Errorf("%s does not run parley %s", proof, command)
		}
	}
}

var update = flag.Bool("update", false, "rewrite docs/commands.md")

const (
	commandsPage   = "../../docs/commands.md"
	commandsMarker = "<!-- What follows is written by: go test ./cmd/parley -run TestTheManualHasEachCommand -update -->\n"
)

// The manual has each command with its flags as --help says them, and no other.
func TestTheManualHasEachCommand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(commandsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(text), commandsMarker)
	if !ok {
		t.Fatalf("%s has no line %s", commandsPage, commandsMarker)
	}
	var b bytes.Buffer
	describeCommands(&b, rootCommand(program{getenv: os.LookupEnv}))
	want := head + commandsMarker + b.String()
	if *update {
		if err := os.WriteFile(commandsPage, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is not what --help says; go test ./cmd/parley -run TestTheManualHasEachCommand -update writes it", commandsPage)
	}
}

// describeCommands writes what is below c, in the order of the alphabet, without what is hidden.
func describeCommands(b *bytes.Buffer, c *cobra.Command) {
	for _, below := range c.Commands() {
		if below.Hidden {
			continue
		}
		level := "##" + strings.Repeat("#", strings.Count(below.CommandPath(), " ")-1)
		_, _ = fmt.Fprintf(b, "\n%s %s\n\n%s.\n", level, below.CommandPath(), below.Short)
		if !isGroup(below) {
			_, _ = fmt.Fprintf(b, "\n    %s\n", below.UseLine())
		}
		if below.Long != "" {
			// What a help text indents is a command or a file.
			_, _ = fmt.Fprintf(b, "\n%s\n", regexp.MustCompile(`(?m)^ +`).ReplaceAllString(below.Long, "    "))
		}
		if flags := below.LocalFlags().FlagUsages(); flags != "" {
			_, _ = fmt.Fprintf(b, "\n%s", regexp.MustCompile(`(?m)^ {2}`).ReplaceAllString(flags, "    "))
		}
		describeCommands(b, below)
	}
}
