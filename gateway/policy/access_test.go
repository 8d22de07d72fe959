package policy_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/gateway/policy"
)

func TestAccessRefusesWhatIsNoID(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "*", "@ann"} {
		for _, a := range []policy.Access{{People: []string{"1", bad}}, {Groups: []string{"1", bad}}} {
			if err := a.Validate(nil, nil); err == nil || !strings.Contains(err.Error(), "[1]") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if err := (policy.Access{People: slices.Repeat([]string{"1"}, 3), Groups: []string{"-100"}}).Validate(nil, nil); err != nil {
		t.Error(err)
	}
	odd := errors.New("odd")
	err := policy.Access{People: []string{"1", "@ann", "2"}, Groups: []string{"3", ""}}.Validate(
		func(id string) error {
			if id == "2" {
				return odd
			}
			return nil
		},
		func(string) error { return odd },
	)
	if !errors.Is(err, odd) {
		t.Fatal(err)
	}
	var places []string
	for line := range strings.Lines(err.Error()) {
		place, _, _ := strings.Cut(line, ":")
		places = append(places, place)
	}
	if want := []string{"people[1]", "people[2]", "groups[0]", "groups[1]"}; !slices.Equal(places, want) {
		t.Errorf("mistakes at %v, want all of %v", places, want)
	}
}

func TestLimitsSayWhatCannotBeMeant(t *testing.T) {
	t.Parallel()
	if err := (policy.Limits{}).Defaults().Validate(); err != nil {
		t.Error(err)
	}
	if err := (policy.Limits{Queue: -2}).Validate(); err == nil || !strings.Contains(err.Error(), "queue") {
		t.Errorf("%v", err)
	}
}
