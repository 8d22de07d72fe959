package telegram_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	"parley/sessionkeys"
	sim "parley/simulators/telegram"
)

var errDisk = errors.New("the disk is gone")

// noise is n bytes that are like no other's.
func noise(n int) []byte {
	out := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(out)
	return out
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// file is a reply to a chat with a file, which has no text.
func file(chat int64, thread string) channels.Reply {
	r := to(chat, thread, "")
	r.Body = channels.Body{}
	return r
}

// plain hides what else a reader can do.
type plain struct{ io.Reader }

func send(t *testing.T, ch *telegram.Channel, r channels.Reply, name string, content []byte) (channels.Receipt, error) {
	t.Helper()
	return ch.SendFile(t.Context(), r, channels.File{Name: name, MIME: "application/pdf", Size: int64(len(content))}, plain{bytes.NewReader(content)})
}

func TestAFileArrivesByteForByteAndInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, patient)
	asked := r.say(t, sim.PrivateChat(ann), ann, "the report, please", sim.SayOptions{})
	content := noise(3 << 20)
	reply := file(ann.ID, "")
	reply.ReplyTo = decimal(asked.MessageID)
	receipt, err := send(t, ch, reply, "report.pdf", content)
	if err != nil {
		t.Fatal(err)
	}
	reply.Repeat = true
	if _, err := send(t, ch, reply, "report.pdf", content); err != nil {
		t.Fatal(err)
	}
	sent := r.Books().Messages
	if len(sent) != 2 {
		t.Fatalf("sent %+v", sent)
	}
	for i, text := range []string{"", "(This may be a repeat.)"} {
		m := sent[i]
		want := sim.DocumentEntry{Name: "report.pdf", MIME: "application/pdf", Size: 3 << 20, SHA256: digest(content)}
		if m.Document != nil {
			want.FileID = m.Document.FileID
		}
		if m.Document == nil || *m.Document != want || m.ReplyTo != asked.MessageID || m.Text() != text {
			t.Errorf("sent %+v with %+v", m, m.Document)
		}
	}
	if receipt.MessageID != decimal(sent[0].MessageID) {
		t.Errorf("the receipt is %+v", receipt)
	}
}

func TestAFileGoesIntoItsTopicAndOutsideOfOneThatIsGone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, patient)
	if _, err := r.SetStanding(forum, ann, "Parley_bot", "member"); err != nil {
		t.Fatal(err)
	}
	topic, err := r.CreateTopic(forum, ann, "Plans", "")
	if err != nil {
		t.Fatal(err)
	}
	content := noise(1000)
	for _, thread := range []string{"1", decimal(topic)} {
		if _, err := send(t, ch, file(forum.ID, thread), "a", content); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.DeleteTopic(forum, topic); err != nil {
		t.Fatal(err)
	}
	if _, err := send(t, ch, file(forum.ID, decimal(topic)), "a", content); wrong(err).Kind != channels.Refused {
		t.Errorf("a content that can be read once: %v", err)
	}
	again := bytes.NewReader(append([]byte("read before"), content...))
	_, _ = again.Seek(int64(len("read before")), io.SeekStart)
	if _, err := ch.SendFile(t.Context(), file(forum.ID, decimal(topic)), channels.File{Name: "a", Size: 1000}, again); err != nil {
		t.Errorf("a content that can be read again: %v", err)
	}
	var threads []int64
	for _, m := range r.Books().Messages {
		threads = append(threads, m.ThreadID)
		if m.Document.SHA256 != digest(content) {
			t.Errorf("another file arrived: %+v", m.Document)
		}
	}
	if fmt.Sprint(threads) != fmt.Sprint([]int64{0, topic, 0}) {
		t.Errorf("sent to threads %v", threads)
	}
}

func patient(o *telegram.Options) { o.SendTimeout = 2 * time.Minute }

func TestAFailedFileSaysWhetherItMayHaveArrived(t *testing.T) {
	t.Parallel()
	api := func(status int, words, more string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":%d,"description":%q%s}`, status, words, more)
		}
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		kind channels.ErrorKind
	}{
		"limited":        {api(429, "Too Many Requests: retry after 9", `,"parameters":{"retry_after":9}`), channels.RateLimit},
		"too large":      {api(413, "Request Entity Too Large", ""), channels.Refused},
		"refused":        {api(400, "Bad Request: file must be non-empty", ""), channels.Refused},
		"no documents":   {api(400, "Bad Request: not enough rights to send documents to the chat", ""), channels.Refused},
		"moved":          {api(400, "Bad Request: group chat was upgraded to a supergroup chat", `,"parameters":{"migrate_to_chat_id":-1009007199254740993}`), channels.Moved},
		"kicked":         {api(403, "Forbidden: bot was kicked from the supergroup chat", ""), channels.Gone},
		"bad token":      {api(401, "Unauthorized", ""), channels.Unauthorized},
		"server error":   {api(500, "Internal Server Error", ""), channels.Unsent},
		"yes, but no id": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"ok":true,"result":{}}`) }, channels.Ambiguous},
		"cut off after all of it came": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			cut(w)
		}, channels.Ambiguous},
		"cut off before": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 1000)
			cut(w)
		}, channels.Unsent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				c.h(w, r)
			}, patient)
			size := 1 << 16
			if name == "cut off before" {
				size = 32 << 20 // more than lies on the way while nobody reads it
			}
			_, err := send(t, ch, file(7, ""), "a", make([]byte, size))
			e := wrong(err)
			if e.Kind != c.kind || e.Op != "sendDocument" {
				t.Errorf("%#v", e)
			}
			if c.kind == channels.RateLimit {
				if e.RetryAfter != 9*time.Second {
					t.Errorf("%#v", e)
				}
				if _, err := ch.Send(t.Context(), to(7, "", "hi")); wrong(err).Kind != channels.RateLimit {
					t.Errorf("the next message of the chat: %v", err)
				}
			}
			if c.kind == channels.Moved && e.MovedTo != "-1009007199254740993" {
				t.Errorf("%#v", e)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("the request went out %d times", n)
			}
		})
	}
}

func TestAFileThatNeverLeftIsUnsent(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	_ = l.Close()
	ch := newCanned(t, nil, func(o *telegram.Options) { o.APIURL = closed })
	if _, err := send(t, ch, file(7, ""), "a", []byte("x")); wrong(err).Kind != channels.Unsent {
		t.Errorf("dial: %v", err)
	}
}

func TestARequestAnnouncesItsLengthAndThatTheFileStaysAsItIs(t *testing.T) {
	t.Parallel()
	var got map[string]string
	ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 1000 {
			t.Errorf("a length of %d", r.ContentLength)
		}
		got = form(t, r)
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5}}`)
	}, patient)
	r := file(-100, "7")
	r.ReplyTo, r.Repeat = "3", true
	if _, err := send(t, ch, r, "a", noise(1000)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"chat_id": "-100", "message_thread_id": "7", "caption": "(This may be a repeat.)", "disable_content_type_detection": "true",
		"reply_parameters": `{"message_id":3,"allow_sending_without_reply":true}`,
	}
	if !maps.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
}

// Nobody may take a short file for a whole one.
func TestAContentThatIsNotWhatWasSaidReachesNobody(t *testing.T) {
	t.Parallel()
	some := noise(1 << 20)
	for name, c := range map[string]struct {
		content io.Reader
		want    string
	}{
		"an error in the middle": {io.MultiReader(bytes.NewReader(some[:1<<19]), iotest.ErrReader(errDisk)), errDisk.Error()},
		"an error at the end":    {io.MultiReader(bytes.NewReader(some), iotest.ErrReader(errDisk)), errDisk.Error()},
		"too short":              {bytes.NewReader(some[:len(some)-1]), "ended before its size"},
		"too long":               {io.MultiReader(bytes.NewReader(some), strings.NewReader("x")), "goes on beyond its size"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			came := make(chan error, 1)
			ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
				_, err := io.Copy(io.Discard, r.Body)
				came <- err
				_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5}}`)
			}, patient)
			_, err := ch.SendFile(t.Context(), file(7, ""), channels.File{Name: "a", Size: 1 << 20}, c.content)
			if wrong(err).Kind != channels.Unsent || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
			if c.want == errDisk.Error() && !errors.Is(err, errDisk) {
				t.Errorf("the reason is not in the chain: %v", err)
			}
			if err := <-came; err == nil {
				t.Error("the server got what it must take for the whole")
			}
		})
	}
}

func TestWhatCannotBeSentIsRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	ch := newCanned(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	bad := file(7, "")
	bad.ReplyTo = "not a number"
	for name, c := range map[string]struct {
		r    channels.Reply
		size int64
		want string
	}{
		"empty":              {file(7, ""), 0, "the file is empty"},
		"less than that":     {file(7, ""), -1, "the file is empty"},
		"too large":          {file(7, ""), ch.LargestFile() + 1, "the file is too large"},
		"no such message":    {bad, 1, "the id of the message to answer"},
		"of another network": {channels.Reply{To: sessionkeys.Address{Channel: "slack", Peer: "7"}}, 1, "another network"},
	} {
		_, err := ch.SendFile(t.Context(), c.r, channels.File{Name: "a", Size: c.size}, iotest.ErrReader(errDisk))
		if wrong(err).Kind != channels.Refused || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	public := newCanned(t, nil, func(o *telegram.Options) { o.APIURL = "" })
	if public.LargestFile() != 50_000_000 || ch.LargestFile() != 2_000_000_000 {
		t.Errorf("the largest files are %d and %d", public.LargestFile(), ch.LargestFile())
	}
}

func TestAFileThatTheServerFindsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, patient)
	r.Say(t, "Ann", "hi")
	if _, err := send(t, ch, file(ann.ID, ""), "a", make([]byte, 51<<20)); wrong(err).Kind != channels.Refused && wrong(err).Kind != channels.Unsent {
		t.Errorf("%v", err)
	}
	if n := len(r.Books().Messages); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestHostileNamesAndTypesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, patient)
	r.Say(t, "Ann", "hi")
	for in, want := range map[string]string{
		"":                               "file",
		"../../etc/passwd":               "passwd",
		`..\..\boot.ini`:                 "boot.ini",
		"a\"; name=\"chat_id\"\r\n\r\n9": "a_; name=_chat_id_ 9",
		"photo\u202Egpj.exe":             "photogpj.exe",
		"a\x00b.txt":                     "ab.txt",
		strings.Repeat("ü", 300) + ".md": strings.Repeat("ü", 98) + ".md",
		"日本 👍.txt":                       "日本 👍.txt",
	} {
		content := []byte(in + "content")
		f := channels.File{Name: in, MIME: "text/plain\r\nX-Evil: 1", Size: int64(len(content))}
		if _, err := ch.SendFile(t.Context(), file(ann.ID, ""), f, bytes.NewReader(content)); err != nil {
			t.Errorf("%q: %v", in, err)
			continue
		}
		sent := r.Books().Messages
		m := sent[len(sent)-1]
		if m.Document.Name != want || m.Document.MIME != "application/octet-stream" || m.Document.SHA256 != digest(content) || m.ChatID != ann.ID {
			t.Errorf("%q arrived as %+v", in, m.Document)
		}
	}
}

// What stands between may answer a request that breaks off.
func TestAnAnswerToABrokenRequestSaysNothingOfTheFile(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 400, 502} {
		ch := newCanned(t, nil, func(o *telegram.Options) {
			o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				_, _ = io.Copy(io.Discard, r.Body)
				return answer(status, "<h1>what was that</h1>"), nil
			})}
		})
		_, err := ch.SendFile(t.Context(), file(7, ""), channels.File{Name: "a", Size: 10}, iotest.ErrReader(errDisk))
		if wrong(err).Kind != channels.Unsent || !errors.Is(err, errDisk) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A client may go on reading a request's body when it has the answer.
func TestAContentIsNotReadAfterSendFileReturned(t *testing.T) {
	t.Parallel()
	returned := make(chan struct{})
	late := make(chan error, 1)
	ch := newCanned(t, nil, func(o *telegram.Options) {
		o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			_, _ = io.CopyN(io.Discard, r.Body, 1000)
			go func() {
				<-returned
				_, err := io.Copy(io.Discard, r.Body)
				late <- err
			}()
			return answer(400, `{"ok":false,"error_code":400,"description":"Bad Request: wrong file"}`), nil
		})}
	})
	var over atomic.Bool
	content := readerFunc(func(p []byte) (int, error) {
		if over.Load() {
			t.Error("the content is read")
		}
		return len(p), nil
	})
	_, err := ch.SendFile(t.Context(), file(7, ""), channels.File{Name: "a", Size: 1 << 20}, content)
	over.Store(true)
	close(returned)
	if wrong(err).Kind != channels.Refused {
		t.Errorf("%v", err)
	}
	if err := <-late; err == nil {
		t.Error("the request could still become whole")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAFileMayTakeLongButNotStandStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := func(f roundTrip) *telegram.Channel {
			ch, err := telegram.New(telegram.Options{
				Common: channels.Common{Name: "tg"},
				Token:  channels.NewSecret(token), APIURL: "http://api.example",
				SendTimeout: time.Minute, HTTPClient: &http.Client{Transport: f},
			})
			if err != nil {
				t.Fatal(err)
			}
			return ch
		}
		slow := func(p []byte) (int, error) {
			time.Sleep(59 * time.Second)
			return min(len(p), 100_000), nil
		}
		const size = 3_000_000
		content := func() io.Reader { return io.LimitReader(readerFunc(slow), size) }
		// The answer may take a minute, and a second for each MB.
		ch := open(func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(62 * time.Second):
				return answer(200, `{"ok":true,"result":{"message_id":5}}`), nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		if _, err := ch.SendFile(t.Context(), file(7, ""), channels.File{Name: "a", Size: size}, content()); err != nil {
			t.Errorf("a slow file: %v", err)
		}
		ch = open(func(r *http.Request) (*http.Response, error) {
			_, _ = io.CopyN(io.Discard, r.Body, 500_000)
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		began := time.Now()
		_, err := ch.SendFile(t.Context(), file(7, ""), channels.File{Name: "a", Size: size}, readerFunc(func(p []byte) (int, error) { return len(p), nil }))
		if wrong(err).Kind != channels.Unsent || !strings.Contains(err.Error(), "no answer in time") || time.Since(began) != time.Minute {
			t.Errorf("a file that stands still, after %s: %v", time.Since(began), err)
		}
		ch = open(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/getFile") {
				return answer(200, `{"ok":true,"result":{"file_path":"documents/a"}}`), nil
			}
			resp := answer(200, "")
			resp.Body = io.NopCloser(io.LimitReader(readerFunc(slow), size))
			return resp, nil
		})
		if err := ch.Fetch(t.Context(), to(7, "", "").To, channels.Attachment{Ref: "a"}, io.Discard); err != nil {
			t.Errorf("to fetch a slow file: %v", err)
		}
	})
}

func TestWhatPeopleSendCanBeFetched(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, patient)
	events := listen(t, ch)
	content := noise(1 << 20)
	for _, media := range []string{"document", "photo", "voice", "audio", "video", "sticker"} {
		r.say(t, sim.PrivateChat(ann), ann, "look", sim.SayOptions{Media: media, FileName: "a b%2f?.pdf", File: content})
		m := next(t, events)
		if len(m.Attachments) != 1 || m.Attachments[0].Size != int64(len(content)) {
			t.Fatalf("%s came as %+v", media, m)
		}
		var got bytes.Buffer
		if err := ch.Fetch(t.Context(), m.Address, m.Attachments[0], &got); err != nil || !bytes.Equal(got.Bytes(), content) {
			t.Errorf("%s: %d bytes, %v", media, got.Len(), err)
		}
	}
	r.say(t, sim.PrivateChat(ann), ann, "a film", sim.SayOptions{Media: "video", File: make([]byte, 20<<20+1)})
	m := next(t, events)
	err := ch.Fetch(t.Context(), m.Address, m.Attachments[0], io.Discard)
	if wrong(err).Kind != channels.Refused || !strings.Contains(err.Error(), "20 MB") {
		t.Errorf("a large file: %v", err)
	}
}

func TestAFailedFetchSaysWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	found := `{"ok":true,"result":{"file_id":"a","file_path":"documents/a.pdf"}}`
	page := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	api := func(status int, words string) http.HandlerFunc {
		return page(status, fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q}`, status, words))
	}
	for name, c := range map[string]struct {
		ask, load http.HandlerFunc
		kind      channels.ErrorKind
		words     string
	}{
		"wrong id":              {api(400, "Bad Request: wrong file_id or the file is temporarily unavailable"), nil, channels.Refused, "wrong file_id"},
		"bad token":             {api(401, "Unauthorized"), nil, channels.Unauthorized, ""},
		"limited":               {page(429, `{"ok":false,"error_code":429,"description":"x","parameters":{"retry_after":7}}`), nil, channels.RateLimit, ""},
		"cut off":               {func(w http.ResponseWriter, _ *http.Request) { cut(w) }, nil, channels.Unsent, ""},
		"a gateway":             {page(502, "<h1>bad</h1>"), nil, channels.Unsent, ""},
		"no place":              {page(200, `{"ok":true,"result":{"file_id":"a"}}`), nil, channels.Refused, "names no place"},
		"a place on a disk":     {page(200, `{"ok":true,"result":{"file_path":"/var/lib/a"}}`), nil, channels.Refused, "--local"},
		"a place outside":       {page(200, `{"ok":true,"result":{"file_path":"a/../../../x"}}`), nil, channels.Refused, "none that a Bot API server has"},
		"a place with a token":  {page(200, `{"ok":true,"result":{"file_path":"bot_/x"}}`), nil, channels.Refused, "none that a Bot API server has"},
		"not there":             {page(200, found), api(404, "Not Found"), channels.Refused, "Not Found"},
		"token no longer good":  {page(200, found), api(401, "Unauthorized"), channels.Unauthorized, ""},
		"limited at the end":    {page(200, found), api(429, "Too Many Requests"), channels.RateLimit, ""},
		"server error":          {page(200, found), api(500, "Internal Server Error"), channels.Unsent, ""},
		"a page instead":        {page(200, found), page(206, "part"), channels.Unsent, ""},
		"redirected":            {page(200, found), func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, channels.Unsent, ""},
		"cut in the middle":     {page(200, found), short, channels.Unsent, ""},
		"cut before the answer": {page(200, found), func(w http.ResponseWriter, _ *http.Request) { cut(w) }, channels.Unsent, ""},
		"cut in a chunked answer": {page(200, found), func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 1000))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, channels.Unsent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/bot" + token + "/getFile":
					c.ask(w, r)
				case "/file/bot" + token + "/documents/a.pdf":
					c.load(w, r)
				default:
					t.Errorf("asked for %s", r.URL.Path)
				}
			}, patient)
			err := ch.Fetch(t.Context(), to(7, "", "").To, channels.Attachment{Ref: "a"}, io.Discard)
			if e := wrong(err); e.Kind != c.kind || !strings.Contains(err.Error(), c.words) || c.kind == channels.RateLimit && e.RetryAfter != 7*time.Second {
				t.Errorf("%#v", err)
			} else if name == "wrong id" && e.RetryAfter <= 0 { // or the file is temporarily unavailable
				t.Error("it is not tried again")
			}
			if strings.Contains(deep(err), "secret-token") {
				t.Errorf("the token shows: %s", deep(err))
			}
		})
	}
	ch := newCanned(t, nil)
	if err := ch.Fetch(t.Context(), to(7, "", "").To, channels.Attachment{}, io.Discard); wrong(err).Kind != channels.Refused {
		t.Errorf("an attachment of nothing: %v", err)
	}
}

// short says more than it gives.
func short(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = w.Write(make([]byte, 500))
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errDisk }

func TestAnErrorOfWhoKeepsTheFileIsInTheChain(t *testing.T) {
	t.Parallel()
	ch := newCanned(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"ok":true,"result":{"file_path":"a"}}`)
	}, patient)
	err := ch.Fetch(t.Context(), to(7, "", "").To, channels.Attachment{Ref: "a"}, full{})
	if wrong(err).Kind != channels.Unsent || !errors.Is(err, errDisk) {
		t.Errorf("%v", err)
	}
}

// It is not parallel: it counts what the whole process allocates.
func TestFilesAreNeverWholeInMemory(t *testing.T) {
	const size, most = 48_000_000, 4 << 20
	ch := newCanned(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/sendDocument"):
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil || n < size {
				t.Errorf("%d bytes came, %v", n, err)
			}
			_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5}}`)
		case strings.HasSuffix(r.URL.Path, "/getFile"):
			_, _ = io.WriteString(w, `{"ok":true,"result":{"file_path":"a"}}`)
		default:
			chunk := make([]byte, 1<<16)
			for sent := 0; sent < size; sent += len(chunk) {
				_, _ = w.Write(chunk)
			}
		}
	}, patient)
	allocated := func(do func(context.Context) error) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := do(t.Context()); err != nil {
			t.Error(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	zeros := io.LimitReader(readerFunc(func(p []byte) (int, error) { return len(p), nil }), size)
	sent := allocated(func(ctx context.Context) error {
		_, err := ch.SendFile(ctx, file(7, ""), channels.File{Name: "a", Size: size}, zeros)
		return err
	})
	fetched := allocated(func(ctx context.Context) error {
		return ch.Fetch(ctx, to(7, "", "").To, channels.Attachment{Ref: "a"}, io.Discard)
	})
	t.Logf("allocated for %d bytes: %d to send, %d to fetch", size, sent, fetched)
	if sent > most || fetched > most {
		t.Errorf("allocated %d to send and %d to fetch, at most %d is right", sent, fetched, most)
	}
}
