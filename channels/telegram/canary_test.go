package telegram_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/telegram"
)

// forms are all the ways in which the token could show.
func forms() []string {
	_, key, _ := strings.Cut(token, ":")
	return []string{
		key, url.QueryEscape(token), url.PathEscape(token),
		hex.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte(token)),
	}
}

// deep is everything that can be printed of an error and what it wraps.
func deep(err error) string {
	if err == nil {
		return ""
	}
	text := fmt.Sprintf("%v %+v %#v %q ", err, err, err, err)
	switch u := any(err).(type) {
	case interface{ Unwrap() error }:
		text += deep(u.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range u.Unwrap() {
			text += deep(e)
		}
	}
	return text
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Every way in which a call can fail, each told by something that knows the
// address with the token in it.
func TestTheTokenShowsInNoErrorAndNoLog(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]roundTrip{
		"an error that quotes the address": func(r *http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: "Post", URL: r.URL.String(), Err: errors.New("dial " + r.URL.String())}
		},
		"an error that wraps one": func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("proxy: %w", &url.Error{Op: "Post", URL: r.URL.String(), Err: io.ErrUnexpectedEOF})
		},
		"an error with an escaped address": func(r *http.Request) (*http.Response, error) {
			return nil, errors.New("bad " + url.QueryEscape(r.URL.String()))
		},
		"a page that quotes the path": func(r *http.Request) (*http.Response, error) {
			return answer(502, "<h1>no route to "+r.URL.Path+"</h1>"), nil
		},
		"a description that quotes the path": func(r *http.Request) (*http.Response, error) {
			return answer(400, fmt.Sprintf(`{"ok":false,"error_code":400,"description":%q}`, r.URL.Path)), nil
		},
		"a redirect": func(r *http.Request) (*http.Response, error) {
			resp := answer(302, "moved to "+r.URL.String())
			resp.Header.Set("Location", "https://elsewhere.example"+r.URL.Path)
			resp.Request = r
			return resp, nil
		},
		"a body that breaks off": func(r *http.Request) (*http.Response, error) {
			resp := answer(200, "")
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(r.URL.Path), broken{r.URL.String()}))
			return resp, nil
		},
		"an answer without end": func(r *http.Request) (*http.Response, error) {
			return answer(200, strings.Repeat(r.URL.Path, 10_000)), nil
		},
		"a strange status": func(r *http.Request) (*http.Response, error) {
			resp := answer(999, r.URL.Path)
			resp.Status = "999 " + r.URL.Path
			return resp, nil
		},
		"no connection": func(r *http.Request) (*http.Response, error) {
			r.URL.Host = "127.0.0.1:1"
			return http.DefaultTransport.RoundTrip(r)
		},
		"an unknown scheme": func(r *http.Request) (*http.Response, error) {
			r.URL.Scheme = "gopher"
			return http.DefaultTransport.RoundTrip(r)
		},
		"a time-out": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, fmt.Errorf("%s: %w", r.URL, r.Context().Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			o := telegram.Options{
				Common: channels.Common{Name: "tg", Log: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), MinPause: time.Millisecond, MaxPause: time.Millisecond},
				Token:  channels.NewSecret(token), HTTPClient: &http.Client{Transport: f}, MaxAnswer: 1 << 14,
				SendTimeout: 20 * time.Millisecond,
			}
			ch, err := telegram.New(o)
			if err != nil {
				t.Fatal(err)
			}
			options, _ := json.Marshal(struct{ T channels.Secret }{o.Token})
			all := string(options) + fmt.Sprintf("%v %+v %#v %s %v %+v %#v", ch, ch, ch, ch, o, o, o)

			_, err = ch.Send(t.Context(), to(7, "2", "hi"))
			if err == nil {
				t.Error("Send gave no error")
			}
			all += deep(err)
			all += deep(ch.Edit(t.Context(), to(7, "", "").To, "5", channels.Body{Text: "x"}))
			all += deep(ch.ShowTyping(t.Context(), to(7, "", "").To))
			_, err = ch.SendFile(t.Context(), to(7, "2", ""), channels.File{Name: "a", Size: 1}, strings.NewReader("x"))
			all += deep(err)
			all += deep(ch.Fetch(t.Context(), to(7, "", "").To, channels.Attachment{Ref: "a"}, io.Discard))
			o.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if strings.HasSuffix(r.URL.Path, "/getFile") {
					return answer(200, `{"ok":true,"result":{"file_path":"a"}}`), nil
				}
				return f(r)
			})}
			fetching, err := telegram.New(o)
			if err != nil {
				t.Fatal(err)
			}
			all += deep(fetching.Fetch(t.Context(), to(7, "", "").To, channels.Attachment{Ref: "a"}, io.Discard))
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			all += deep(ch.Receive(ctx, func(context.Context, channels.Message) error { return nil }))
			all += log.String()
			for _, form := range forms() {
				if at := strings.Index(all, form); at >= 0 {
					t.Fatalf("the token shows: …%s…", all[max(0, at-80):min(len(all), at+80)])
				}
			}
		})
	}
}

type broken struct{ words string }

func (b broken) Read([]byte) (int, error) { return 0, errors.New("read " + b.words) }

func TestABadTokenIsNamedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "secret-canary", "42:sec/ret-canary", "42:secret canary", "x:secret-canary", "42:", "42:secret-canary?x", "42:..%2f"} {
		_, err := telegram.New(telegram.Options{Common: channels.Common{Name: "tg"}, Token: channels.NewSecret(bad)})
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("token %q: %v", bad, err)
		}
	}
	for _, address := range []string{"ftp://x", "api.telegram.org", "http://", "http://u:p@x", "http://x?y", "http://x#y", ":"} {
		if _, err := telegram.New(telegram.Options{Common: channels.Common{Name: "tg"}, Token: channels.NewSecret(token), APIURL: address}); err == nil {
			t.Errorf("address %q passed", address)
		}
	}
}
