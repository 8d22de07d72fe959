package worker_test

import (
	"testing"

	"parley/sessions"
)

func TestAChatThatIsShutIsStoppedAndNobodyIsTold(t *testing.T) {
	t.Parallel()
	inFakeTime(t, func(t *testing.T, r *fixture) {
		r.start("w")
		r.bring(r.old(1, "wait x"))
		r.atGate("x")
		m := r.old(1, "waits")
		r.bring(m)
		r.touched(m)
		kicked := r.message(1, "")
		kicked.Kind, kicked.Closed = "membership", true
		r.bring(kicked)
		r.await("the turn to end", func() bool { return r.counted("ended canceled") == 1 })
		r.done(m)
		r.wantAnswers(1)
		if c, err := r.store.Chat(t.Context(), sessions.ChatID{Channel: "telegram", Account: "42", Peer: "1"}); err != nil || !c.Closed {
			t.Errorf("%+v, %v", c, err)
		}
		r.bring(now(r.message(1, "back")))
		r.wantAnswers(1, "re: back")
	})
}
