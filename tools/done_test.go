package tools_test

import (
	"strings"
	"testing"

	"parley/tools"
)

// F25, F26
func TestDoneEndsTheTurnWithItsMessage(t *testing.T) {
	t.Parallel()
	done, err := tools.NewDone()
	if err != nil {
		t.Fatal(err)
	}
	set, err := tools.NewSet(done)
	if err != nil {
		t.Fatal(err)
	}
	for input, want := range map[string]string{`{"message":" It is 42.\n"}`: "It is 42.", `{}`: ""} {
		args, err := tools.DecodeArguments(input)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Check(tools.DoneName, args); err != nil {
			t.Errorf("%s: %v", input, err)
		}
		c := tools.Call{Name: tools.DoneName, Arguments: args.JSON()}
		if got, err := done.Run(t.Context(), c); err != nil || got.Content != want || !got.Done || done.Category(c) != tools.Read {
			t.Errorf("%s: %+v, %v", input, got, err)
		}
	}
	args, err := tools.DecodeArguments(`{"answer":"42"}`)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Check(tools.DoneName, args); err == nil || !strings.Contains(err.Error(), "answer") {
		t.Errorf("another parameter: %v", err)
	}
}
