package telegram

import (
	"net/url"
	"regexp"
)

type wireWebhookInfo struct {
	URL                  string   `json:"url"`
	HasCustomCertificate bool     `json:"has_custom_certificate"`
	PendingUpdateCount   int      `json:"pending_update_count"`
	LastErrorDate        int64    `json:"last_error_date,omitempty"`
	LastErrorMessage     string   `json:"last_error_message,omitempty"`
	MaxConnections       int      `json:"max_connections,omitempty"`
	AllowedUpdates       []string `json:"allowed_updates,omitempty"`
}

var secretShape = regexp.MustCompile(`^[A-Za-z0-9_-]{0,256}$`)

// setWebhook stores where updates should go. Unlike the real server it takes
// plain HTTP, because the other end is on loopback too.
func (c *call) setWebhook() any {
	to := c.args["url"]
	u, err := url.Parse(to)
	switch {
	case err != nil || to != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == ""):
		panic(badRequest("bad webhook: invalid webhook URL specified"))
	case !secretShape.MatchString(c.args["secret_token"]):
		panic(badRequest("secret token contains unallowed characters"))
	}
	in := &c.account.inbox
	in.allow(c.args)
	if c.args.bool("drop_pending_updates") {
		c.confirm(c.account, in.next, true)
	}
	in.hook = newWebhook()
	if to != "" {
		in.endPoll(textSetWebhook)
		in.hook.url, in.hook.secret = to, c.args["secret_token"]
		in.hook.limit = int(min(c.args.number("max_connections"), 100))
		if in.hook.limit <= 0 {
			in.hook.limit = 40
		}
		in.wake()
	}
	return true
}

func (c *call) deleteWebhook() any {
	c.account.inbox.hook = newWebhook()
	if c.args.bool("drop_pending_updates") {
		c.confirm(c.account, c.account.inbox.next, true)
	}
	return true
}

func (c *call) getWebhookInfo() any {
	in := &c.account.inbox
	return wireWebhookInfo{
		URL: in.hook.url, PendingUpdateCount: len(in.waiting), LastErrorDate: in.hook.lastErrorDate,
		LastErrorMessage: in.hook.lastError, MaxConnections: in.hook.limit, AllowedUpdates: in.allowed,
	}
}
