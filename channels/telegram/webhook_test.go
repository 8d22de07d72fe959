package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/telegram"
)

// hooked runs Receive in webhook mode for d of a bubble's time and gives what
// Telegram was asked, the log, and what the observer saw. answer is asked
// before the default answers.
func hooked(t *testing.T, d time.Duration, reply func(n int, method string, params map[string]any) *http.Response) (calls []string, log string, seen []string, err error) {
	t.Helper()
	var out bytes.Buffer
	var w watcher
	n := 0
	url := ""
	s := &script{other: func(method string, params map[string]any) *http.Response {
		n++
		calls = append(calls, method)
		if res := reply(n, method, params); res != nil {
			return res
		}
		switch method {
		case "setWebhook":
			url, _ = params["url"].(string)
		case "getWebhookInfo":
			return info(url, 0, 0, "")
		}
		return nil
	}}
	err = receiveFor(t, s, d, telegram.Options{
		Common:  channels.Common{Observer: &w, MinPause: time.Second, Log: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))},
		Webhook: telegram.Webhook{URL: "https://bot.example.org"},
	}, nil)
	return calls, out.String(), w.lines, err
}

func info(url string, pending int, at int64, problem string) *http.Response {
	b, _ := json.Marshal(map[string]any{"ok": true, "result": map[string]any{
		"url": url, "pending_update_count": pending, "last_error_date": at, "last_error_message": problem,
	}})
	return answer(200, string(b))
}

func TestAWebhookIsSetWithItsSecretAndNeverDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var set map[string]any
		calls, log, seen, err := hooked(t, 150*time.Second, func(_ int, method string, params map[string]any) *http.Response {
			if method == "setWebhook" {
				set = params
			}
			return nil
		})
		if err != nil || strings.Join(calls, ",") != "setWebhook,getWebhookInfo,getWebhookInfo" {
			t.Errorf("called %v, %v", calls, err)
		}
		url, secret := fmt.Sprint(set["url"]), fmt.Sprint(set["secret_token"])
		if fmt.Sprint(set["allowed_updates"]) != "[message edited_message callback_query my_chat_member]" ||
			set["max_connections"] != 1.0 || set["drop_pending_updates"] != nil ||
			!strings.HasPrefix(url, "https://bot.example.org/telegram/") || len(secret) < 32 {
			t.Errorf("set with %v", set)
		}
		if got := strings.Join(seen, ", "); got != "up true, up false" {
			t.Errorf("observed %s", got)
		}
		if strings.Contains(log, secret) || strings.Contains(log, url) || strings.Contains(log, "canary") {
			t.Errorf("the log shows a secret:\n%s", log)
		}
	})
}

func TestAWebhookThatTelegramCannotReachIsToldAndDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now().Unix()
		url := ""
		_, log, seen, _ := hooked(t, 310*time.Second, func(n int, method string, params map[string]any) *http.Response {
			switch {
			case method == "setWebhook":
				url = params["url"].(string)
				return nil
			case n == 2: // from before this process
				return info(url, 0, start-10, "Connection refused")
			case n == 3 || n == 4: // told once
				return info(url, 7, start+100, "SSL error\nself-signed certificate")
			case n == 5: // another
				return info(url, 7, start+200, "Read timeout expired")
			}
			return nil
		})
		if got := strings.Join(seen, ", "); got != "up true, up false, up true, reconnected, up false, up true, reconnected, up false" {
			t.Errorf("observed %s", got)
		}
		for text, n := range map[string]int{
			"failed to deliver": 2, "SSL error self-signed certificate": 1, "pending=7": 3, "Connection refused": 0,
		} {
			if got := strings.Count(log, text); got != n {
				t.Errorf("%q stands %d times in the log:\n%s", text, got, log)
			}
		}
	})
}

func TestRow04_AWebhookThatAnotherProgramTookIsSetAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, log, _, _ := hooked(t, 130*time.Second, func(n int, _ string, _ map[string]any) *http.Response {
			if n == 2 {
				return info("https://other.example.org/x", 0, 0, "")
			}
			return nil
		})
		if got := strings.Join(calls, " "); got != "setWebhook getWebhookInfo setWebhook getWebhookInfo" {
			t.Errorf("called %s", got)
		}
		if n := strings.Count(log, "another program"); n != 1 {
			t.Errorf("%d lines:\n%s", n, log)
		}
	})
}

func TestAWebhookThatTelegramRefusesIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, log, _, err := hooked(t, 50*time.Second, func(n int, _ string, _ map[string]any) *http.Response {
			switch n {
			case 1:
				return answer(400, `{"ok":false,"error_code":400,"description":"Bad Request: bad webhook: Failed to resolve host: Name or service not known"}`)
			case 2:
				return answer(429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 9","parameters":{"retry_after":9}}`)
			}
			return nil
		})
		if err != nil || strings.Join(calls, ",") != "setWebhook,setWebhook,setWebhook" || !strings.Contains(log, "Failed to resolve host") {
			t.Errorf("called %v, %v:\n%s", calls, err, log)
		}
		_, _, _, err = hooked(t, 50*time.Second, func(int, string, map[string]any) *http.Response {
			return answer(401, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
		})
		if wrong(err).Kind != channels.Unauthorized {
			t.Errorf("a bad token: %v", err)
		}
	})
}

func TestStrangersAtTheWebhookAreCountedInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := serve(t, func(context.Context, channels.Message) error { return nil }, func(o *telegram.Options) {
			o.Log = slog.New(slog.NewTextHandler(&out, nil))
		})
		for range 3 {
			r := s.request(io.MultiReader())
			r.Header.Set(secretHeader, "guess")
			s.do(r)
		}
		time.Sleep(2 * time.Minute)
		s.stop()
		if log := out.String(); strings.Count(log, "secret") != 1 || !strings.Contains(log, "requests=3") || strings.Contains(log, "guess") {
			t.Errorf("log:\n%s", log)
		}
	})
}

func TestAWebhookThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	const own = "http://127.0.0.1:8081"
	for _, c := range []struct {
		url    string
		most   int
		api    string
		refuse string // empty: accepted
	}{
		{"", 0, "", ""},
		{"https://bot.example.org", 0, "", ""},
		{"https://bot.example.org:8443/a/b/", 100, "https://api.telegram.org/", ""},
		{"https://[2001:db8::1]:443", 1, "", ""},
		{"http://10.0.0.5:9000", 1, own, ""},
		{"", 3, "", "url: required"},
		{"https://bot.example.org", 101, "", "max_connections: 101"},
		{"https://bot.example.org", -1, "", "max_connections: -1"},
		{"http://bot.example.org", 0, "", "https only"},
		{"http://bot.example.org", 0, "https://api.telegram.org", "https only"},
		{"https://bot.example.org:9000", 0, "", "ports"},
		{"bot.example.org", 0, "", "public address"},
		{"https://", 0, "", "public address"},
		{"https://ann:canary@bot.example.org", 0, "", "public address"},
		{"https://bot.example.org/?a=b", 0, "", "public address"},
		{"https://bot.example.org/#x", 0, "", "public address"},
		{"ftp://bot.example.org", 0, own, "public address"},
		{"https://bot.exa\x7fmple.org/canary", 0, "", "public address"},
	} {
		err := telegram.Webhook{URL: c.url, MaxConnections: c.most}.Validate(c.api)
		switch {
		case c.refuse == "" && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse) || strings.Contains(err.Error(), "canary")):
			t.Errorf("%+v: %v", c, err)
		}
		if _, newErr := telegram.New(telegram.Options{Common: channels.Common{Name: "tg"}, Token: channels.NewSecret(token), APIURL: c.api, Webhook: telegram.Webhook{URL: c.url, MaxConnections: c.most}}); (newErr == nil) != (err == nil) {
			t.Errorf("%+v: New gives %v", c, newErr)
		}
	}
}
