package errands_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/gateway/errands"
)

func TestConfigSaysWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	if err := (errands.Config{}).Defaults().Validate(); err != nil {
		t.Error(err)
	}
	err := errands.Config{PerPerson: 101, Shortest: time.Second, TimeZone: "local", MaxIterations: -1}.Defaults().Validate()
	for _, want := range []string{"per_person: 101 is not 1 to 100", "shortest: 1s is not between 1m0s", `time_zone: no time zone "local"`, "max_iterations: -1 is not 1 to 200"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
