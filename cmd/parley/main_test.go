package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"parley/cmd/cmdtest"
	"parley/tools/sandbox"
)

// The commands are run as processes of their own, by the parley that PATH names first.
func TestMain(m *testing.M) {
	sandbox.Main()
	// What testscript starts as parley has not the whole environment of the tests.
	if cmdtest.Instrumented() || filepath.Base(os.Args[0]) == "parley" {
		testscript.Main(m, map[string]func(){"parley": main})
	}
	program, err := cmdtest.Program(cmdtest.Parley)
	if err == nil {
		err = os.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestCommandsSayAndEndAsTheirScriptsTell(t *testing.T) {
	t.Parallel()
	recordings, err := filepath.Abs("../../replay/testdata")
	if err != nil {
		t.Fatal(err)
	}
	changed, err := os.ReadFile(filepath.Join(recordings, "tools.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	changed = bytes.ReplaceAll(changed, []byte("You are an assistant"), []byte("You were an assistant"))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ends": ends,
		},
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, instruments()...)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("RECORDINGS", recordings)
			if err := os.WriteFile(filepath.Join(e.WorkDir, "changed.jsonl"), changed, 0o600); err != nil {
				return err
			}
			for _, key := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STATE_DIRECTORY", "XDG_STATE_HOME"} {
				e.Setenv(key, "")
			}
			return nil
		},
	})
}
