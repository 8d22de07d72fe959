package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"parley/sessions"
)

// Beyond the lease of 2 s that the rig's workers have.
const paused = 3 * time.Second

func mute(f *faults)   { f.mute = true }
func unmute(f *faults) { f.mute, f.frozen = false, false }

func TestAWorkerWhoseLeaseEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		silence func(*faults)
		within  time.Duration // after it can speak again
	}{
		// A fifth of the lease for the heartbeat, which looks at once.
		"takes nothing until its heartbeat gets through": {mute, 400 * time.Millisecond},
		// And a second for the look: it was told that its heartbeats were heard.
		"takes nothing though it does not know of it": {func(f *faults) { f.frozen = true }, 1400 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inFakeTime(t, func(t *testing.T, r *fixture) {
				a := r.start("a")
				r.say(1, "hello")
				r.wantAnswers(1, "re: hello")
				r.idle()
				a.store.set(c.silence)
				time.Sleep(paused)
				for person := range 3 {
					r.say(person, "are you there?")
				}
				time.Sleep(paused)
				synctest.Wait()
				for person := range 3 {
					if m := r.mailbox(person); m.Owner != (sessions.Worker{}) || !m.HasWork() || m.Attempts != 0 {
						t.Errorf("the mailbox is %+v", m)
					}
				}
				if n := r.counted("started"); n != 1 {
					t.Errorf("%d turns were started", n)
				}
				a.store.set(unmute)
				heard := time.Now()
				r.wantAnswers(0, "re: are you there?")
				r.wantAnswers(1, "re: hello", "re: are you there?")
				r.wantAnswers(2, "re: are you there?")
				if d := time.Since(heard); d > c.within {
					t.Errorf("who waited was answered after %s", d)
				}
				r.idle()
			})
		})
	}

	t.Run("gives back what it was given too late", func(t *testing.T) {
		t.Parallel()
		inFakeTime(t, func(t *testing.T, r *fixture) {
			a := r.start("a")
			synctest.Wait()
			a.store.set(func(f *faults) {
				f.mute = true
				f.touch = func() { time.Sleep(paused) } // it asks while it lives
			})
			r.say(1, "hello")
			time.Sleep(2 * paused)
			synctest.Wait()
			if m := r.mailbox(1); m.Owner != (sessions.Worker{}) || m.Epoch != 1 || m.Attempts != 0 || !m.HasWork() {
				t.Errorf("the mailbox is %+v", m)
			}
			if n := r.counted("started"); n != 0 {
				t.Errorf("%d turns were started", n)
			}
			a.store.set(func(f *faults) { f.mute, f.touch = false, nil })
			r.wantAnswers(1, "re: hello")
			r.idle()
		})
	})

	t.Run("does not take up again what nobody works on", func(t *testing.T) {
		t.Parallel()
		inFakeTime(t, func(t *testing.T, r *fixture) {
			a := r.start("a")
			synctest.Wait()
			asked := time.Now()
			a.store.set(mute)
			time.Sleep(paused)
			k := key(t, 1)
			_, got, err := r.store.Touch(t.Context(), sessions.Touch{Token: k.Token(), Key: k, Seq: 1, By: a.Identity, Take: true, Now: asked})
			if err != nil || !got {
				t.Fatal(got, err)
			}
			r.say(1, "hello")
			time.Sleep(2 * paused)
			synctest.Wait()
			if m := r.mailbox(1); m.Owner != a.Identity || m.Epoch != 1 {
				t.Errorf("the mailbox is %+v", m)
			}
			a.store.set(unmute)
			r.wantAnswers(1, "re: hello")
			r.idle()
		})
	})
}
