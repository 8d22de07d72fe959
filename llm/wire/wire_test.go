package wire

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"parley/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		header map[string]string
		want   time.Duration
	}{
		{"none", nil, 0},
		{"seconds", map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{"parts of seconds", map[string]string{"Retry-After": "0.25"}, 250 * time.Millisecond},
		{"milliseconds first", map[string]string{"Retry-After": "7", "Retry-After-Ms": "1500"}, 1500 * time.Millisecond},
		{"a date, by the provider's clock", map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:29:00 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}, time.Minute},
		{"a date that has passed", map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0},
		{"negative", map[string]string{"Retry-After": "-5"}, 0},
		{"not a number", map[string]string{"Retry-After": "NaN"}, 0},
		{"for ever", map[string]string{"Retry-After": "Inf"}, 24 * time.Hour},
		{"huge", map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
		{"words", map[string]string{"Retry-After": "soon"}, 0},
	} {
		h := http.Header{}
		for name, value := range c.header {
			h.Set(name, value)
		}
		if got := retryAfter(h); got != c.want {
			t.Errorf("%s: %v, not %v", c.name, got, c.want)
		}
	}
}

// requirements AH06
func TestAnErrorIsWhatItsNameSaysThenItsSentenceThenItsStatus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   llm.Kind
	}{
		{429, `{"error":{"code":"insufficient_quota","type":"insufficient_quota","message":"You exceeded your current quota"}}`, llm.Quota},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota, try later"}}`, llm.RateLimited}, // a limit per minute at some
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, llm.Quota},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, llm.ContextLength},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":null}}`, llm.ContextLength},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2025-07-01 at 00:00 UTC."}}`, llm.Quota},
		{429, `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 36278. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ContextLength},
		{413, `{"error":{"message":"Request too large for model x in organization y on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`, llm.ContextLength},
		{429, `{"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","code":"rate_limit_exceeded"}}`, llm.RateLimited},
		{400, `{"error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}`, llm.ContextLength},
		{400, `[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, llm.ContextLength},
		{400, `{"message":"Input is too long for requested model."}`, llm.ContextLength},
		{400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error"}}`, llm.ContextLength},
		{400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the number is greater than the context length 4096."}`, llm.ContextLength},
		{400, `{"error":{"message":"filtered","code":"content_filter"}}`, llm.ContentFilter},
		{400, `{"error":{"message":"bad","type":"invalid_request_error","code":"unknown_parameter"}}`, llm.InvalidRequest},
		{403, `{"error":{"type":"permission_error","message":"no"}}`, llm.Auth},
		{500, `{"error":{"type":"overloaded_error","message":"busy"}}`, llm.Overloaded},
		{500, `{"error":"prompt is too long"}`, llm.Server},
		{502, `{"detail":"bad gateway"}`, llm.Server},
		{200, `{"error":{"code":402,"message":"pay"}}`, llm.Quota},
		{200, `{"error":{"code":503,"message":"later"}}`, llm.Overloaded},
		{200, `{"error":{"message":"?"}}`, llm.Server},
		{200, `{"error":{"type":"invalid_request_error","message":"no such tool"}}`, llm.InvalidRequest}, // firstday P2
		{200, `{"error":{"type":"invalid_request_error","message":"prompt is too long"}}`, llm.ContextLength},
	} {
		a, ok := parseAPIError([]byte(c.body))
		if got := kindOf(c.status, a); !ok || got != c.want {
			t.Errorf("%d %s: %s", c.status, c.body, got)
		}
	}
	for _, body := range []string{``, `<html>`, `{}`, `[]`, `[1]`, `[null]`, `{"error":null}`, `{"choices":[]}`} {
		if _, ok := parseAPIError([]byte(body)); ok {
			t.Errorf("taken for an error: %s", body)
		}
	}
}

func TestIdsAreSafeAndDifferentOnesStayDifferent(t *testing.T) {
	t.Parallel()
	allowed := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		x, y := SafeID(a), SafeID(b)
		if !allowed.MatchString(x) || SafeID(x) != x || (a == b) != (x == y) {
			t.Fatalf("%q became %q, %q became %q", a, x, b, y)
		}
		if allowed.MatchString(a) && x != a {
			t.Fatalf("%q was safe and became %q", a, x)
		}
	})
	if id := NewID(); !allowed.MatchString(id) || id == NewID() {
		t.Errorf("new id %q", id)
	}
}

func TestForeignTextIsFitForLogs(t *testing.T) {
	t.Parallel()
	x := Begin(t.Context(), nil, Limits{}, "se/cret", "")
	defer x.End()
	got := x.sanitise("a\n se/cret \x1b[0m se%2Fcret \xff" + strings.Repeat("ü", 400))
	if strings.Contains(got, "se/cret") || strings.Contains(got, "se%2Fcret") || strings.ContainsAny(got, "\n\x1b") || len(got) > longestMessage+3 {
		t.Errorf("%q", got)
	}
}

func TestAnExchangeSendsOnce(t *testing.T) {
	t.Parallel()
	x := Begin(t.Context(), &http.Client{Transport: refusing{}}, Limits{})
	defer x.End()
	for n, want := range []string{"no network", "sent before"} {
		if err := x.Post("https://model.invalid/", nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("request %d: %v", n, err)
		}
	}
}

func TestARequestIsJSONUnlessItsHeaderSaysOtherwise(t *testing.T) {
	t.Parallel()
	var got http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, body = r.Header, nil
		body, _ = io.ReadAll(r.Body)
	}))
	defer server.Close()
	x := Begin(t.Context(), server.Client(), Limits{})
	defer x.End()
	header := http.Header{"Authorization": {"Bearer k"}, "User-Agent": {"mine"}}
	if err := x.Post(server.URL, header, []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	for e, err := range x.Events() {
		t.Errorf("%+v, %v", e, err)
	}
	got.Del("Accept-Encoding") // of the transport
	want := http.Header{
		"Accept": {"application/json"}, "Content-Type": {"application/json"}, "Content-Length": {"7"},
		"Authorization": {"Bearer k"}, "User-Agent": {"mine"},
	}
	if diff := cmp.Diff(want, got); diff != "" || string(body) != `{"a":1}` || len(header) != 2 {
		t.Errorf("%s, %v\n%s", body, header, diff)
	}
}

func TestAMethodStandsUnderTheBaseURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://a.b":             "https://a.b/v1/messages",
		"https://a.b/":            "https://a.b/v1/messages",
		"https://a.b//":           "https://a.b/v1/messages",
		"http://a.b:1/x/v1":       "http://a.b:1/x/v1/v1/messages",
		"http://a.b:1/x/v1/":      "http://a.b:1/x/v1/v1/messages",
		"https://a.b/acc%2Fount":  "https://a.b/acc%2Fount/v1/messages",
		"https://a.b/x/../y":      "https://a.b/y/v1/messages",
		"https://a.b?":            "",
		"https://a.b#":            "",
		"https://u:p@a.b":         "",
		"a.b/v1":                  "",
		"https://":                "",
		"https://a.b/?key=canary": "",
	} {
		got, err := llm.Endpoint(base, "v1/messages")
		if got != want || (err == nil) != (want != "") || err != nil && (strings.Contains(err.Error(), "canary") || err.Error() != llm.CheckBaseURL(base).Error()) {
			t.Errorf("%s: %q, %v", base, got, err)
		}
	}
}

type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNoNetwork }

var errNoNetwork = errors.New("no network")
