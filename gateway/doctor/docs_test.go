package doctor_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/findings"
	"parley/gateway/doctor"
	"parley/gateway/settings"
)

var update = flag.Bool("update", false, "rewrite docs/doctor.md")

const (
	manual = "../../docs/doctor.md"
	marker = "<!-- What follows is written by: go test ./gateway/doctor -update -->\n"
)

func kinds() []findings.Kind {
	return append(doctor.Kinds(), settings.ChannelsConfig{}.FindingKinds()...)
}

// The manual has each id with its severity, its meaning and its fix, and no other.
func TestTheManualHasEachFinding(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(text), marker)
	if !ok {
		t.Fatalf("%s has no line %s", manual, marker)
	}
	want := head + marker + described(kinds())
	if *update {
		if err := os.WriteFile(manual, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Errorf("%s is not what the findings say of themselves; go test ./gateway/doctor -update writes it", manual)
	}
}

// described is the part of the manual that lists the findings, area by area.
func described(all []findings.Kind) string {
	var b strings.Builder
	area := ""
	for _, k := range all {
		if of, _, _ := strings.Cut(k.ID, "."); of != area {
			area = of
			_, _ = fmt.Fprintf(&b, "\n## %s\n", area)
		}
		_, _ = fmt.Fprintf(&b, "\n### %s\n\n*%s.* %s\n", k.ID, k.Severity, k.Meaning)
		if k.Fix != "" {
			_, _ = fmt.Fprintf(&b, "\nTo mend it: %s\n", k.Fix)
		}
	}
	return b.String()
}

func TestKinds(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	form := regexp.MustCompile(`^[a-z]+\.[a-z_]+$`)
	for _, k := range kinds() {
		if seen[k.ID] || !form.MatchString(k.ID) {
			t.Errorf("%s is there twice, or no id", k.ID)
		}
		seen[k.ID] = true
		if !strings.HasSuffix(k.Meaning, ".") || (k.Fix == "") != (k.Severity == findings.Fine) || k.Fix != "" && !strings.HasSuffix(k.Fix, ".") {
			t.Errorf("%s: each means something, and what is not fine can be mended: %+v", k.ID, k)
		}
	}
	if len(seen) < 60 {
		t.Errorf("there are %d", len(seen))
	}
}
