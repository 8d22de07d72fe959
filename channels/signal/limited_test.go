package signal_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/signal"
)

// A wait for one person, which signal-cli answers to a sign or a reaction too, is none for others.
// A wait for a captcha is one person's, too (github.com/AsamK/signal-cli/issues/1161); Signal does
// not say when the captcha is solved.
func TestAWaitForOnePersonIsNoneForOthers(t *testing.T) {
	t.Parallel()
	for name, asked := range map[string]string{"a wait": `"retryAfterSeconds":90`, "a captcha": `"token":"t","retryAfterSeconds":86400`} {
		limited := `{"jsonrpc":"2.0","error":{"code":-5,"message":"Failed to send message due to rate limiting","data":{"response":{"results":[{"type":"RATE_LIMIT_FAILURE",` + asked + `}]}}},"id":"1"}`
		for of, first := range map[string]func(ch *signal.Channel) error{
			"of a message": func(ch *signal.Channel) error { return send(t, ch, direct(ann), "a", []byte("x")) },
			"of a sign":    func(ch *signal.Channel) error { return ch.ShowTyping(t.Context(), direct(ann)) },
			"of a reaction": func(ch *signal.Channel) error {
				return ch.React(t.Context(), direct(ann), "5."+ann.ACI, channels.Working)
			},
		} {
			t.Run(name+" "+of, func(t *testing.T) {
				t.Parallel()
				daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					answer := `{"jsonrpc":"2.0","result":{"timestamp":5,"results":[]},"id":"1"}`
					if strings.Contains(string(body), ann.ACI) {
						answer = limited
					}
					_, _ = io.WriteString(w, answer)
				}))
				t.Cleanup(daemon.Close)
				ch := attach(t, daemon.URL, func(o *signal.Options) { o.Reactions.Working = "👀" })
				if e := failed(t, first(ch)); e.Kind != channels.RateLimit || e.RetryAfter > 5*time.Minute {
					t.Fatal(e, e.RetryAfter)
				}
				if err := send(t, ch, direct(bob), "a", []byte("x")); err != nil {
					t.Errorf("to another person: %v", err)
				}
				if e := failed(t, send(t, ch, direct(ann), "b", []byte("x"))); e.Kind != channels.RateLimit {
					t.Errorf("to the same one: %v", e)
				}
			})
		}
	}
}
