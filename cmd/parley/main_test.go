package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands are run as processes of their own, by this very binary.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"parley": main})
}

func TestCommandsSayAndEndAsTheirScriptsTell(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ends": ends,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			for _, key := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "STATE_DIRECTORY", "XDG_STATE_HOME"} {
				e.Setenv(key, "")
			}
			return nil
		},
	})
}
