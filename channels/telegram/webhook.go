package telegram

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-telegram/bot"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/pause"
	"parley/problems"
)

// Webhook describes where Telegram brings updates to, instead of being asked for
// them. The zero Webhook is none: the channel polls.
type Webhook struct {
	// URL is where Telegram reaches the listener: https://host[:port][/path],
	// on one of the ports 443, 80, 88 and 8443. A path of the account's own,
	// /telegram/…, is put behind it and must arrive as it is. A Bot API server
	// of one's own may use http and any port.
	URL string `yaml:"url"`
	// MaxConnections is how many updates Telegram brings at the same time, 1
	// to 100. Default 1, with which they come one after another. With more,
	// chats do not wait for each other; within a chat Telegram promises no
	// order then, though the adapter still takes one at a time.
	MaxConnections int `yaml:"max_connections"`
}

var (
	errHookAddress = problems.At("url", "the public address is https://host[:port][/path], without a password, a query or a fragment")
	errHookPlain   = problems.At("url", "Telegram brings updates by https only; http is for a Bot API server of your own (api_url)")
	errHookPort    = problems.At("url", "Telegram brings updates to the ports 443, 80, 88 and 8443 only")
	errHookMissing = problems.At("url", "%w: the public address to which Telegram brings updates", problems.ErrRequired)
)

// Validate says everything that cannot work, joined. apiURL is that of the
// account; empty is Telegram's own.
func (w Webhook) Validate(apiURL string) error {
	if w == (Webhook{}) {
		return nil
	}
	var ps problems.List
	u, err := url.Parse(w.URL)
	switch {
	case w.URL == "":
		ps.Check("", errHookMissing)
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		ps.Check("", errHookAddress) // err would quote the address, and with it a password
	case apiURL != "" && strings.TrimRight(apiURL, "/") != publicAPI: // its own rules
	case u.Scheme != "https":
		ps.Check("", errHookPlain)
	case !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
		ps.Check("", errHookPort)
	}
	if w.MaxConnections < 0 || w.MaxConnections > 100 {
		ps.Add("max_connections", "%d is not 1 to 100", w.MaxConnections)
	}
	return ps.Err()
}

// derive makes a word from the token that shows nothing of it. Every process
// that knows the token makes the same one, so that several may stand behind one
// address, and a restart refuses nothing that is on its way.
func derive(token channels.Secret, what string) string {
	h := hmac.New(sha256.New, []byte(token.Reveal()))
	h.Write([]byte("parley webhook " + what))
	return hex.EncodeToString(h.Sum(nil))
}

// takeRequests has Telegram bring updates until ctx ends. The webhook stays set
// then: what comes while no process runs is kept by Telegram and brought to the
// next one.
func (r *receiver) takeRequests(ctx context.Context) error {
	r.hook.gate.Open(ctx, r)
	defer r.hook.gate.Close()
	if err := r.RetryUntilFatal(ctx, r.setWebhook); err != nil {
		return err
	}
	w := &webhookMonitor{receiver: r, seen: r.o.Now().Unix()}
	for pause.For(ctx, r.o.WebhookCheck) == nil {
		if err := r.RetryUntilFatal(ctx, w.check); err != nil {
			return err
		}
	}
	return nil
}

func (r *receiver) setWebhook(ctx context.Context) error {
	_, err := r.callLibrary(ctx, "setWebhook", func(ctx context.Context) error {
		_, err := r.bot.SetWebhook(ctx, &bot.SetWebhookParams{
			URL: r.hook.url, SecretToken: r.hook.secret.Reveal(), MaxConnections: r.o.Webhook.MaxConnections, AllowedUpdates: allowed[:],
		})
		return err
	})
	if err != nil {
		return err
	}
	r.MarkConnected()
	r.o.Log.Info("telegram delivers updates to the webhook", "url", r.o.Webhook.URL, "max_connections", r.o.Webhook.MaxConnections)
	return nil
}

// webhookMonitor looks now and then how Telegram fares with the webhook, since a request
// that never arrives shows only there.
type webhookMonitor struct {
	*receiver
	seen int64 // when Telegram's last error that is known was, Unix time
}

func (w *webhookMonitor) check(ctx context.Context) error {
	w.hook.sequencer.sweep(w.o.Now())
	if n := w.hook.strangers.Swap(0); n > 0 {
		w.o.Log.Warn("webhook requests without the secret refused", "requests", n)
	}
	result, err := w.callLibrary(ctx, "getWebhookInfo", func(ctx context.Context) error {
		_, err := w.bot.GetWebhookInfo(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var info struct {
		URL       string `json:"url"`
		Pending   int    `json:"pending_update_count"`
		ErrorDate int64  `json:"last_error_date"`
		Error     string `json:"last_error_message"`
	}
	if err := json.Unmarshal(result, &info); err != nil {
		return fmt.Errorf("getWebhookInfo: read the answer: %w", err)
	}
	if info.URL != w.hook.url {
		w.MarkDisconnected()
		w.o.Log.Error("webhook of this telegram account removed or replaced by another program; only one may receive, stop the other")
		return w.setWebhook(ctx)
	}
	failing := info.ErrorDate > w.seen
	w.seen = max(w.seen, info.ErrorDate)
	switch {
	case failing:
		w.o.Log.Warn("telegram failed to deliver an update to the webhook", "problem", markup.Brief(info.Error), "pending", info.Pending)
	case info.Pending > 0:
		w.o.Log.Debug("updates pending at telegram", "pending", info.Pending)
	}
	if failing && info.Pending > 0 {
		w.MarkDisconnected()
	} else {
		w.MarkConnected()
	}
	return nil
}
