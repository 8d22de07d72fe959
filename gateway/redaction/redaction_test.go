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
	"testing/iotest"

	"parley/gateway/redaction"
	"parley/tools"
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
		"json as it is": strings.ReplaceAll(secret, `"`, `\"`), "json in ascii": `p/a+s:s\"w<\u00f6>rd&%canary`, "json of php": `p\/a+s:s\"w<\u00f6>rd&%canary`,
		"json in json": `p/a+s:s\\\"w<ö>rd&%canary`, "go in ascii": strings.Trim(strconv.QuoteToASCII(secret), `"`),
		"html": "p/a+s:s&#34;w&lt;ö&gt;rd&amp;%canary", "xml": "p/a+s:s&quot;w&lt;ö&gt;rd&amp;%canary", "html text": `p/a+s:s"w&lt;ö&gt;rd&amp;%canary`,
		"printf %q": `p/a+s:s\"w\<ö\>rd\&%canary`, "declare -p": `p/a+s:s\"w<ö>rd&%canary`,
		"every byte": "%70%2F%61%2B%73%3A%73%22%77%3C%C3%B6%3E%72%64%26%25%63%61%6E%61%72%79",
		"broken hex": hex.EncodeToString([]byte(secret))[:30] + "\n    " + hex.EncodeToString([]byte(secret))[30:],
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

// What tools print is broken over lines: base64 at 76 characters, openssl at 64, and in a
// string of JSON the end of a line is written as two characters.
func TestASecretOverSeveralLinesIsTakenOut(t *testing.T) {
	t.Parallel()
	long := "correct-horse/battery+staple:" + strings.Repeat("k3Y.", 20)
	r := redaction.New(long, "it's-a-secret")
	for _, width := range []int{20, 60, 64, 76} {
		for _, end := range []string{"\n", "\r\n", "\n\t  ", `\n`, `\r\n`} {
			for before := range 4 {
				encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", before) + long))
				var lines []string
				for len(encoded) > width {
					lines, encoded = append(lines, encoded[:width]), encoded[width:]
				}
				text := strings.Join(append(lines, encoded), end)
				if got := r.Clean(text); len(got) > len(redaction.Mark)+len(end)+10 {
					t.Errorf("base64 of %d characters to a line, with %q, behind %d bytes became %q", width, end, before, got)
				}
			}
		}
	}
	for _, form := range []string{`it'\''s-a-secret`, `it'"'"'s-a-secret`, `it\'s-a-secret`, "it&#39;s-a-secret", "it&apos;s-a-secret"} {
		if got := r.Clean("'" + form + "'"); got != "'[redacted]'" {
			t.Errorf("%s became %s", form, got)
		}
	}
	if text := "correct\n\ncorrect-horse/\nbatteries"; r.Clean(text) != text {
		t.Errorf("other lines became %q", r.Clean(text))
	}
}

// Errors, search results and the like are cut before they come to the redactor.
func TestTheBeginningOfASecretThatWasCutIsTakenOut(t *testing.T) {
	t.Parallel()
	token := "4200000001:canary-token-of-a-bot-0123456789abc"
	r := redaction.New(token, "canary-0123")
	for text, want := range map[string]string{
		"you sent " + token[:30] + "…":                                    "you sent [redacted]…",
		"you sent " + token[:16] + "...\n":                                "you sent [redacted]...\n",
		"you sent " + token[:30]:                                          "you sent [redacted]",
		"you sent canary-0…":                                              "you sent [redacted]…",
		hex.EncodeToString([]byte(token))[:40] + "\n[output truncated: 1": "[redacted]\n[output truncated: 1",
		tools.FrameUntrusted("it", token[:20]):                            strings.Replace(tools.FrameUntrusted("it", token[:20]), token[:20], "[redacted]", 1),
		"of " + token[:11] + "…":                                          "of 4200000001:…",
		"the bot is " + token[:10]:                                        "the bot is 4200000001",
		token[:30] + " and more":                                          token[:30] + " and more",
	} {
		if got := r.Clean(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
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
		"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
		`-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END PRIVATE KEY-----`,
		base64.StdEncoding.EncodeToString([]byte("-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END PRIVATE KEY-----\n")),
		"ASIAIOSFODNN7EXAMPLE", "sk_live_" + key[:24], "glpat-" + key[:20], "hf_" + key[:34], "xai-" + key, "npm_" + key[:36], "ya29." + key,
		"AGE-SECRET-KEY-1" + strings.ToUpper(key[:58]), "SUA" + strings.Repeat("ABCDEFG2", 7),
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
		"the bearer of news-and-letters", "a basic understanding of it", "Basic authentication", "an authorization: required", "Authorization: Bearer",
		"redis://user:password@host", "postgres://u:${PASSWORD}@h/db", "https://u:<password>@h", "https://x:xxxxx@h", "ssh://git@example.org:22/x", "http://[::1]:8080/",
		"mail a:b@example.org", "secret_access_key = none", "the session tokens: many", "AWS_SECRET_ACCESS_KEY=$KEY", "http://example.org:8080/@a", "[redacted]",
	} {
		if got := r.Clean(plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// What tells that something is a secret is the place where it stands, and the place stays.
func TestCredentialsAreTakenOutByTheirPlace(t *testing.T) {
	t.Parallel()
	r := redaction.New()
	key := strings.Repeat("aB3/", 10)
	for text, want := range map[string]string{
		"Authorization: Bearer hunter2\nHost: h":                           "Authorization: Bearer [redacted]\nHost: h",
		"Proxy-Authorization: Basic dTpw\r\n":                              "Proxy-Authorization: Basic [redacted]\r\n",
		`{"authorization": "Token abc", "a": 1}`:                           `{"authorization": "Token [redacted]", "a": 1}`,
		`-H 'authorization: bearer abc' -v`:                                `-H 'authorization: bearer [redacted]' -v`,
		`Authorization: Digest username="u", response="6629fa"` + "\nX: y": "Authorization: Digest [redacted]\nX: y",
		"map[Authorization:[Bearer abc] Host:[h]]":                         "map[Authorization:[Bearer [redacted]] Host:[h]]",
		"Authorization: AWS4-HMAC-SHA256 Credential=c/d, Signature=f0":     "Authorization: AWS4-HMAC-SHA256 [redacted]",
		"authorization=0123456789abcdef0 and":                              "authorization=[redacted] and",
		"it sent bearer 0123456789abcdef0, he said":                        "it sent bearer [redacted], he said",
		"curl: Basic dXNlcjpodW50ZXIy":                                     "curl: Basic [redacted]",
		"dial redis://u:hun:ter2@h:6379/0: refused":                        "dial redis://u:[redacted]@h:6379/0: refused",
		"https://:hunter@2@example.org/a@b":                                "https://:[redacted]@example.org/a@b",
		"see https://a:b@c and nats://d:e@f":                               "see https://a:[redacted]@c and nats://d:[redacted]@f",
		"aws_secret_access_key = " + key:                                   "aws_secret_access_key = [redacted]",
		`"SecretAccessKey": "` + key + `",`:                                `"SecretAccessKey": "[redacted]",`,
		"<SecretAccessKey>" + key + "</SecretAccessKey>":                   "<SecretAccessKey>[redacted]</SecretAccessKey>",
		"export AWS_SESSION_TOKEN='" + key + key + "'":                     "export AWS_SESSION_TOKEN='[redacted]'",
	} {
		got := r.Clean(text)
		if got != want {
			t.Errorf("%q became\n%q, want\n%q", text, got, want)
		}
		if again := r.Clean(got); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
	}
}

// A text that is shown piece by piece shows no part of a secret, wherever it is cut: what a
// tool reports while it runs.
func TestPiecesShowNoSecret(t *testing.T) {
	t.Parallel()
	r := redaction.New("correct-horse:battery staple")
	key := strings.Repeat("aB3", 20)
	text := "begin correct-horse:battery staple, Y29ycmVjdC1ob3JzZTpiYXR0ZXJ5IHN0YXBsZQ== sk-ant-" + key + " 123456789:AAF" + key[:32] +
		" -----BEGIN PRIVATE KEY-----\nMIIE\nabcd\n-----END PRIVATE KEY----- Authorization: Bearer hunter2\n https://u:hunter2@h/ eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjg Basic dXNlcjpodW50ZXIy end"
	want := r.Clean(text)
	if strings.Count(want, redaction.Mark) != 9 {
		t.Fatalf("the text as a whole became %q", want)
	}
	for size := 1; size < len(text); size++ {
		var shown strings.Builder
		rest := ""
		for from := 0; from < len(text); from += size {
			clean, r := r.CleanPiece(rest + text[from:min(len(text), from+size)])
			shown.WriteString(clean)
			rest = r
		}
		if got := shown.String() + r.Clean(rest); got != want {
			t.Fatalf("in pieces of %d it became\n%q, want\n%q", size, got, want)
		}
	}
}

// A file with a secret in it is held back, wherever it is cut while it is read.
func TestAFileWithASecretIsHeldBack(t *testing.T) {
	t.Parallel()
	refusal := errors.New("not that one")
	r := redaction.New(secret)
	for name, text := range map[string]string{"plain": secret, "base64": base64.StdEncoding.EncodeToString([]byte("u:" + secret)), "hex": hex.EncodeToString([]byte(secret))} {
		whole := strings.Repeat("x\n", 3000) + text + strings.Repeat("\ny", 3000)
		for _, content := range []io.Reader{strings.NewReader(whole), iotest.OneByteReader(strings.NewReader(whole)), iotest.DataErrReader(strings.NewReader(whole))} {
			if got, err := io.ReadAll(r.Screen(content, refusal)); !errors.Is(err, refusal) || strings.Contains(string(got), text) {
				t.Errorf("%s: %d bytes, %v", name, len(got), err)
			}
		}
	}
	fine := "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n" + secret[:10]
	if got, err := io.ReadAll(r.Screen(strings.NewReader(fine), refusal)); err != nil || string(got) != fine {
		t.Errorf("%q, %v", got, err)
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
		if got := out.String(); r.Clean(got) != got || strings.Count(got, "canary") > 0 || strings.Contains(got, "112 47 97") || !strings.Contains(got, "7") {
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
		text, secret = text[:min(len(text), 2000)], secret[:min(len(secret), 200)] // it is looked at byte by byte
		r := redaction.New(secret)
		if got := r.Clean(text); len(secret) >= redaction.Shortest && !strings.Contains(redaction.Mark, secret) && strings.Contains(strings.ReplaceAll(got, redaction.Mark, "\x00"), secret) {
			t.Errorf("%q is left in %q", secret, got)
		}
		shown, rest := "", ""
		for i := range len(text) {
			clean, r := r.CleanPiece(rest + text[i:i+1])
			shown, rest = shown+clean, r
		}
		if got := shown + r.Clean(rest); len(secret) >= redaction.Shortest && !strings.Contains(redaction.Mark, secret) && strings.Contains(strings.ReplaceAll(got, redaction.Mark, "\x00"), secret) {
			t.Errorf("%q is left in the pieces %q", secret, got)
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
	// What makes a rule look far, again and again.
	for name, begin := range map[string]string{"sk-": "sk-", "colons": "123456:", "slashes": "://", "pem": "-----BEGIN PRIVATE", "a secret's beginning": "canary-1-", "bearer": "Bearer Basic "} {
		text := strings.Repeat(begin, 1<<20/len(begin))
		b.Run("1 MB of "+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Clean(text)
			}
		})
	}
	b.Run("result of 10 KB", func(b *testing.B) {
		text := strings.Repeat(words, 3)[:10_000]
		b.SetBytes(10_000)
		for b.Loop() {
			r.Clean(text)
		}
	})
	b.Run("preview of 4 KB", func(b *testing.B) {
		b.SetBytes(4096)
		for b.Loop() {
			r.CleanGrowing(words[:4096])
		}
	})
}

func TestReplace(t *testing.T) {
	t.Parallel()
	r := redaction.New("for-good-secret")
	for n, c := range []struct{ hidden, shown []string }{
		{[]string{"first-token"}, nil},
		{[]string{"first-token", "second-token"}, nil},
		{[]string{"second-token", "third-token"}, []string{"first-token"}},
	} {
		r.Replace("a", c.hidden[len(c.hidden)-1])
		r.Replace("b", fmt.Sprint("another-token-", n))
		r.Add("added-for-good")
		for _, s := range append(c.hidden, "for-good-secret", "added-for-good", fmt.Sprint("another-token-", n)) {
			if got := r.Clean("x " + s); got != "x "+redaction.Mark {
				t.Errorf("%d: %q shows %s", n, got, s)
			}
		}
		for _, s := range c.shown {
			if got := r.Clean("x " + s); got != "x "+s {
				t.Errorf("%d: %s is a secret still, two generations later", n, s)
			}
		}
	}
}
