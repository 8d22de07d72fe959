package telegram_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram"
)

// newCanned is a channel on a server that answers with h.
func newCanned(t *testing.T, h http.HandlerFunc, change ...func(*telegram.Options)) *telegram.Channel {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o := telegram.Options{
		Common: channels.Common{Name: "tg", MinPause: time.Millisecond, MaxPause: time.Millisecond},
		Token:  channels.NewSecret(token), APIURL: s.URL, SendTimeout: 20 * time.Second, Pace: -1,
	}
	for _, c := range change {
		c(&o)
	}
	ch, err := telegram.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ch.Close() })
	return ch
}

// cut ends the connection under the answer.
func cut(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = conn.Close()
	}
}

func TestAFailedSendSaysWhetherTheMessageMayHaveArrived(t *testing.T) {
	t.Parallel()
	api := func(status int, words, more string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":%d,"description":%q%s}`, status, words, more)
		}
	}
	page := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, c := range map[string]struct {
		h     http.HandlerFunc
		kind  channels.ErrorKind
		after time.Duration
		moved string
	}{
		"limited":                     {api(429, "Too Many Requests: retry after 9", `,"parameters":{"retry_after":9}`), channels.RateLimit, 9 * time.Second, ""},
		"limited by a gateway":        {page(429, "slow down"), channels.RateLimit, time.Second, ""},
		"refused":                     {api(400, "Bad Request: message is too long", ""), channels.Refused, 0, ""},
		"moved":                       {api(400, "Bad Request: group chat was upgraded to a supergroup chat", `,"parameters":{"migrate_to_chat_id":-1009007199254740993}`), channels.Moved, 0, "-1009007199254740993"},
		"chat not found":              {api(400, "Bad Request: chat not found", ""), channels.Gone, 0, ""},
		"blocked":                     {api(403, "Forbidden: bot was blocked by the user", ""), channels.Gone, 0, ""},
		"unknown peer":                {api(400, "Bad Request: PEER_ID_INVALID", ""), channels.Gone, 0, ""},
		"muted":                       {api(400, "Bad Request: not enough rights to send text messages to the chat", ""), channels.Gone, 0, ""},
		"deactivated":                 {api(403, "Forbidden: user is deactivated", ""), channels.Gone, 0, ""},
		"bad token":                   {api(401, "Unauthorized", ""), channels.Unauthorized, 0, ""},
		"malformed token":             {api(404, "Not Found", ""), channels.Unauthorized, 0, ""},
		"server error":                {api(500, "Internal Server Error", ""), channels.Unsent, 0, ""},
		"server that is shut down":    {api(500, "Internal Server Error: restart", ""), channels.Ambiguous, 0, ""},
		"sent, and deleted":           {api(500, "Internal Server Error: sent message was immediately deleted and can't be returned", ""), channels.Refused, 0, ""},
		"server in between":           {page(502, "<html>Bad Gateway</html>"), channels.Ambiguous, 0, ""},
		"server without a word":       {page(504, ""), channels.Ambiguous, 0, ""},
		"page of a proxy":             {page(413, "<html>too large</html>"), channels.Refused, 0, ""},
		"yes, but no JSON":            {page(200, "<html>ok</html>"), channels.Ambiguous, 0, ""},
		"yes, but no id":              {page(200, `{"ok":true,"result":{}}`), channels.Ambiguous, 0, ""},
		"an answer that says nothing": {page(200, `{}`), channels.Ambiguous, 0, ""},
		"redirected": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere"+r.URL.Path, http.StatusFound)
		}, channels.Unsent, 0, ""},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cut(w)
		}, channels.Ambiguous, 0, ""},
		"cut in the middle of the answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"ok":true,`)
		}, channels.Ambiguous, 0, ""},
		"an endless answer": {func(w http.ResponseWriter, _ *http.Request) {
			for range 100 {
				_, _ = w.Write(make([]byte, 1<<12))
			}
		}, channels.Ambiguous, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				c.h(w, r)
			}, func(o *telegram.Options) { o.MaxAnswer = 1 << 16 })
			_, err := ch.Send(t.Context(), to(7, "", "hi"))
			e := wrong(err)
			if e.Kind != c.kind || e.RetryAfter != c.after || e.MovedTo != c.moved || e.Op != "sendMessage" {
				t.Errorf("%#v", e)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("the request went out %d times", n)
			}
		})
	}
}

func TestASendThatNeverLeftIsUnsent(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for name, address := range map[string]string{"dial": closed, "TLS": "https" + plain.URL[len("http"):]} {
		ch := newCanned(t, nil, func(o *telegram.Options) { o.APIURL = address })
		if _, err := ch.Send(t.Context(), to(7, "", "hi")); wrong(err).Kind != channels.Unsent {
			t.Errorf("%s: %v", name, err)
		}
	}
	ch := newCanned(t, func(http.ResponseWriter, *http.Request) { t.Error("it was sent") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ch.Send(ctx, to(7, "", "hi")); wrong(err).Kind != channels.Unsent || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: %v", err)
	}
	for _, peer := range []string{"", "0", "@name", "1e9", "../x"} {
		r := to(7, "", "hi")
		r.To.Peer = peer
		if _, err := ch.Send(t.Context(), r); wrong(err).Kind != channels.Refused {
			t.Errorf("peer %q: %v", peer, err)
		}
	}
}

func TestASendThatIsCancelledOnTheWayIsAmbiguous(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	ch := newCanned(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	if _, err := ch.Send(ctx, to(7, "", "hi")); wrong(err).Kind != channels.Ambiguous {
		t.Errorf("%v", err)
	}
}

// A kept connection that the server closed must not make net/http send again.
func TestAMessageIsNeverRepeatedByTheTransport(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method != http.MethodPost || r.Header.Get("Idempotency-Key") != "" {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		if calls.Add(1) == 1 {
			_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":1}}`)
			return
		}
		cut(w)
	})
	if _, err := ch.Send(t.Context(), to(7, "", "one")); err != nil {
		t.Fatal(err)
	}
	if _, err := ch.Send(t.Context(), to(7, "", "two")); wrong(err).Kind != channels.Ambiguous {
		t.Errorf("%v", err)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d requests for two sends", n)
	}
}

// form is what the server got, as JSON or, with a file, as a form.
func form(t *testing.T, r *http.Request) map[string]string {
	t.Helper()
	if r.Header.Get("Content-Type") == "application/json" {
		fields, out := map[string]json.RawMessage{}, map[string]string{}
		if err := json.NewDecoder(r.Body).Decode(&fields); err != nil {
			t.Error(err)
		}
		for k, v := range fields {
			var text string
			if json.Unmarshal(v, &text) != nil {
				text = string(v)
			}
			out[k] = text
		}
		return out
	}
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		t.Error(err)
		return nil
	}
	out := map[string]string{}
	for k, v := range r.MultipartForm.Value {
		out[k] = v[0]
	}
	return out
}

func TestRow08_EntitiesThatAreRefusedLeavePlainText(t *testing.T) {
	t.Parallel()
	var got []map[string]string
	ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
		f := form(t, r)
		got = append(got, f)
		if f["entities"] != "" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: unsupported"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5}}`)
	})
	bodies := ch.Render("**bold** [x](https://a.example)")
	receipt, err := ch.Send(t.Context(), channels.Reply{To: to(7, "", "").To, ReplyTo: "3", Body: bodies[0]})
	if err != nil || receipt.MessageID != "5" {
		t.Fatalf("%+v, %v", receipt, err)
	}
	if len(got) != 2 || got[0]["text"] != "bold x" || got[1]["text"] != "bold x" || got[1]["entities"] != "" {
		t.Errorf("sent %v", got)
	}
	var entities []map[string]any
	if err := json.Unmarshal([]byte(got[0]["entities"]), &entities); err != nil || len(entities) != 2 || entities[1]["url"] != "https://a.example" {
		t.Errorf("entities %s", got[0]["entities"])
	}
	for _, f := range got {
		if f["link_preview_options"] != `{"is_disabled":true}` || f["reply_parameters"] != `{"message_id":3,"allow_sending_without_reply":true}` || f["parse_mode"] != "" {
			t.Errorf("sent %v", f)
		}
	}
	if err := ch.Edit(t.Context(), to(7, "", "").To, "5", bodies[0]); err != nil {
		t.Error(err)
	}
}

func TestRow10_TheGeneralTopicIsLeftOutWhenSendingAndNamedWhenTyping(t *testing.T) {
	t.Parallel()
	var got []map[string]string
	ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, form(t, r))
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5}}`)
	})
	r := to(-100, "1", "hi")
	if _, err := ch.Send(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if err := ch.ShowTyping(t.Context(), r.To); err != nil {
		t.Fatal(err)
	}
	if got[0]["message_thread_id"] != "" || got[1]["message_thread_id"] != "1" || got[1]["action"] != "typing" {
		t.Errorf("sent %v", got)
	}
}

func TestAnEditThatChangesNothingIsASuccess(t *testing.T) {
	t.Parallel()
	words := "Bad Request: message is not modified: specified new message content is the same"
	ch := newCanned(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":%q}`, words)
	})
	if err := ch.Edit(t.Context(), to(7, "", "").To, "5", channels.Body{Text: "x"}); err != nil {
		t.Error(err)
	}
	words = "Bad Request: message to edit not found"
	if err := ch.Edit(t.Context(), to(7, "", "").To, "5", channels.Body{Text: "x"}); wrong(err).Kind != channels.Refused {
		t.Errorf("%v", err)
	}
}

// firstday T11. A preview that lost its entities, or has the mark of a repeat before it,
// does not read as the answer does: the answer is written over it.
func TestEdit_APreviewThatReadsOtherwiseIsChanged(t *testing.T) {
	t.Parallel()
	calls, refuse := 0, true
	ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		if form(t, r)["entities"] != "" && refuse {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"ok":false,"error_code":400,"description":"Bad Request: can't parse entities: unsupported"}`)
			return
		}
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5}}`)
	})
	place, b := to(7, "", "").To, ch.Render("**bold**")[0]
	begin := func(repeat bool) {
		t.Helper()
		if _, err := ch.StartStream(t.Context(), channels.Reply{To: place, Body: b, Repeat: repeat}); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(name string, want int) {
		t.Helper()
		calls = 0
		if err := ch.Edit(t.Context(), place, "5", b); err != nil || calls != want {
			t.Errorf("%s: %d calls, %v, want %d", name, calls, err, want)
		}
	}
	begin(false)
	refuse = false
	ends("begun without its entities", 1)
	begin(true)
	ends("begun with the mark of a repeat", 1)
	begin(false)
	refuse = true
	if err := ch.UpdateStream(t.Context(), place, "5", channels.Body{Text: "more", Markup: b.Markup}); err != nil {
		t.Fatal(err)
	}
	if err := ch.UpdateStream(t.Context(), place, "5", b); err != nil {
		t.Fatal(err)
	}
	refuse = false
	ends("grown without its entities", 1)
	begin(false)
	ends("as it is to read", 0)
}
