package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram"
)

// script is a Telegram in memory, for tests of time: it never touches the
// network, so the clock of a synctest bubble runs on.
type script struct {
	mu    sync.Mutex
	start time.Time
	polls []time.Duration  // when each poll came
	asked []map[string]any // and what it asked
	// poll answers the n-th poll, from 0.
	poll func(ctx context.Context, n int) (*http.Response, error)
	// other answers what is neither a poll nor getMe; nil: true to everything.
	other func(method string, params map[string]any) *http.Response
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	params := paramsOf(req)
	switch path.Base(req.URL.Path) {
	case "getMe":
		return answer(200, `{"ok":true,"result":{"id":42,"is_bot":true,"username":"parley_bot"}}`), nil
	case "getUpdates":
		s.mu.Lock()
		n := len(s.polls)
		s.polls = append(s.polls, time.Since(s.start))
		s.asked = append(s.asked, params)
		s.mu.Unlock()
		return s.poll(req.Context(), n)
	}
	if s.other != nil {
		if res := s.other(path.Base(req.URL.Path), params); res != nil {
			return res, nil
		}
	}
	return answer(200, `{"ok":true,"result":true}`), nil
}

// paramsOf reads the body of a request, JSON or a form, whose values are JSON or
// texts.
func paramsOf(req *http.Request) map[string]any {
	params := map[string]any{}
	if req.ParseMultipartForm(1<<20) != nil {
		body, _ := io.ReadAll(req.Body)
		_ = json.Unmarshal(body, &params)
		return params
	}
	for k, v := range req.MultipartForm.Value {
		var decoded any
		if json.Unmarshal([]byte(v[0]), &decoded) != nil {
			decoded = v[0]
		}
		params[k] = decoded
	}
	return params
}

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// hang is a poll that nobody answers.
func hang(ctx context.Context) (*http.Response, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func quiet() *http.Response { return answer(200, `{"ok":true,"result":[]}`) }

func said(id int, text string) string {
	return fmt.Sprintf(`{"update_id":%d,"message":{"message_id":%d,"date":1700000000,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"Ann"},"text":%q}}`, id, id, text)
}

func batch(updates ...string) *http.Response {
	return answer(200, `{"ok":true,"result":[`+strings.Join(updates, ",")+`]}`)
}

// watcher counts what the observer is told.
type watcher struct {
	channels.NopObserver
	mu    sync.Mutex
	lines []string
}

func (w *watcher) add(s string) { w.mu.Lock(); w.lines = append(w.lines, s); w.mu.Unlock() }

func (w *watcher) SetConnected(_ string, up bool) { w.add(fmt.Sprint("up ", up)) }
func (w *watcher) Reconnected(string)             { w.add("reconnected") }
func (w *watcher) Event(string, time.Time)        { w.add("event") }

// receiveFor runs Receive over the script for d of the bubble's time.
func receiveFor(t *testing.T, s *script, d time.Duration, o telegram.Options, accept channels.Accept) error {
	t.Helper()
	s.start = time.Now()
	o.Name, o.Token, o.HTTPClient = "tg", channels.NewSecret(token), &http.Client{Transport: s}
	o.Jitter = func() float64 { return 1 } // the longest pauses
	ch, err := telegram.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if accept == nil {
		accept = func(context.Context, channels.Message) error { return nil }
	}
	return ch.Receive(ctx, accept)
}

func seconds(ds []time.Duration) string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprint(d.Seconds()))
	}
	return strings.Join(out, " ")
}

func TestRow04_ASecondPollerOrAWebhookIsOneClearErrorAndSlowRetries(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"terminated by other getUpdates request; make sure that only one bot instance is running",
		"can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { conflict(t, words) })
		})
	}
}

func conflict(t *testing.T, words string) {
	t.Helper()
	var log bytes.Buffer
	s := &script{poll: func(context.Context, int) (*http.Response, error) {
		return answer(409, fmt.Sprintf(`{"ok":false,"error_code":409,"description":%q}`, "Conflict: "+words)), nil
	}}
	err := receiveFor(t, s, 100*time.Second, telegram.Options{Common: channels.Common{Log: slog.New(slog.NewTextHandler(&log, nil))}}, nil)
	if err != nil {
		t.Errorf("Receive: %v", err)
	}
	if got := seconds(s.polls); got != "0 30 60 90" {
		t.Errorf("polls at %s", got)
	}
	if n := strings.Count(log.String(), "another program"); n != 1 {
		t.Errorf("%d log lines:\n%s", n, log.String())
	}
}

func TestRow05_APollThatIsLimitedWaitsExactlyAsLongAsAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{poll: func(ctx context.Context, n int) (*http.Response, error) {
			if n == 0 {
				return answer(429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 17","parameters":{"retry_after":17}}`), nil
			}
			return hang(ctx)
		}}
		if err := receiveFor(t, s, 18*time.Second, telegram.Options{}, nil); err != nil {
			t.Errorf("Receive: %v", err)
		}
		if got := seconds(s.polls); got != "0 17" {
			t.Errorf("polls at %s", got)
		}
	})
}

func TestFailuresAreRetriedAfterGrowingPausesAndTheNextOneStartsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{}
		s := &script{poll: func(ctx context.Context, n int) (*http.Response, error) {
			switch {
			case n < 3:
				return nil, errors.New("connection refused")
			case n < 6:
				return answer(502, "<html>bad gateway</html>"), nil
			case n == 6:
				return quiet(), nil
			case n == 7:
				return answer(500, `{"ok":false,"error_code":500,"description":"Internal Server Error"}`), nil
			case n == 8:
				return quiet(), nil
			}
			return hang(ctx)
		}}
		o := telegram.Options{Common: channels.Common{MinPause: time.Second, MaxPause: 10 * time.Second, Observer: w}}
		if err := receiveFor(t, s, 40*time.Second, o, nil); err != nil {
			t.Errorf("Receive: %v", err)
		}
		if got := seconds(s.polls); got != "0 1 3 7 15 25 35 35 36 36" {
			t.Errorf("polls at %s", got)
		}
		if got := strings.Join(w.lines, ", "); got != "up true, up false, up true, reconnected, up false" {
			t.Errorf("observed %s", got)
		}
	})
}

func TestPollingRemovesAWebhookAndKeepsWhatWaitsForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		s := &script{
			poll: func(ctx context.Context, _ int) (*http.Response, error) {
				calls = append(calls, "getUpdates")
				return hang(ctx)
			},
			other: func(method string, params map[string]any) *http.Response {
				calls = append(calls, fmt.Sprint(method, params))
				return nil
			},
		}
		if err := receiveFor(t, s, time.Second, telegram.Options{}, nil); err != nil {
			t.Error(err)
		}
		if got := strings.Join(calls, " "); got != "deleteWebhookmap[] getUpdates" {
			t.Errorf("called %s", got)
		}
	})
}

func TestAPollThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{poll: func(ctx context.Context, n int) (*http.Response, error) {
			if n == 0 {
				return quiet(), nil
			}
			return hang(ctx)
		}}
		o := telegram.Options{Common: channels.Common{MinPause: time.Second}, PollTimeout: 50 * time.Second, PollMargin: 20 * time.Second}
		if err := receiveFor(t, s, 75*time.Second, o, nil); err != nil {
			t.Errorf("Receive: %v", err)
		}
		// The poll of second 0 is cut after 70 s; one second later a short one.
		if got := seconds(s.polls); got != "0 0 71" {
			t.Errorf("polls at %s", got)
		}
		if s.asked[1]["timeout"] != 50.0 || s.asked[2]["timeout"] != 0.0 {
			t.Errorf("asked %v", s.asked)
		}
	})
}

func TestRow01_TheOffsetMovesOnlyOverWhatWasAccepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{poll: func(ctx context.Context, n int) (*http.Response, error) {
			switch n {
			case 0:
				return batch(said(10, "a"), said(11, "b"), said(12, "c")), nil
			case 1:
				return batch(said(3, "after a quiet week")), nil
			}
			return hang(ctx)
		}}
		var got []string
		refuse := 4
		accept := func(_ context.Context, m channels.Message) error {
			got = append(got, m.Event)
			if m.Event == "11" && refuse > 0 {
				refuse--
				return errors.New("disk full")
			}
			return nil
		}
		if err := receiveFor(t, s, 30*time.Second, telegram.Options{Common: channels.Common{MinPause: time.Second, MaxPause: 4 * time.Second}}, accept); err != nil {
			t.Errorf("Receive: %v", err)
		}
		if want := "10 11 11 11 11 11 12 3"; strings.Join(got, " ") != want {
			t.Errorf("offered %v, want %s", got, want)
		}
		if seconds(s.polls) != "0 11 11" { // pauses of 1, 2, 4, 4
			t.Errorf("polls at %s", seconds(s.polls))
		}
		if s.asked[0]["offset"] != nil || s.asked[1]["offset"] != 13.0 || s.asked[2]["offset"] != 4.0 {
			t.Errorf("asked %v", s.asked)
		}
		for _, a := range s.asked {
			if fmt.Sprint(a["allowed_updates"]) != "[message edited_message callback_query my_chat_member]" {
				t.Errorf("asked for %v", a["allowed_updates"])
			}
		}
	})
}

func TestAnOffsetIsForgottenBeforeIdsStartAnywhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{poll: func(ctx context.Context, n int) (*http.Response, error) {
			if n == 0 {
				return batch(said(900, "a")), nil
			}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Hour):
				return quiet(), nil
			}
		}}
		o := telegram.Options{PollTimeout: 2 * time.Hour}
		if err := receiveFor(t, s, 7*24*time.Hour, o, nil); err != nil {
			t.Errorf("Receive: %v", err)
		}
		if s.asked[100]["offset"] != 901.0 || s.asked[150]["offset"] != nil {
			t.Errorf("offset after 100 h: %v, after 150 h: %v", s.asked[100]["offset"], s.asked[150]["offset"])
		}
	})
}

func TestANegativeOrMissingUpdateIDNeverBecomesAnOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{poll: func(ctx context.Context, n int) (*http.Response, error) {
			if n == 0 {
				return batch(said(-5, "a"), `{"message":{}}`, `17`, `null`, `{"update_id":9223372036854775807}`, `{"update_id":"8"}`), nil
			}
			return hang(ctx)
		}}
		var got []channels.Message
		accept := func(_ context.Context, m channels.Message) error {
			got = append(got, m)
			return nil
		}
		if err := receiveFor(t, s, 10*time.Second, telegram.Options{}, accept); err != nil {
			t.Errorf("Receive: %v", err)
		}
		events := map[string]bool{}
		for _, m := range got {
			events[m.Event] = true
			if m.Kind != channels.Unreadable {
				t.Errorf("got %+v", m)
			}
		}
		if len(got) != 6 || len(events) != 6 || s.asked[1]["offset"] != nil {
			t.Errorf("%d events, %d ids, then asked %v", len(got), len(events), s.asked[1])
		}
	})
}

func TestABadTokenEndsReceive(t *testing.T) {
	t.Parallel()
	for _, status := range []int{401, 404} {
		c := newCanned(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":%d,"description":"Unauthorized"}`, status)
		})
		err := c.Receive(t.Context(), nil)
		if wrong(err).Kind != channels.Unauthorized {
			t.Errorf("%d: Receive gave %v", status, err)
		}
	}
}

// A goroutine that outlived Receive would make the bubble panic: nothing else
// ends this context.
func TestReceiveLeavesNothingRunningWhenItEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{poll: func(context.Context, int) (*http.Response, error) {
			return answer(401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`), nil
		}}
		ch, err := telegram.New(telegram.Options{Common: channels.Common{Name: "tg"}, Token: channels.NewSecret(token), HTTPClient: &http.Client{Transport: s}})
		if err != nil {
			t.Fatal(err)
		}
		if err := ch.Receive(context.Background(), nil); wrong(err).Kind != channels.Unauthorized {
			t.Errorf("Receive gave %v", err)
		}
	})
}

func TestReceiveRunsOnceAtATime(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t)
	events := listen(t, ch)
	r.Say(t, "Ann", "hi")
	next(t, events)
	if err := ch.Receive(t.Context(), nil); err == nil {
		t.Error("a second Receive ran")
	}
}

func TestRow02_AnUpdateThatIsTooLargeForAnAnswerIsBuriedAndTheRestGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		huge := `{"update_id":5,"message":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`
		s := &script{}
		s.poll = func(ctx context.Context, n int) (*http.Response, error) {
			offset, _ := s.asked[n]["offset"].(float64)
			limit, _ := s.asked[n]["limit"].(float64)
			switch {
			case offset > 6:
				return hang(ctx)
			case offset == 6:
				return batch(said(6, "after it")), nil
			case offset == 5 && limit == 1:
				return batch(huge), nil
			case limit == 1:
				return batch(said(4, "before it")), nil
			}
			return batch(said(4, "before it"), huge, said(6, "after it")), nil
		}
		var got []channels.Message
		err := receiveFor(t, s, time.Minute, telegram.Options{MaxAnswer: 1 << 19}, func(_ context.Context, m channels.Message) error {
			got = append(got, m)
			return nil
		})
		if err != nil || len(got) != 3 {
			t.Fatalf("took %d events, %v", len(got), err)
		}
		if m := got[1]; m.Kind != channels.Unreadable || m.Event != "5" || len(m.Raw) > 64<<10 || !strings.Contains(string(m.Raw), "xxx") {
			t.Errorf("the second is %s %s with %d bytes", m.Kind, m.Event, len(m.Raw))
		}
		if got[0].Text != "before it" || got[2].Text != "after it" {
			t.Errorf("%q, %q", got[0].Text, got[2].Text)
		}
	})
}

func TestAnAnswerThatIsNotTelegramsPassesNoUpdate(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]string{"a page": "<html>sign in here</html>", "a long page": strings.Repeat(" ", 1<<20)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{}
				s.poll = func(ctx context.Context, n int) (*http.Response, error) {
					offset, _ := s.asked[n]["offset"].(float64)
					switch {
					case offset == 0:
						return batch(said(4, "before it")), nil
					case n < 8:
						return answer(200, page), nil
					case offset == 5:
						return batch(said(5, "after it")), nil
					}
					return hang(ctx)
				}
				var got []string
				err := receiveFor(t, s, time.Hour, telegram.Options{MaxAnswer: 1 << 19}, func(_ context.Context, m channels.Message) error {
					got = append(got, string(m.Kind)+" "+m.Text)
					return nil
				})
				if want := "message before it, message after it"; err != nil || strings.Join(got, ", ") != want {
					t.Errorf("took %q, %v", got, err)
				}
			})
		})
	}
}
