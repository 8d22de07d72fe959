package trusted_test

import (
	"testing"

	"parley/tools/trusted"
)

func TestIncludes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"a/b.txt": false, "persona.md": true, "sub/PERSONA.md": true, "a/.git/config": true, ".env.local": true, "Claude.MD": true, "": false,
	} {
		if got := trusted.Includes(path, trusted.Fold([]string{"Persona.md"})); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}
