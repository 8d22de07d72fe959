package main

import (
	"bytes"
	"os"
	"testing"

	"parley/cmd/cmdtest"
)

// Templates of the standard library call methods by their names. As soon as a program can do that, the
// linker keeps every exported method of every type: parley would be 12 MB larger. Names of functions stay
// in a program that is stripped.
func TestTheProgramHasNoTemplates(t *testing.T) {
	t.Parallel()
	if cmdtest.Instrumented() {
		t.Skip("the released program is looked at where tests are not instrumented")
	}
	path, err := cmdtest.Program(cmdtest.Parley)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path) // the program under test
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB", float64(len(program))/1e6)
	if !bytes.Contains(program, []byte("main.manCommand")) {
		t.Fatal("the program does not name its functions")
	}
	if bytes.Contains(program, []byte("text/template.(*state).evalField")) {
		t.Error("the program contains text/template: build HTML with gateway/hypertext, texts with package fmt, and see which library runs templates (go tool nm)")
	}
}
