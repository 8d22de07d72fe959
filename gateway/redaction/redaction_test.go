package redaction_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"parley/gateway/redaction"
)

// secret has what each way of writing changes.
const secret = `p/a+s:s"w<ö>rd&%canary`

// abuse L2: the redactor knew tokens and API keys only as they are.
func TestASecretIsTakenOutHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	r := redaction.New(secret, "another-secret")
	j, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]string{
		"plain": secret, "json": strings.Trim(string(j), `"`), "quoted": strings.Trim(strconv.Quote(secret), `"`),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret), "lower escapes": strings.ReplaceAll(strings.ToLower(url.QueryEscape(secret)), "%2b", "%2b"),
		"userinfo": strings.TrimPrefix(url.UserPassword("", secret).String(), ":"),
		"hex":      hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for name, form := range forms {
		text := "begin " + form + " end, " + form
		if got := r.Clean(text); got != "begin [redacted] end, [redacted]" {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
	// Within the base64 of something longer, wherever it stands there.
	for _, before := range []string{"", "u", "us", "use", "user:"} {
		for name, enc := range map[string]*base64.Encoding{"standard": base64.StdEncoding, "url": base64.RawURLEncoding} {
			form := enc.EncodeToString([]byte(before + secret + " and so on"))
			got := r.Clean("Basic " + form)
			if !strings.Contains(got, redaction.Mark) {
				t.Errorf("%s base64 behind %q is not seen: %q", name, before, got)
			}
			decoded, _ := enc.DecodeString(strings.ReplaceAll(strings.TrimPrefix(got, "Basic "), redaction.Mark, strings.Repeat("A", len(secret)/3*4)))
			if bytes.Contains(decoded, []byte(secret[3:len(secret)-3])) {
				t.Errorf("%s base64 behind %q shows most of it: %q", name, before, got)
			}
		}
	}
}

func TestWhatLooksLikeAKeyIsTakenOut(t *testing.T) {
	t.Parallel()
	r := redaction.New()
	key := strings.Repeat("aB3", 20)
	for _, k := range []string{
		"sk-ant-api03-" + key, "sk-proj-" + key, "xoxb-1234567890-abcdefghij", "xapp-1-A01-22-abc0123456789", "xoxe.xoxp-1-abcdefghijk",
		"ghp_" + key[:36], "github_pat_" + key, "AKIAIOSFODNN7EXAMPLE", "AIza" + key[:35], "gsk_" + key[:40],
		"123456789:AAF" + key[:32], "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabcd\n-----END RSA PRIVATE KEY-----",
	} {
		if got := r.Clean("it is " + k + ", he said"); got != "it is [redacted], he said" {
			t.Errorf("%q became %q", k, got)
		}
	}
	if got := r.Clean("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA and no end"); got != redaction.Mark {
		t.Errorf("a key without an end became %q", got)
	}
	for _, plain := range []string{
		"a task-management-and-something-else-of-1999 list", "risk-averse", "sk-learn", "sk-circle-fade-dot-before-something",
		"at 12:30:45", "1234567:890", "http://example.org:8080/a/b", "the eyJ beginning", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----",
		"xoxb-", "commit 0567423aabbccddeeff", "a.b.c", "",
	} {
		if got := r.Clean(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// abuse L2: a streamed answer shows no piece of a secret, wherever its deltas are
// cut, and no more than four bytes of one that is not whole.
func TestAGrowingTextNeverShowsThePieceOfASecret(t *testing.T) {
	t.Parallel()
	exact := "correct-horse:battery staple"
	r := redaction.New(exact)
	key := strings.Repeat("aB3", 20)
	for name, k := range map[string]string{
		"exact": exact, "base64": base64.StdEncoding.EncodeToString([]byte(exact)), "key": "sk-ant-" + key, "bot": "123456789:AAF" + key[:32],
		"jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
		"pem": "-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabcd\n-----END PRIVATE KEY-----",
	} {
		before, after := "Of course, it is ", " and I should not say so."
		text := before + k + after
		secretPart := k[min(len(k), 12):] // what stands before is in the documentation of the service
		if name == "exact" || name == "base64" {
			secretPart = k[4:]
		}
		if name == "pem" {
			secretPart = k[len("-----BEGIN PRIVATE KEY-----"):]
		}
		last := ""
		for i := range len(text) + 1 {
			got := r.CleanGrowing(text[:i])
			for n := 3; n <= len(secretPart); n++ {
				if strings.Contains(strings.TrimPrefix(got, before), secretPart[:n]) {
					t.Fatalf("%s, cut at %d: %q", name, i, got)
				}
			}
			last = got
		}
		if last != r.Clean(text) || !strings.HasPrefix(last, before+redaction.Mark) || !strings.HasSuffix(last, after) {
			t.Errorf("%s: at the end %q", name, last)
		}
	}
}

func TestAGrowingPlainTextIsShownAsItIs(t *testing.T) {
	t.Parallel()
	r := redaction.New(secret)
	text := "The answer is 42: see http://example.org, at 12:30. It took 1234567 steps, of which sk-1 was none. ä ö ü"
	for i := range len(text) + 1 {
		if got := r.CleanGrowing(text[:i]); len(got) < i-12 || !strings.HasPrefix(text, got) {
			t.Errorf("cut at %d it shows %q", i, got)
		}
	}
}

func TestShortSecretsAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := redaction.New("", "none", "hunter2")
	if got := r.Clean("none of hunter2"); got != "none of hunter2" {
		t.Errorf("became %q", got)
	}
	r.Add("hunter2-the-second")
	if got := r.Clean("hunter2-the-second"); got != redaction.Mark {
		t.Errorf("an added one became %q", got)
	}
	var none *redaction.Redactor
	if none.Clean("x") != "x" || none.CleanGrowing("x") != "x" {
		t.Error("no redactor changes a text")
	}
}

type nested struct{ Inner *struct{ Token string } }

func TestNoLogLineShowsASecret(t *testing.T) {
	t.Parallel()
	r := redaction.New(secret)
	for name, make := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"json": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		var out bytes.Buffer
		log := r.Logger(slog.New(make(&out)))
		inner := nested{&struct{ Token string }{secret}}
		log.With("with", secret).WithGroup("g").Info("message "+secret,
			"string", secret, "error", fmt.Errorf("dial: %w", errors.New(secret)), "list", []string{"a", secret}, "bytes", []byte(secret),
			"nested", inner, "n", 7, slog.Group("sub", "deep", secret), "url", &url.URL{Scheme: "redis", User: url.UserPassword("u", secret), Host: "h"})
		if got := out.String(); r.Clean(got) != got || strings.Count(got, "canary") > 0 || !strings.Contains(got, "7") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestAnErrorIsWhatItWasWithoutItsSecret(t *testing.T) {
	t.Parallel()
	r := redaction.New(secret)
	err := r.CleanError(fmt.Errorf("dial %s: %w", secret, io.EOF))
	if err.Error() != "dial [redacted]: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("became %v", err)
	}
	if r.CleanError(nil) != nil || r.CleanError(io.EOF) != io.EOF { //nolint:errorlint // it is to be the same
		t.Error("an error without a secret is another one")
	}
}

// FuzzGrowing holds that no text shows a secret, neither whole nor while it grows.
func FuzzGrowing(f *testing.F) {
	f.Add("a 123456789:AAFaB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3 b", "correct-horse")
	f.Add("sk-ant-0000000000000000000000 -----BEGIN PRIVATE KEY-----", "eyJ.eyJ.eyJ")
	f.Add("aabaabaabc", "aabaabaac")
	f.Fuzz(func(t *testing.T, text, secret string) {
		r := redaction.New(secret)
		if got := r.Clean(text); len(secret) >= redaction.Shortest && !strings.Contains(redaction.Mark, secret) && strings.Contains(strings.ReplaceAll(got, redaction.Mark, "\x00"), secret) {
			t.Errorf("%q is left in %q", secret, got)
		}
		for i := range len(text) + 1 {
			got := r.CleanGrowing(text[:i])
			if len(secret) >= redaction.Shortest && !strings.Contains(redaction.Mark, secret) && strings.Contains(strings.ReplaceAll(got, redaction.Mark, "\x00"), secret) {
				t.Errorf("%q is left in %q", secret, got)
			}
		}
	})
}

func BenchmarkClean(b *testing.B) {
	secrets := make([]string, 12)
	for i := range secrets {
		secrets[i] = fmt.Sprintf("canary-%d-%s", i, strings.Repeat("k3Y", 12))
	}
	r := redaction.New(secrets...)
	words := strings.Repeat("Some words of an answer, with `code`, 12:30 and https://example.org/a-b. ", 64)
	log := r.Logger(slog.New(slog.NewJSONHandler(io.Discard, nil)))
	plain := slog.New(slog.NewJSONHandler(io.Discard, nil))
	line := func(l *slog.Logger) {
		l.Info("delivery failed, retrying", "channel", "tg", "delivery", "t-0123456789abcdef", "part", 3, "error", io.ErrUnexpectedEOF)
	}
	b.Run("log line without", func(b *testing.B) {
		for b.Loop() {
			line(plain)
		}
	})
	b.Run("log line", func(b *testing.B) {
		for b.Loop() {
			line(log)
		}
	})
	b.Run("answer of 4 KB", func(b *testing.B) {
		b.SetBytes(4096)
		for b.Loop() {
			r.Clean(words[:4096])
		}
	})
	b.Run("preview of 4 KB", func(b *testing.B) {
		b.SetBytes(4096)
		for b.Loop() {
			r.CleanGrowing(words[:4096])
		}
	})
}
