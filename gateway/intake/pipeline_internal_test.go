package intake

import (
	"context"
	"errors"
	"testing"
)

func TestPipeline(t *testing.T) {
	t.Parallel()
	errDown := errors.New("it does not answer")
	var went string
	step := func(name string, o outcome, err error) stage {
		return func(context.Context, *event) (outcome, error) {
			went += name
			return o, err
		}
	}
	yes, no := func(*event) bool { return true }, func(*event) bool { return false }
	a, b, c := step("a", pass, nil), step("b", pass, nil), step("c", pass, nil)
	for _, row := range []struct {
		name   string
		stages pipeline
		want   string
		ends   outcome
		err    error
	}{
		{"goes through all stages in their order", pipeline{a, b, c}, "abc", pass, nil},
		{"ends at a stage that stops", pipeline{a, step("x", stop, nil), c}, "ax", stop, nil},
		{"ends at an error, whatever stands beside it", pipeline{a, step("x", pass, errDown), c}, "ax", stop, errDown},
		{"goes on behind stages for other events", pipeline{onlyIf(no, a), b}, "b", pass, nil},
		{"goes on behind stages for such events that pass", pipeline{onlyIf(yes, a, b), c}, "abc", pass, nil},
		{"ends where stages for such events stop", pipeline{onlyIf(yes, step("x", stop, nil), b), c}, "x", stop, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			went = ""
			ends, err := row.stages.run(t.Context(), &event{})
			if went != row.want || ends != row.ends || !errors.Is(err, row.err) {
				t.Errorf("it went %q and ended %v, %v", went, ends, err)
			}
		})
	}
}
