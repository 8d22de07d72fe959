package telegram_test

import (
	"strconv"
	"time"

	"parley/channels"
	"parley/channels/telegram"
	"parley/sessionkeys"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// to is a reply to a chat.
func to(chat int64, thread, text string) channels.Reply {
	kind := sessionkeys.Group
	if chat > 0 {
		kind = sessionkeys.DM
	}
	return channels.Reply{
		To:   sessionkeys.Address{Channel: "telegram", Account: "42", Kind: kind, Peer: decimal(chat), Thread: thread},
		Body: channels.Body{Text: text},
	}
}

// sendDelay returns how long an answer in a chat has to wait.
func sendDelay(ch *telegram.Channel, to sessionkeys.Address) time.Duration {
	wait, release := ch.Book(to)
	release()
	return wait
}
