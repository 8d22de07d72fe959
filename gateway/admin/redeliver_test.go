package admin

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/listeners"
	"parley/sessionkeys"
)

// steps is a log and an intake that note what is done, and fail at one step.
type steps struct {
	Log
	done []string
	fail string
}

var errDown = errors.New("it does not answer")

func (s *steps) do(step string) error {
	s.done = append(s.done, step)
	if s.fail == step {
		return errDown
	}
	return nil
}

func (s *steps) DeadLetters(_ context.Context, after uint64, _ int) ([]broker.DeadLetter, error) {
	if after >= 7 {
		return nil, nil
	}
	return []broker.DeadLetter{{ID: "abc", Reason: "attempts", Seq: 7}}, nil
}

func (s *steps) DeleteDeadLetter(_ context.Context, seq uint64) error {
	if seq != 7 {
		return errors.New("another letter")
	}
	return s.do("forget")
}

func (s *steps) Decide(context.Context, sessionkeys.Key, channels.Sender, channels.Message) error {
	return s.do("decide")
}

func (s *steps) MayAnswer(context.Context, string, sessionkeys.Address, channels.Sender) error {
	return nil
}

func (s *steps) Redeliver(context.Context, broker.DeadLetter) error { return s.do("store") }

func (s *steps) Reconstruct(context.Context, broker.DeadLetter) (channels.Message, sessionkeys.Key, error) {
	return channels.Message{}, sessionkeys.Key{}, nil
}

func TestALetterIsForgottenOnlyAfterItsMessageIsStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fail   string
		status int
		done   []string
	}{
		{"", 200, []string{"store", "forget"}},
		{"store", 500, []string{"store"}},
		{"forget", 500, []string{"store", "forget"}},
	} {
		world := &steps{fail: c.fail}
		s, err := New(t.Context(), Options{Socket: listeners.Off, Log: world, Intake: world, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/dead-letters/abc/redeliver", nil))
		if w.Code != c.status || !slices.Equal(world.done, c.done) {
			t.Errorf("when %q fails: %d, %q, %s", c.fail, w.Code, world.done, w.Body)
		}
	}
}
