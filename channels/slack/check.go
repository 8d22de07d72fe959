package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/problems"
)

// Why a configuration is refused.
var (
	errBotToken   = problems.At("bot_token", "the token of the bot begins with xoxb-; it is on the page \"OAuth & Permissions\" of the app")
	errNotBot     = problems.At("bot_token", "this is an app-level token (xapp-), which belongs to app_token; the token of the bot begins with xoxb-, and is on the page \"OAuth & Permissions\" of the app")
	errUser       = problems.At("bot_token", "this is the token of a person (xoxp-), as whom parley would write; the token of the bot begins with xoxb-, on the same page")
	errNoApp      = problems.At("app_token", "%w: mode socket needs an app-level token, which begins with xapp- and has the scope connections:write; it is made on the page \"Basic Information\" of the app", problems.ErrRequired)
	errUnlikeMode = problems.At("app_token", "%w: mode socket needs an app-level token, xapp-…; the signing_secret that is given here belongs to mode events", problems.ErrRequired)
	errAppToken   = problems.At("app_token", "an app-level token begins with xapp- and has the scope connections:write; it is made on the page \"Basic Information\" of the app")
	errNotApp     = problems.At("app_token", "this is the token of a bot or a person (xoxb-, xoxp-); an app-level token begins with xapp-, and is made on the page \"Basic Information\" of the app")
	errNoSecret   = problems.At("signing_secret", "%w: mode events needs the signing secret, from the page \"Basic Information\" of the app", problems.ErrRequired)
	errSecret     = problems.At("signing_secret", "this is none: it is 32 digits and letters a to f, on the page \"Basic Information\" of the app")
	errMode       = problems.At("mode", "neither socket nor events")
	errAddress    = errors.New("the address of a Slack API is http(s)://host[:port][/path]")

	botToken = regexp.MustCompile(`^xox[be]\.?[0-9A-Za-z.-]*-[0-9A-Za-z-]+$`)
	appToken = regexp.MustCompile(`^xapp-[0-9A-Za-z-]+$`)
	secret   = regexp.MustCompile(`^[0-9a-zA-Z]{8,128}$`)
	personID = regexp.MustCompile(`^([TE][0-9A-Z]{2,}/)?[UW][0-9A-Z]{2,}$`)
	groupID  = regexp.MustCompile(`^[CG][0-9A-Z]{2,}$`)
)

// CheckBotToken reports whether t has the form of a bot's token. Whether Slack
// knows it only Slack can say.
func CheckBotToken(t channels.Secret) error {
	switch s := t.Reveal(); {
	case strings.HasPrefix(s, "xapp-"):
		return errNotBot
	case strings.HasPrefix(s, "xoxp-"):
		return errUser
	case !botToken.MatchString(s):
		return errBotToken
	}
	return nil
}

// CheckMode reports whether what the mode needs is there. The zero mode is Socket.
// What another mode needs may be there, too.
func CheckMode(m Mode, app, signing channels.Secret) error {
	switch m {
	case Socket, "":
		return checkAppToken(app, signing)
	case Events:
		switch {
		case signing.IsZero():
			return errNoSecret
		case !secret.MatchString(signing.Reveal()):
			return errSecret
		}
		return nil
	}
	return errMode
}

func checkAppToken(app, signing channels.Secret) error {
	switch s := app.Reveal(); {
	case s == "" && !signing.IsZero():
		return errUnlikeMode
	case s == "":
		return errNoApp
	case strings.HasPrefix(s, "xox"):
		return errNotApp
	case !appToken.MatchString(s):
		return errAppToken
	}
	return nil
}

// CheckAPIURL reports whether s can be the address of a Slack API; empty is Slack's
// own.
func CheckAPIURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(strings.TrimRight(s, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errAddress // err would quote the address, and with it a password
	}
	return nil
}

// CheckPerson reports whether id can be a person's: U… or W… of the bot's own
// workspace or organisation, or with the team in front, T…/U…, of another.
func CheckPerson(id string) error {
	if !personID.MatchString(id) {
		return fmt.Errorf("%q is no id of a person in Slack, which is one such as U012AB3CD, or T012AB3CD/U012AB3CD for somebody of another workspace", markup.Brief(id))
	}
	return nil
}

// CheckGroup reports whether id can be a channel's.
func CheckGroup(id string) error {
	if !groupID.MatchString(id) {
		return fmt.Errorf("%q is no id of a channel in Slack, which is one such as C012AB3CD; it is at the end of the channel's details", markup.Brief(id))
	}
	return nil
}

// BotID returns a name for the bot behind a token that tells nothing of the token, by
// which processes agree on who receives for it.
func BotID(t channels.Secret) string {
	sum := sha256.Sum256([]byte("parley slack bot " + t.Reveal()))
	return hex.EncodeToString(sum[:16])
}
