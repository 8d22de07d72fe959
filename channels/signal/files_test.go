package signal_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"parley/channels"
	"parley/channels/signal"
	"parley/sessionkeys"
	sim "parley/simulators/signal"
)

var errDisk = errors.New("the disk is gone")

func noise(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out)
	return out
}

type opener interface {
	open(t testing.TB, change ...func(*signal.Options)) *signal.Channel
}

// each runs a test with every way to reach signal-cli.
func each(t *testing.T, test func(t *testing.T, r *fixture, ch *signal.Channel)) {
	for name, open := range map[string]func(t testing.TB) (*fixture, opener){
		"supervised":           func(t testing.TB) (*fixture, opener) { r := newRig(t); return r, r },
		"attached by HTTP":     func(t testing.TB) (*fixture, opener) { r := newAttached(t, "http"); return r.fixture, r },
		"attached by a socket": func(t testing.TB) (*fixture, opener) { r := newAttached(t, "unix"); return r.fixture, r },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, o := open(t)
			test(t, r, o.open(t, func(o *signal.Options) { o.SendTimeout = 2 * patience }))
		})
	}
}

func byHTTP(t *testing.T, test func(t *testing.T, r *fixture, ch *signal.Channel)) {
	r := newAttached(t, "http")
	test(t, r.fixture, r.open(t))
}

func send(t testing.TB, ch *signal.Channel, to sessionkeys.Address, name string, content []byte) error {
	t.Helper()
	_, err := ch.SendFile(t.Context(), channels.Reply{To: to}, channels.File{Name: name, MIME: "image/png", Size: int64(len(content))}, bytes.NewReader(content))
	return err
}

func TestAFileIsAMessageLikeAnother(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *fixture, ch *signal.Channel) {
		got := take(t, ch, nil)
		said := r.say(t, sim.Chat{}, ann, "the picture, please", sim.SayOptions{})
		m := got.next()
		content := noise(200_000)
		reply := channels.Reply{To: m.Address, ReplyTo: m.MessageID, Repeat: true}
		receipt, err := ch.SendFile(t.Context(), reply, channels.File{Name: "a b.png", MIME: "image/png", Size: 200_000}, bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		sent := r.Books().Messages
		if len(sent) != 1 || len(sent[0].Versions[0].Attachments) != 1 {
			t.Fatalf("sent %+v", sent)
		}
		f := sent[0].Versions[0].Attachments[0]
		if f.Filename != "a b.png" || f.ContentType != "image/png" || !bytes.Equal(r.Content(f.SHA256), content) {
			t.Errorf("sent %+v", f)
		}
		if q := sent[0].Quote; q == nil || q.Timestamp != said.Timestamp || sent[0].Text() != "(This may be a repeat.)" {
			t.Errorf("sent %+v", sent[0])
		}
		if receipt.MessageID != fmt.Sprintf("%d.%s", sent[0].Timestamp, number) {
			t.Errorf("the receipt is %+v", receipt)
		}
	})
}

func TestAFailedFileSaysWhetherItMayHaveArrived(t *testing.T) {
	t.Parallel()
	for trouble, want := range map[sim.Trouble]channels.ErrorKind{
		sim.Dropped: channels.Ambiguous, sim.Ambiguous: channels.Ambiguous, sim.Truncated: channels.Ambiguous, sim.Garbage: channels.Ambiguous,
		sim.HTTPError: channels.Ambiguous, sim.InternalError: channels.Ambiguous, sim.IOError: channels.Ambiguous, sim.NetworkFailure: channels.Ambiguous,
		sim.UserError: channels.Refused, sim.Untrusted: channels.Refused, sim.Unregistered: channels.Gone, sim.RateLimited: channels.RateLimit,
	} {
		t.Run(string(trouble), func(t *testing.T) {
			t.Parallel()
			with := each
			if trouble != sim.Ambiguous && trouble != sim.Unregistered {
				with = byHTTP // the ways differ in what is cut off, not in what is answered
			}
			with(t, func(t *testing.T, r *fixture, ch *signal.Channel) {
				r.say(t, sim.Chat{}, ann, "hi", sim.SayOptions{})
				r.plan(t, sim.Fault{Trouble: trouble, Method: "send", Next: 1})
				if e := failed(t, send(t, ch, direct(ann), "a.png", []byte("png"))); e.Kind != want || e.Op != "send" {
					t.Errorf("%#v", e)
				}
			})
		})
	}
}

func TestAFileThatReachedSomebodyOfAGroupIsSent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *fixture, ch *signal.Channel) {
		for _, p := range []sim.Person{ann, bob} {
			r.say(t, team, p, "hi", sim.SayOptions{})
		}
		r.plan(t, sim.Fault{Trouble: sim.Untrusted, Chat: bob.ACI, Next: 1})
		if err := send(t, ch, group(team), "a.png", []byte("png")); err != nil {
			t.Error(err)
		}
	})
}

// Files are secrets of people.
func TestNothingIsLeftOfAFileThatWasSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	outgoing := filepath.Join(r.dir, "state", "outgoing")
	left := filepath.Join(outgoing, "123", "secret.txt")
	noError(t, os.MkdirAll(filepath.Dir(left), 0o700))
	noError(t, os.WriteFile(left, []byte("x"), 0o600))
	ch := r.open(t)
	if _, err := os.Stat(outgoing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what an earlier process left is there: %v", err)
	}
	r.say(t, sim.Chat{}, ann, "hi", sim.SayOptions{})
	seen := false
	look := readerFunc(func(p []byte) (int, error) {
		is, err := os.Stat(outgoing)
		seen = err == nil && is.Mode().Perm() == 0o700
		return copy(p, "png"), io.EOF
	})
	if _, err := ch.SendFile(t.Context(), channels.Reply{To: direct(ann)}, channels.File{Name: "a", Size: 3}, look); err != nil || !seen {
		t.Errorf("%v; a folder of ours alone: %v", err, seen)
	}
	r.plan(t, sim.Fault{Trouble: sim.UserError, Method: "send", Next: 1})
	_ = send(t, ch, direct(ann), "refused", []byte("x"))
	_, err := ch.SendFile(t.Context(), channels.Reply{To: direct(ann)}, channels.File{Name: "a", Size: 3}, iotest.ErrReader(errDisk))
	if e := failed(t, err); e.Kind != channels.Unsent || !errors.Is(err, errDisk) {
		t.Errorf("%v", err)
	}
	if names, err := os.ReadDir(outgoing); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAFileIsUnsentWhileSignalCliDoesNotRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch, err := signal.New(r.options())
	if err != nil {
		t.Fatal(err)
	}
	if e := failed(t, send(t, ch, direct(ann), "a", []byte("x"))); e.Kind != channels.Unsent {
		t.Errorf("%v", e)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "state", "outgoing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it was written into a folder that may be another's: %v", err)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	for _, scheme := range []string{"http", "tcp"} {
		ch, err := signal.New(signal.Options{Common: channels.Common{Name: "sig"}, Account: number, URL: scheme + "://" + l.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		if e := failed(t, send(t, ch, direct(ann), "a", []byte("x"))); e.Kind != channels.Unsent {
			t.Errorf("%s: %v", scheme, e)
		}
		err = ch.Fetch(t.Context(), direct(ann), channels.Attachment{Ref: "a"}, io.Discard)
		if e := failed(t, err); e.Kind != channels.Unsent {
			t.Errorf("%s: %v", scheme, e)
		}
	}
}

func TestWhatPeopleSendCanBeFetched(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *fixture, ch *signal.Channel) {
		got := take(t, ch, nil)
		content := noise(200_001)
		for _, chat := range []sim.Chat{{}, team} {
			r.say(t, chat, ann, "look", sim.SayOptions{Attachments: []sim.Attachment{{ContentType: "image/png", Filename: "a.png", Data: content}}})
			m := got.next()
			var file bytes.Buffer
			if err := ch.Fetch(t.Context(), m.Address, m.Attachments[0], &file); err != nil || !bytes.Equal(file.Bytes(), content) {
				t.Errorf("%d bytes came, %v", file.Len(), err)
			}
			err := ch.Fetch(t.Context(), m.Address, m.Attachments[0], full{})
			if e := failed(t, err); e.Kind != channels.Unsent || !errors.Is(err, errDisk) {
				t.Errorf("a full disk: %v", err)
			}
		}
		for _, ref := range []string{"none.png", "../data/accounts.json", "", ".."} {
			err := ch.Fetch(t.Context(), direct(ann), channels.Attachment{Ref: ref}, io.Discard)
			if e := failed(t, err); e.Kind != channels.Refused {
				t.Errorf("%q: %v", ref, err)
			}
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errDisk }

// One whose folder is not known, or not readable, is asked.
func TestASignalCliWhoseFolderIsElsewhereIsAskedForFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	hidden := filepath.Join(t.TempDir(), "wrapped")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --config '%s' \"$@\"\n", r.program, filepath.Join(r.dir, "config"))
	noError(t, os.WriteFile(hidden, []byte(script), 0o700))
	ch := r.open(t, func(o *signal.Options) { o.Command = []string{"/bin/sh", hidden} })
	got := take(t, ch, nil)
	content := noise(300_000)
	r.say(t, sim.Chat{}, ann, "look", sim.SayOptions{Attachments: []sim.Attachment{{ContentType: "image/png", Data: content}}})
	m := got.next()
	var file bytes.Buffer
	if err := ch.Fetch(t.Context(), m.Address, m.Attachments[0], &file); err != nil || !bytes.Equal(file.Bytes(), content) {
		t.Errorf("%d bytes came, %v", file.Len(), err)
	}
}

// canned is a channel on a signal-cli that answers with h, or on which a socket is
// served by serve.
func canned(t *testing.T, h http.HandlerFunc) *signal.Channel {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return attach(t, s.URL)
}

func attach(t *testing.T, url string, change ...func(*signal.Options)) *signal.Channel {
	t.Helper()
	o := signal.Options{Common: channels.Common{Name: "sig"}, Account: number, URL: url, SendTimeout: 2 * patience}
	for _, c := range change {
		c(&o)
	}
	ch, err := signal.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ch.Close() })
	return ch
}

// socket is a signal-cli that gives each connection to serve.
func socket(t *testing.T, serve func(net.Conn)) *signal.Channel {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return attach(t, "tcp://"+l.Addr().String())
}

func cutOff(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func TestAFileThatIsCutOffBeforeItsEndIsUnsent(t *testing.T) {
	t.Parallel()
	large := make([]byte, 32<<20) // more than lies on the way while nobody reads it
	for name, ch := range map[string]*signal.Channel{
		"HTTP": canned(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.CopyN(io.Discard, r.Body, 1000)
			cutOff(w)
		}),
		"a socket": socket(t, func(c net.Conn) { _, _ = io.CopyN(io.Discard, c, 1000) }),
	} {
		if e := failed(t, send(t, ch, direct(ann), "a", large)); e.Kind != channels.Unsent {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestAContentThatIsNotWhatWasSaidReachesNobody(t *testing.T) {
	t.Parallel()
	came := make(chan []byte, 100)
	for by, ch := range map[string]*signal.Channel{
		"HTTP": canned(t, func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			came <- text
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{"timestamp":5,"results":[]},"id":"1"}`)
		}),
		"a socket": socket(t, func(c net.Conn) {
			text, _ := io.ReadAll(c)
			came <- text
		}),
	} {
		for name, content := range map[string]io.Reader{
			"an error in the middle": io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(errDisk)),
			"a strange error":        io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(io.ErrUnexpectedEOF)),
			"too short":              strings.NewReader("abcde"),
			"too long":               strings.NewReader("abcdefg"),
		} {
			_, err := ch.SendFile(t.Context(), channels.Reply{To: direct(ann)}, channels.File{Name: "a", Size: 6}, content)
			if e := failed(t, err); e.Kind != channels.Unsent {
				t.Errorf("%s, %s: %v", by, name, err)
			}
			if name == "an error in the middle" && !errors.Is(err, errDisk) {
				t.Errorf("%s: %v", by, err)
			}
			select {
			case text := <-came:
				if json.Valid(text) {
					t.Errorf("%s, %s: signal-cli can read %s", by, name, text)
				}
			case <-time.After(patience):
				t.Errorf("%s, %s: nothing came", by, name)
			}
		}
	}
}

func TestTheFileStandsInTheRequest(t *testing.T) {
	t.Parallel()
	for _, repeat := range []bool{false, true} {
		ch := canned(t, func(w http.ResponseWriter, r *http.Request) {
			var q struct {
				Method string
				Params map[string]any
			}
			if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.ContentLength <= 0 {
				t.Errorf("%v, a length of %d", err, r.ContentLength)
			}
			text, said := q.Params["message"]
			if q.Method != "send" || fmt.Sprint(q.Params["attachments"]) != "[data:image/png;filename=a%20b.png;base64,cG5n]" ||
				q.Params["account"] != number || fmt.Sprint(q.Params["recipient"]) != "["+ann.ACI+"]" || said != repeat || repeat && text != "(This may be a repeat.)" {
				t.Errorf("asked for %+v", q)
			}
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{"timestamp":5,"results":[]},"id":"1"}`)
		})
		_, err := ch.SendFile(t.Context(), channels.Reply{To: direct(ann), Repeat: repeat}, channels.File{Name: "a b.png", MIME: "image/png; x=y", Size: 3}, strings.NewReader("png"))
		if err != nil {
			t.Error(err)
		}
	}
}

func TestAPageInsteadOfAnAnswerSaysByItsStatusWhetherTheFileLeft(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]channels.ErrorKind{415: channels.Unsent, 421: channels.Unsent, 302: channels.Unsent, 408: channels.Ambiguous, 500: channels.Ambiguous, 201: channels.Ambiguous} {
		ch := canned(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
		})
		if e := failed(t, send(t, ch, direct(ann), "a", []byte("x"))); e.Kind != want {
			t.Errorf("%d: %v", status, e)
		}
	}
}

// A file waits as a text does.
func TestAFileIsNotReadWhileSignalAsksToWaitOrIsOutOfReach(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r *fixture, ch *signal.Channel) {
		r.say(t, sim.Chat{}, ann, "hi", sim.SayOptions{})
		again := func() error {
			_, err := ch.SendFile(t.Context(), channels.Reply{To: direct(ann)}, channels.File{Name: "a", Size: 1}, iotest.ErrReader(errDisk))
			return err
		}
		r.plan(t, sim.Fault{Trouble: sim.NetworkFailure})
		_ = send(t, ch, direct(ann), "a", []byte("x"))
		if err := again(); failed(t, err).Kind != channels.Unsent || errors.Is(err, errDisk) {
			t.Errorf("out of reach: %v", err)
		}
		r.ClearFaults()
		r.plan(t, sim.Fault{Trouble: sim.RateLimited, Method: "send", Next: 1, RetryAfter: 700})
		_ = send(t, ch, direct(ann), "a", []byte("x"))
		if err := again(); failed(t, err).Kind != channels.RateLimit {
			t.Errorf("to wait: %v", err)
		}
	})
}

func TestAFileThatSignalCliCannotReadIsRefused(t *testing.T) {
	t.Parallel()
	ch := canned(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Failed to send message: data:…: x (AttachmentInvalidException)"},"id":"1"}`)
	})
	if e := failed(t, send(t, ch, direct(ann), "a", []byte("x"))); e.Kind != channels.Refused {
		t.Errorf("%v", e)
	}
}

func TestAFailedFetchSaysWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		kind channels.ErrorKind
	}{
		"not there":    {say(`{"error":{"code":-1,"message":"Could not find attachment with ID: a"},"id":"1"}`), channels.Refused},
		"no account":   {say(`{"error":{"code":-32602,"message":"Specified account does not exist"},"id":"1"}`), channels.Unauthorized},
		"not readable": {say(`{"error":{"code":-32603,"message":"An error occurred reading attachment with ID: a"},"id":"1"}`), channels.Unsent},
		"no data":      {say(`{"result":{},"id":"1"}`), channels.Unsent},
		"no base64":    {say(`{"result":{"data":"***"},"id":"1"}`), channels.Unsent},
		"half of it":   {say(`{"result":{"data":"YWJj`), channels.Unsent},
		"a page":       {say(`<html>`), channels.Unsent},
		"cut off":      {func(w http.ResponseWriter, _ *http.Request) { cutOff(w) }, channels.Unsent},
		"an error":     {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, channels.Unsent},
		"endless": {func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.WriteString(w, `{"result":{"data":"`)
			for chunk := bytes.Repeat([]byte("AAAA"), 16<<10); err == nil; {
				_, err = w.Write(chunk)
			}
		}, channels.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.h)
			t.Cleanup(s.Close)
			err := attach(t, s.URL, func(o *signal.Options) { o.MaxFile = 1 << 20 }).Fetch(t.Context(), direct(ann), channels.Attachment{Ref: "a"}, io.Discard)
			if e := failed(t, err); e.Kind != c.kind || e.Op != "getAttachment" {
				t.Errorf("%#v", err)
			}
		})
	}
}

func TestAFileIsNotWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the system takes connections; nobody reads them
	for _, scheme := range []string{"http", "tcp"} {
		url := scheme + "://" + l.Addr().String()
		ch, err := signal.New(signal.Options{Common: channels.Common{Name: "sig"}, Account: number, URL: url, SendTimeout: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ch.Close() })
		err = ch.Fetch(t.Context(), direct(ann), channels.Attachment{Ref: "a"}, io.Discard)
		if e := failed(t, err); e.Kind != channels.Unsent || !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func TestWhatCannotBeSentIsRefusedWithoutARequest(t *testing.T) {
	t.Parallel()
	ch := canned(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	for name, c := range map[string]struct {
		r    channels.Reply
		size int64
		want string
	}{
		"empty":     {channels.Reply{To: direct(ann)}, 0, "the file is empty"},
		"too large": {channels.Reply{To: direct(ann)}, 100_000_001, "the file is too large"},
		"no answer": {channels.Reply{To: direct(ann), ReplyTo: "x"}, 1, "the id of the message to answer"},
		"nobody":    {channels.Reply{To: sessionkeys.Address{Channel: "signal", Kind: sessionkeys.DM, Peer: "x"}}, 1, "the id of the chat"},
	} {
		_, err := ch.SendFile(t.Context(), c.r, channels.File{Name: "a", Size: c.size}, iotest.ErrReader(errDisk))
		if e := failed(t, err); e.Kind != channels.Refused || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// It is not parallel: it counts what the whole process allocates. The simulator
// would count too, so what answers is canned.
func TestFilesAreNeverWholeInMemory(t *testing.T) {
	const size, most = 12_000_000, 4 << 20
	chunk := []byte(base64.StdEncoding.EncodeToString(make([]byte, 48_000)))
	answer := func(w io.Writer) {
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","result":{"data":"`)
		for range size / 48_000 {
			_, _ = w.Write(chunk)
		}
		_, _ = io.WriteString(w, "\"},\"id\":\"1\"}\n")
	}
	sent := `{"jsonrpc":"2.0","result":{"timestamp":5,"results":[]},"id":"1"}` + "\n"
	for by, ch := range map[string]*signal.Channel{
		"HTTP": canned(t, func(w http.ResponseWriter, r *http.Request) {
			if n, _ := io.Copy(io.Discard, r.Body); n < size {
				answer(w)
			} else {
				_, _ = io.WriteString(w, sent)
			}
		}),
		"a socket": socket(t, func(c net.Conn) {
			buffer := make([]byte, 64<<10)
			for n := 0; ; {
				got, err := c.Read(buffer)
				n += got
				switch {
				case err != nil:
					return
				case buffer[got-1] != '\n':
				case n < size:
					answer(c)
				default:
					_, _ = io.WriteString(c, sent)
				}
			}
		}),
	} {
		up := allocated(func() {
			zeros := io.LimitReader(readerFunc(func(p []byte) (int, error) { return len(p), nil }), size)
			if _, err := ch.SendFile(t.Context(), channels.Reply{To: direct(ann)}, channels.File{Name: "a", Size: size}, zeros); err != nil {
				t.Error(err)
			}
		})
		var n counter
		down := allocated(func() {
			if err := ch.Fetch(t.Context(), direct(ann), channels.Attachment{Ref: "a"}, &n); err != nil || n != size {
				t.Errorf("%d bytes came, %v", n, err)
			}
		})
		t.Logf("%s: allocated for %d bytes: %d to send, %d to fetch", by, size, up, down)
		if up > most || down > most {
			t.Errorf("%s: allocated %d to send and %d to fetch, at most %d is right", by, up, down, most)
		}
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
