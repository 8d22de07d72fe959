package main

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley/simulators/model"
	"parley/simulators/telegram"
)

// amended is a configuration for both servers in which old stands as new, with more behind it.
func amended(t *testing.T, tg *telegram.Server, m *model.Server, old, replacement, more string) (config string) {
	t.Helper()
	config = written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(strings.Replace(string(text), old, replacement, 1)+more), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

// The code that page gives logs in at the address that it gives.
func TestPageGivesACodeToLogInWith(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := amended(t, tg, m, "", "", "page: {enabled: true, listen: \"127.0.0.1:0\"}\n")
	start(t, environment, "run", "--config", config).err.awaitLines(t, 1, "gateway started")
	out := saidOf(t, "page", "-c", config)
	found := regexp.MustCompile(`^(http://127\.0\.0\.1:\d+)\ncode  (\S{4}-\S{4}-\S{4}-\S{4})   \(once, until \S+ \S+ UTC\)\n$`).FindStringSubmatch(out)
	if found == nil {
		t.Fatalf("page says %q", out)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	read := func(res *http.Response, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer discard(res.Body)
		var body strings.Builder
		if err := res.Write(&body); err != nil {
			t.Fatal(err)
		}
		return body.String()
	}
	form := read(browser.Get(found[1] + "/login")) //nolint:noctx // of a process of this test; read closes it
	token := regexp.MustCompile(`name="token"[^>]* value="([^"]+)"`).FindStringSubmatch(form)
	if token == nil {
		t.Fatalf("the page to log in has no token: %s", form)
	}
	page := read(browser.PostForm(found[1]+"/login", url.Values{"token": {token[1]}, "code": {found[2]}})) //nolint:noctx // likewise
	if !strings.Contains(page, "Logged in as uid "+strconv.Itoa(os.Getuid())) {
		t.Errorf("with the code it shows %s", page)
	}

	if status, _, said := asked(t, "page", "-c", amended(t, tg, m, "", "", "")); status != exitNobody {
		t.Errorf("without a gateway it ended with %d: %s", status, said)
	}
}

// What waits for a permission is shown, permitted and refused from outside the chat, once.
func TestTheOperatorDecidesAboutCalls(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, func(ctx context.Context, p *model.Prompt) model.Answer {
		if content, ok := strings.CutPrefix(p.LastText(), "set "); ok && len(p.Answering()) == 0 {
			return model.Reply(model.Use("write_file", map[string]string{"path": ".env", "content": content}))
		}
		return model.Echo(ctx, p)
	})
	config := amended(t, tg, m, `people: ["1001"]`, `people: ["1001"], approvers: ["1001"]`, "")
	start(t, environment, "run", "--config", config)
	say(t, tg, "set A=1")
	first := awaitQuestion(t, tg, "A=1")
	say(t, tg, "set A=2")
	second := awaitQuestion(t, tg, "A=2")
	settled(t, config)

	list := saidOf(t, "approvals", "ls", "-c", config)
	for _, code := range []string{first, second} {
		if !regexp.MustCompile(`(?m)^` + code + ` +\S+ +pending +write_file `).MatchString(list) {
			t.Errorf("%s is not listed:\n%s", code, list)
		}
	}
	if out := saidOf(t, "approvals", "show", first, "-c", config); !regexp.MustCompile(`(?s)^request +\S+ \(code ` + first + `\)\nstate +pending\nasks for +write_file\n.*\nasked +.* by .*A=1`).MatchString(out) {
		t.Errorf("show says\n%s", out)
	}
	if out := saidOf(t, "approvals", "approve", first, "-c", config); out != "permitted the call of write_file that "+first+" asked about\n" {
		t.Errorf("approve says %q", out)
	}
	await(t, tg, "what the permission did", func(b telegram.Book) bool {
		for _, m := range b.Messages {
			if strings.Contains(m.Text(), "wrote a new file .env") {
				return true
			}
		}
		return false
	})
	if out := saidOf(t, "approvals", "deny", second, "-c", config); out != "refused the call of write_file that "+second+" asked about\n" {
		t.Errorf("deny says %q", out)
	}
	settled(t, config)
	if status, _, said := asked(t, "approvals", "approve", second, "-c", config); status == exitOK || said == "" {
		t.Errorf("a refused call is permitted: %d, %s", status, said)
	}
	if out := saidOf(t, "approvals", "ls", "-c", config); out != "Nothing waits for permission.\n" {
		t.Errorf("afterwards ls says %q", out)
	}
	if out := saidOf(t, "approvals", "ls", "--all", "-c", config); !regexp.MustCompile(`(?m)^`+first+` +\S+ +used `).MatchString(out) || !regexp.MustCompile(`(?m)^`+second+` +\S+ +denied `).MatchString(out) {
		t.Errorf("all of them:\n%s", out)
	}
}

// What watch shows of a turn while it runs, and why says of the same message afterwards.
func TestWatchAndWhyOfAnOrdinaryMessage(t *testing.T) {
	t.Parallel()
	tg, m := sims(t, model.Echo)
	config := written(t, tg.URL(), m.URL(), "127.0.0.1:0")
	add(t, config, "limits: {person_per_minute: 10000, person_burst: 10000, group_per_minute: 10000}\n")
	start(t, environment, "run", "--config", config).err.awaitLines(t, 1, "gateway started")
	watch := start(t, environment, "sessions", "watch", "-c", config)
	// It shows what happens from when it is connected, be it the end of a turn, and nothing says when
	// that is: on a busy machine it may take more messages than a person has a minute.
	var said []string
	for n := 1; !slices.ContainsFunc(said, func(line string) bool { return strings.Contains(line, "message ") }); n++ {
		text := "message " + strconv.Itoa(n)
		say(t, tg, text)
		await(t, tg, "the answer", answer(text))
		settled(t, config)
		for more := true; more; {
			select {
			case line, ok := <-watch.lines:
				if !ok {
					t.Fatalf("it ended: %s", watch.err.String())
				}
				said = append(said, line)
			default:
				more = false
			}
		}
	}
	for _, line := range said {
		if !regexp.MustCompile(`^\d\d:\d\d:\d\d  \S+  `).MatchString(line) {
			t.Errorf("watch says %q", line)
		}
	}
	if status := watch.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("watch ended with %d: %s", status, watch.err.String())
	}

	asks, err := tg.Say(telegram.PrivateChat(ann), ann, "the last one", telegram.SayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, tg, "the last answer", answer("the last one"))
	settled(t, config)
	id := strconv.FormatInt(asks.MessageID, 10)
	out := saidOf(t, "why", id, "--channel", "tg", "--chat", "1001", "-c", config)
	for _, want := range []string{
		`^message +` + id + ` in chat 1001 of tg, from 1001 \(Ann\)$`, `^received +\S+ \S+ UTC$`, `^heard +a direct message$`, `^queued +.* UTC, in main:4200000001:telegram:dm:1001$`,
		`^turn +t-[0-9a-f]{32}: end_turn after \S+, 1 step$`, `^session +01[0-9A-HJKMNP-TV-Z]{24}$`, `^reserved +\$0\.\d+ for 1 call$`, `^spent +\$0\.\d+$`, `^answer +sent \S+ \S+ UTC, as message \d+$`,
	} {
		if !regexp.MustCompile(`(?m)` + want).MatchString(out) {
			t.Errorf("why has no %s:\n%s", want, out)
		}
	}
	if strings.Contains(out, "the last one") {
		t.Errorf("why quotes the message: %s", out)
	}
	if status, _, said := asked(t, "why", "999999", "-c", config); status != exitFailed || !strings.HasPrefix(said, "parley: nothing is known of the message 999999") {
		t.Errorf("of no message it ended with %d: %s", status, said)
	}
}
