package signal

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"parley/channels"
	"parley/sessionkeys"
)

// read gives what next makes of text: the data that came beside, and the rest.
func read(text string) (data string, r *response, err error) {
	var got bytes.Buffer
	a := answerReader{bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(text)), 16), 1000}
	r, err = a.next(func(from io.Reader) error {
		_, err := got.ReadFrom(from)
		return err
	})
	return got.String(), r, err
}

func TestALargeAnswerIsReadInPieces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, data string
		result     string
		code       int
	}{
		"as signal-cli writes":     {`{"jsonrpc":"2.0","result":{"data":"YWJj"},"id":"1"}`, "YWJj", `{}`, 0},
		"in another order":         {`{"id":1,"result":{"more":[{"data":"x"}],"data":"YWJj","size":3},"error":null,"jsonrpc":"2.0"}`, "YWJj", `{}`, 0},
		"with white space":         {" {\n \"result\" : { \"data\" : \"YWJj\" } , \"id\" : 1 }", "YWJj", `{}`, 0},
		"escaped":                  {`{"result":{"data":"a\/b\u002Bc\u003d\u003D"},"id":1}`, "a/b+c==", `{}`, 0},
		"behind notifications":     {`{"jsonrpc":"2.0","method":"receive","params":{"result":{"data":"no"},"x":"}\"{["}}` + "\n" + `{"result":{"data":"YWJj"},"id":1}`, "YWJj", `{}`, 0},
		"empty":                    {`{"result":{"data":""},"id":1}`, "", `{}`, 0},
		"without data":             {`{"result":{"size":[1,2,{"a":-1.5e3}],"b":true},"id":1}`, "", `null`, 0},
		"data that is no string":   {`{"result":{"data":7},"id":1}`, "", `null`, 0},
		"a result of another sort": {`{"result":[1,"]"],"id":1}`, "", `[1,"]"]`, 0},
		"an error":                 {`{"jsonrpc":"2.0","error":{"code":-1,"message":"Could not find \"it\"","data":null},"id":1}`, "", "", -1},
	} {
		data, r, err := read(c.text)
		if err != nil || data != c.data || string(r.Result) != c.result {
			t.Errorf("%s: %q, %+v, %v", name, data, r, err)
			continue
		}
		_, err = r.outcome()
		var said *rpcError
		if errors.As(err, &said) != (c.code != 0) || said != nil && said.Code != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnAnswerThatBreaksOffIsNone(t *testing.T) {
	t.Parallel()
	whole := `{"jsonrpc":"2.0","result":{"data":"YWJj\u003d","n":[1]},"error":null,"id":"1"}`
	for n := range len(whole) {
		if _, r, err := read(whole[:n]); err == nil {
			t.Errorf("of %q became %+v", whole[:n], r)
		}
	}
	for _, bad := range []string{`[]`, `x`, `{1:2}`, `{"a" 1}`, `{"a":1,}`, `{,"a":1}`, `{"a":}`, `{"result":{"data":"\q"}}`, `{"result":{"data":"\u2603"}}`, `{"method":1}`} {
		if _, r, err := read(bad); err == nil {
			t.Errorf("of %q became %+v", bad, r)
		}
	}
	if _, _, err := read(`{"error":{"message":"` + strings.Repeat("x", 2000) + `"}}`); !errors.Is(err, errTooLarge) {
		t.Errorf("an endless error: %v", err)
	}
}

// What is read is what encoding/json reads, or nothing.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{`{"result":{"data":"YWJj"},"id":1}`, `{"error":{"code":-1},"id":null}`, `{"method":"x","params":[]}{"result":1}`, `{"result":{"data":"\u002f"}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		data, r, err := read(s)
		var want struct {
			Method json.RawMessage `json:"method"`
			Result struct {
				Data *string `json:"data"`
			} `json:"result"`
		}
		first := json.NewDecoder(strings.NewReader(s)).Decode(&want)
		if err != nil || first != nil || want.Method != nil || want.Result.Data == nil ||
			strings.Contains(s, `\`) || strings.Count(s, `"`) != 6 || !strings.Contains(s, `"result"`) || !strings.Contains(s, `"data"`) {
			return // keys that come twice or in another case, and escapes that base64 does not need
		}
		if data != *want.Result.Data || string(r.Result) != "{}" {
			t.Errorf("%q gave %q, %+v, want %q", s, data, r, *want.Result.Data)
		}
	})
}

func TestEncodedIsBase64AndKeepsErrors(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 48<<10 - 1, 48 << 10, 48<<10 + 1, 200_000} {
		plain := bytes.Repeat([]byte{0xfb, 1, 2, 3, 4}, n/5+1)[:n]
		got, err := io.ReadAll(&base64Reader{r: iotest.HalfReader(bytes.NewReader(plain))})
		if err != nil || string(got) != base64.StdEncoding.EncodeToString(plain) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, broken := range []error{io.ErrUnexpectedEOF, errGarbage} {
		_, err := io.ReadAll(&base64Reader{r: io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken))})
		if !errors.Is(err, broken) {
			t.Errorf("%v became %v", broken, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A client may go on reading a request's body when it has the answer.
func TestAContentIsNotReadAfterSendFileReturned(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Common: channels.Common{Name: "sig"}, Account: "+4915550000001", URL: "http://signal.example"})
	if err != nil {
		t.Fatal(err)
	}
	returned, late := make(chan struct{}), make(chan error, 1)
	c.rpc.(*httpCaller).client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		go func() {
			<-returned
			_, err := io.Copy(io.Discard, r.Body)
			late <- err
		}()
		body := io.NopCloser(strings.NewReader(`{"error":{"code":-1,"message":"no"},"id":"1"}`))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: r}, nil
	})
	var over atomic.Bool
	to := sessionkeys.Address{Channel: Network, Kind: sessionkeys.DM, Peer: "+4915550001001"}
	_, err = c.SendFile(t.Context(), channels.Reply{To: to}, channels.File{Name: "a", Size: 1 << 20}, endless(func() {
		if over.Load() {
			t.Error("the content is read")
		}
	}))
	over.Store(true)
	close(returned)
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.Refused {
		t.Errorf("%v", err)
	}
	if err := <-late; err == nil {
		t.Error("the request could still become whole")
	}
}

// What stands between may answer a request that breaks off.
func TestAnAnswerToABrokenRequestSaysNothingOfTheFile(t *testing.T) {
	t.Parallel()
	c, err := New(Options{Common: channels.Common{Name: "sig"}, Account: "+4915550000001", URL: "http://signal.example"})
	if err != nil {
		t.Fatal(err)
	}
	c.rpc.(*httpCaller).client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, r.Body)
		body := io.NopCloser(strings.NewReader(`{"result":{"timestamp":5,"results":[]},"id":"1"}`))
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body, Request: r}, nil
	})
	to := sessionkeys.Address{Channel: Network, Kind: sessionkeys.DM, Peer: "+4915550001001"}
	_, err = c.SendFile(t.Context(), channels.Reply{To: to}, channels.File{Name: "a", Size: 1 << 20}, iotest.ErrReader(errLargeFile))
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.Unsent || !errors.Is(err, errLargeFile) {
		t.Errorf("%v", err)
	}
}

type endless func()

func (f endless) Read(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestADataURIHasOneParameterInAFormOfTheWeb(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a b+c=d;e,f%20.txt": "data:text/plain;filename=a%20b%2Bc%3Dd%3Be%2Cf%2520.txt;base64,",
		"日本.txt":             "data:text/plain;filename=%E6%97%A5%E6%9C%AC.txt;base64,",
		"../\"\x00\u202E":    "data:text/plain;filename=file;base64,",
	} {
		if got := dataURIPrefix(channels.File{Name: name, MIME: "text/plain; charset=utf-8"}); got != want {
			t.Errorf("%q became %s, want %s", name, got, want)
		}
	}
	if got := dataURIPrefix(channels.File{Name: "a", MIME: "x\"y,z"}); got != "data:application/octet-stream;filename=a;base64," {
		t.Errorf("a strange type became %s", got)
	}
}

func TestOnlyPlainFilesOfTheFolderAreOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inside := filepath.Join(dir, "attachments")
	if err := os.MkdirAll(filepath.Join(inside, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(inside, "ok.png"), filepath.Join(dir, "secret")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": "../secret", "in": "ok.png", "absolute": filepath.Join(dir, "secret")} {
		if err := os.Symlink(to, filepath.Join(inside, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"out", "in", "absolute", "folder", ".", "..", "../secret", "none", ""} {
		if f := openAttachment(inside, name); f != nil {
			t.Errorf("%q was opened", name)
			_ = f.Close()
		}
	}
	if f := openAttachment(inside, "ok.png"); f == nil {
		t.Error("a plain file was not opened")
	} else {
		_ = f.Close()
	}
	for _, name := range []string{"", ".", "..", "../x", "a/b", `a\b`, "a\x00b", strings.Repeat("x", 256)} {
		if isPlainName(name) {
			t.Errorf("%q passed", name)
		}
	}
}

func TestTheFolderOfAttachmentsIsWhereTheManualSays(t *testing.T) {
	t.Parallel()
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for want, c := range map[string]struct {
		command []string
		env     func(string) string
	}{
		"/c/attachments":                         {[]string{"signal-cli", "--config", "/c"}, env("HOME", "/h")},
		"/d/attachments":                         {[]string{"sudo", "signal-cli", "--config=/d"}, env("HOME", "/h")},
		"/e/attachments":                         {[]string{"signal-cli", "-c", "/e"}, env()},
		"/h/.local/share/signal-cli/attachments": {[]string{"signal-cli"}, env("HOME", "/h")},
		"/x/signal-cli/attachments":              {[]string{"signal-cli", "--config"}, env("HOME", "/h", "XDG_DATA_HOME", "/x")},
		"":                                       {[]string{"signal-cli"}, env()},
	} {
		if got := attachmentsDir(c.command, c.env); got != want {
			t.Errorf("%q gave %q, want %q", c.command, got, want)
		}
	}
}
