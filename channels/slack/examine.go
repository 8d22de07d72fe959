package slack

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"parley/channels"
	"parley/channels/internal/exchange"
	"parley/findings"
)

var _ channels.Examiner = (*Channel)(nil)

// Kinds of findings.
var (
	kindAccount = findings.Kind{
		ID: "slack.account", Severity: findings.Fine,
		Meaning: "Slack takes the token of the bot, and says which bot and workspace it is.",
	}
	kindToken = findings.Kind{
		ID: "slack.token", Severity: findings.Problem,
		Meaning: "Slack refuses bot_token: it was revoked, is of an app that was removed, or was mistyped. The bot receives nothing.",
		Fix:     "Install the app in the workspace again and take the token, xoxb-…, from the page \"OAuth & Permissions\" of the app.",
	}
	kindUnreachable = findings.Kind{
		ID: "slack.unreachable", Severity: findings.Problem,
		Meaning: "Slack does not answer from this machine, or something in between answers in its place.",
		Fix:     "Look at the network, at proxy, HTTPS_PROXY and NO_PROXY, and at api_url if the configuration has one.",
	}
	kindScopes = findings.Kind{
		ID: "slack.scopes", Severity: findings.Problem,
		Meaning: "The app was installed without scopes that parley uses as it is configured, so some messages do not come or cannot be sent.",
		Fix:     "Put the manifest that parley slack manifest prints in the place of the app's (App Manifest), and install the app again: scopes hold from then on.",
	}
	kindScopesFine = findings.Kind{
		ID: "slack.permitted", Severity: findings.Fine,
		Meaning: "The app has all the scopes that parley uses as it is configured.",
	}
	kindAppToken = findings.Kind{
		ID: "slack.app_token", Severity: findings.Problem,
		Meaning: "Slack opens no WebSocket for app_token: the token is refused, lacks the scope connections:write, or Socket Mode is off. The bot receives nothing.",
		Fix:     "Switch Socket Mode on in the app, and make an app-level token, xapp-…, with the scope connections:write on its page \"Basic Information\".",
	}
	kindSocket = findings.Kind{
		ID: "slack.socket", Severity: findings.Fine,
		Meaning: "Slack would open a WebSocket for app_token. None was opened.",
	}
)

// Kinds returns what [Channel.Examine] may find.
func Kinds() []findings.Kind {
	return []findings.Kind{kindAccount, kindToken, kindUnreachable, kindScopes, kindScopesFine, kindAppToken, kindSocket}
}

// Examine asks Slack who the bot is, what the app may do, and whether it opens a WebSocket.
func (c *Channel) Examine(ctx context.Context) []findings.Finding {
	name := c.o.Name
	me, header, err := c.examineIdentity(ctx)
	if err != nil {
		return []findings.Finding{refusedOr(err, kindToken).At(name, "%v", err)}
	}
	found := []findings.Finding{kindAccount.At(name, "@%s in %s", me.User, me.Team), c.examineScopes(header)}
	if c.hook != nil {
		return found
	}
	if err := c.ask(ctx, openMethod, nil, nil); err != nil {
		return append(found, refusedOr(err, kindAppToken).At(name, "%v", err))
	}
	return append(found, kindSocket.At(name, "%s gave an address", openMethod))
}

// refusedOr returns refused where Slack refused a call, and else that it cannot be reached.
func refusedOr(err error, refused findings.Kind) findings.Kind {
	e, ok := errors.AsType[*channels.Error](err)
	if ok && e.Status == http.StatusOK && (e.Kind == channels.Unauthorized || e.Kind == channels.Refused) || ok && e.Status == http.StatusUnauthorized {
		return refused
	}
	return kindUnreachable
}

func (c *Channel) examineIdentity(ctx context.Context) (me self, header http.Header, err error) {
	err = c.ask(ctx, "auth.test", &me, &header)
	if err == nil && me.UserID == "" {
		err = &channels.Error{Kind: channels.Unsent, Op: "auth.test", Message: "the answer names no bot"}
	}
	return me, header, err
}

// examineScopes holds the scopes of the token, which Slack says with each answer, to those that the
// manifest asks for.
func (c *Channel) examineScopes(header http.Header) findings.Finding {
	var has, missing []string
	for scope := range strings.SplitSeq(header.Get("X-OAuth-Scopes"), ",") {
		has = append(has, strings.TrimSpace(scope))
	}
	for _, scope := range scopesOf(ManifestOptions{View: c.o.View, Reacts: c.o.Reactions.Any()}) {
		if !slices.Contains(has, scope) {
			missing = append(missing, scope)
		}
	}
	if len(missing) > 0 {
		return kindScopes.At(c.o.Name, "missing: %s", strings.Join(missing, ", "))
	}
	return kindScopesFine.At(c.o.Name, "%d scopes", len(has))
}

// ask makes a call without arguments, beside all that the library does, and reads its answer.
func (c *Channel) ask(ctx context.Context, method string, into any, header *http.Header) error {
	_, err := exchange.Call(ctx, c.o.SendTimeout, method, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.APIURL+method, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}, func(ctx context.Context, op string, x *exchange.Exchange) (json.RawMessage, error) {
		result, err := resultOf(ctx, op, x)
		if err == nil && into != nil && json.Unmarshal(result, into) != nil {
			err = &channels.Error{Kind: channels.Unsent, Op: op, Message: "the answer cannot be read"}
		}
		if header != nil {
			*header = x.Header
		}
		return result, err
	})
	return err
}
