package telegram

import (
	"context"
	"encoding/json"
	"errors"

	"parley/channels"
	"parley/findings"
)

var _ channels.Examiner = (*Channel)(nil)

// Kinds of findings.
var (
	kindAccount = findings.Kind{
		ID: "telegram.account", Severity: findings.Fine,
		Meaning: "Telegram takes the token, and says which bot it is.",
	}
	kindToken = findings.Kind{
		ID: "telegram.token", Severity: findings.Problem,
		Meaning: "Telegram does not know the token: it was revoked, or mistyped. The bot receives nothing.",
		Fix:     "Ask @BotFather for the token (/token, or /revoke for a new one), put it where the configuration reads it, and restart.",
	}
	kindUnreachable = findings.Kind{
		ID: "telegram.unreachable", Severity: findings.Problem,
		Meaning: "The Bot API does not answer from this machine, or something in between answers in its place.",
		Fix:     "Look at the network, at proxy, HTTPS_PROXY and NO_PROXY, and at api_url if the configuration has one.",
	}
	kindPrivacy = findings.Kind{
		ID: "telegram.privacy", Severity: findings.Warning,
		Meaning: "The bot is to answer in groups, and privacy mode is on: Telegram brings it only commands, mentions and answers to it, and of an album one picture.",
		Fix:     "Turn privacy mode off in @BotFather (/setprivacy), then remove the bot from each group and add it again; or make it an administrator there.",
	}
)

// Kinds returns what [Channel.Examine] may find.
func Kinds() []findings.Kind {
	return []findings.Kind{kindAccount, kindToken, kindUnreachable, kindPrivacy}
}

// Examine asks Telegram who the bot is.
func (c *Channel) Examine(ctx context.Context) []findings.Finding {
	name := c.o.Name
	ctx, cancel := context.WithTimeout(ctx, c.o.SendTimeout)
	defer cancel()
	result, _, err := c.call(ctx, "getMe", nil)
	var me self
	if err == nil && (json.Unmarshal(result, &me) != nil || me.ID == 0) {
		return []findings.Finding{kindUnreachable.At(name, "what answers getMe names no account")}
	}
	if e, ok := errors.AsType[*channels.Error](err); ok && e.Kind == channels.Unauthorized {
		return []findings.Finding{kindToken.At(name, "%v", err)}
	}
	if err != nil {
		return []findings.Finding{kindUnreachable.At(name, "%v", err)}
	}
	found := []findings.Finding{kindAccount.At(name, "@%s, bot %d", me.Username, me.ID)}
	if c.o.Groups && !me.ReadsAll {
		found = append(found, kindPrivacy.At(name, "getMe: can_read_all_group_messages is false"))
	}
	return found
}
