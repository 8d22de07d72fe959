package telegram

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/channels"
	"parley/channels/internal/markup"
)

// Why a configuration is refused.
var (
	errToken   = errors.New("a token is digits, a colon, and letters, digits, - and _, as BotFather gave it: 123456:ABC-def")
	errAddress = errors.New("the address of a Bot API server is http(s)://host[:port][/path]")
)

// CheckToken reports whether t has the form of a bot's token. Whether Telegram
// knows it only Telegram can say.
func CheckToken(t channels.Secret) error {
	// What can stand in an address as it is.
	id, key, ok := strings.Cut(t.Reveal(), ":")
	plain := func(s, more string) bool {
		return s != "" && strings.Trim(s, "0123456789"+more) == ""
	}
	if !ok || !plain(id, "") || !plain(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_") {
		return errToken
	}
	return nil
}

// BotID returns the public part of a token, the bot's own id; empty for what is no
// token.
func BotID(t channels.Secret) string {
	if CheckToken(t) != nil {
		return ""
	}
	id, _, _ := strings.Cut(t.Reveal(), ":")
	return id
}

// CheckAPIURL reports whether s can be the address of a Bot API server; empty is
// Telegram's own.
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

// CheckPace reports whether the limits that Telegram publishes may be taken so many
// times.
func CheckPace(times int) error {
	if times < 1 || times > 1000 {
		return fmt.Errorf("%d is no pace: from 1 to 1000 times what Telegram allows every bot, and 1 unless it allows yours more", times)
	}
	return nil
}

// CheckPerson reports whether id can be a person's.
func CheckPerson(id string) error {
	n, err := strconv.ParseInt(id, 10, 64)
	switch {
	case err != nil || strconv.FormatInt(n, 10) != id:
		return fmt.Errorf("%q is no id of Telegram, which is a whole number such as 123456789", markup.Brief(id))
	case n < 0:
		return fmt.Errorf("%s is the id of a group; a person's is positive", id)
	case n == 0 || slices.Contains([]int64{anonymousAdmin, channelAuthor, serviceAccount}, n):
		return fmt.Errorf("%s is nobody's id: it stands where Telegram hides the person", id)
	}
	return nil
}

// CheckGroup reports whether id can be a group's.
func CheckGroup(id string) error {
	n, err := strconv.ParseInt(id, 10, 64)
	switch {
	case err != nil || strconv.FormatInt(n, 10) != id:
		return fmt.Errorf("%q is no id of Telegram; a group's is a whole number such as -1001234567890", markup.Brief(id))
	case n >= 0:
		return fmt.Errorf("%s is the id of a person; a group's is negative", id)
	}
	return nil
}
