package model_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/runtest"
	"parley/simulators/model"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a running server with a client of its own.
type fixture struct {
	*model.Server
	t      *testing.T
	client *http.Client
	served chan model.Entry
}

// start runs a server until the test ends.
func start(t *testing.T, o model.Options) *fixture {
	t.Helper()
	served := make(chan model.Entry, 4096)
	if o.OnServed == nil {
		o.OnServed = func(e model.Entry) { served <- e }
	}
	s := model.New(o)
	runtest.Serve(t, s)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &fixture{s, t, &http.Client{Transport: transport}, served}
}

// send posts a body to a path.
func (h *fixture) send(ctx context.Context, path, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL()+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("anthropic-version", "2023-06-01")
	return h.client.Do(r)
}

// post gives status, header and body; cut says that the body broke off.
func (h *fixture) post(path, body string) (status int, header http.Header, text string, cut error) {
	h.t.Helper()
	res, err := h.send(h.t.Context(), path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(b), err
}

// tell posts a body when only the books matter.
func (h *fixture) tell(path, body string) {
	h.t.Helper()
	if _, _, _, err := h.post(path, body); err != nil {
		h.t.Error(err)
	}
}

// last is the newest entry of the bill.
func (h *fixture) last() model.Entry {
	h.t.Helper()
	b := h.Bill()
	if len(b.Entries) == 0 {
		h.t.Fatal("nothing on the bill")
	}
	return b.Entries[len(b.Entries)-1]
}

const (
	messages    = "/v1/messages"
	completions = "/v1/chat/completions"
	answers     = "/v1/responses"
)

// ask is a request with one line of text.
func ask(path, text string, stream bool) string {
	q := map[string]any{
		"model": "m", "max_tokens": 4096, "stream": stream,
		"messages": []any{map[string]any{"role": "user", "content": text}},
	}
	if path == answers {
		q = map[string]any{"model": "m", "max_output_tokens": 4096, "stream": stream, "input": text, "store": false}
	}
	if path == completions && stream {
		q["stream_options"] = map[string]any{"include_usage": true}
	}
	b, _ := json.Marshal(q)
	return string(b)
}

// rich holds everything an answer may hold.
func rich() model.Answer {
	return model.Reply(
		model.Think("first I think, ünïcode and all"), model.Redact("secret"),
		model.Say("two calls: \"quoted\" \\ <b>\n\t\x01 end"),
		model.Use("a", map[string]any{"path": "über/den/Fluß/und/in/die/Wälder.txt"}), model.Use("b", map[string]any{"n": 7}),
	)
}

// events are the names of a body's SSE events, or what stands in their place
// in OpenAI's protocol.
func events(t *testing.T, body string) (names []string, data []map[string]any) {
	t.Helper()
	name := ""
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if n, ok := strings.CutPrefix(line, "event: "); ok {
			name = n
		}
		d, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if d == "[DONE]" {
			names, data = append(names, d), append(data, nil)
			continue
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(d), &v); err != nil {
			t.Fatalf("event %q: %v", d, err)
		}
		if name != "" && v["type"] != name {
			t.Errorf("event %q holds type %v", name, v["type"])
		}
		names, data = append(names, name), append(data, v)
	}
	return names, data
}

func compact(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// text is the whole body of a response.
func text(t *testing.T, res *http.Response) string {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

func TestTheBillSaysFromWhereARequestCame(t *testing.T) {
	t.Parallel()
	h := start(t, model.Options{})
	h.tell(messages, ask(messages, "hello", false))
	if got := h.last().Client; got != "127.0.0.1" {
		t.Errorf("the request is said to have come from %q", got)
	}
}
