package admin

import (
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/listeners"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
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
		s, err := New(t.Context(), Options{Socket: listeners.Off, Log: world, Store: memtest.New(memtest.Every), Intake: world, Now: time.Now})
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

// unwritable is a store that takes no records.
type unwritable struct{ Store }

func (unwritable) WriteRecord(context.Context, sessions.Record) (int64, error) { return 0, errDown }

// An action of an id is begun once, whatever became of it, and not at all when that cannot be recorded.
func TestAnActionIsBegunOnce(t *testing.T) {
	t.Parallel()
	store := memtest.New(memtest.Every)
	act := func(world *steps, kept Store, once, what string) (int, string) {
		t.Helper()
		s, err := New(t.Context(), Options{Socket: listeners.Off, Log: world, Intake: world, Store: kept, Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/dead-letters/"+what+"/redeliver?once="+once, nil))
		return w.Code, w.Body.String()
	}
	const one, other = "0123456789abcdef", "abcdefghijklmnop"
	for _, c := range []struct {
		name       string
		store      Store
		once, what string
		fail       string
		status     int
		says       string
		done       []string
	}{
		{"cannot be recorded", unwritable{store}, one, "abc", "", 500, "is not begun, because that cannot be recorded", nil},
		{"the first time", store, one, "abc", "", 200, `"reason":"attempts"`, []string{"store", "forget"}},
		{"again", store, one, "abc", "", 409, "that was done already, by unknown at ", nil},
		{"of another thing", store, one, "abd", "", 400, "is that of another action", nil},
		{"fails", store, other, "abc", "store", 500, "it does not answer", []string{"store"}},
		{"fails, again", store, other, "abc", "", 409, "nothing was done: it does not answer", nil},
		{"an id that is none", store, "short", "abc", "", 400, "16 to 64 letters and digits", nil},
	} {
		world := &steps{fail: c.fail}
		status, body := act(world, c.store, c.once, c.what)
		if status != c.status || !strings.Contains(body, c.says) || !slices.Equal(world.done, c.done) {
			t.Errorf("%s: %d, %q, %s", c.name, status, world.done, body)
		}
	}
}
