package delivery_test

import (
	"testing"

	"parley/sessions"
)

// firstday T11. A turn that goes on after a restart is shown again: in the message
// that the process before began, or in a new one when it began none.
func TestATurnThatGoesOnAfterARestartIsShownAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(r *fixture, p *process)
		calls  []string
	}{
		"in the message that stands there": {
			func(r *fixture, p *process) {
				p.show("a", "t1", "half")
				r.await("a preview", func() bool { return r.counted("first") == 1 })
			},
			[]string{"send a half", "edit a half and more in id1", "edit a whole in id1"},
		},
		"in a new one when none was begun": {
			func(*fixture, *process) {},
			[]string{"send a half and more", "edit a whole in id1"},
		},
		"not where nobody knows whether one stands there": {
			func(r *fixture, _ *process) {
				if err := r.store.Preview(t.Context(), "t1", sessions.Preview{State: sessions.PreviewBegun}); err != nil {
					t.Error(err)
				}
			},
			[]string{"send a whole again"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := r.start()
			r.begin("a", "t1")
			c.before(r, p)
			p.end()
			p = r.start()
			p.show("a", "t1", "half and more")
			r.await("the preview", func() bool { return len(r.net.log()) == len(c.calls)-1 })
			r.answer(p, "a", "t1", "whole")
			r.wantCalls(c.calls...)
		})
	}
}
