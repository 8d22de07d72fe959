package try

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/telegram"
)

// telegramNetwork is the scene in Telegram.
type telegramNetwork struct{ *telegram.Server }

func newTelegram(Options) (network, error) {
	s, err := telegram.New(telegram.Options{
		Bots: []telegram.Bot{{
			Token: telegramToken, Username: botUsername, Name: botName,
			// Privacy mode is off, so that the mention rule is parley's own.
			CanReadAllGroupMessages: true,
		}},
		// Kept state knows the updates of earlier runs: these are later ones.
		FirstUpdateID: time.Now().UnixMilli(),
	})
	if err != nil {
		return nil, fmt.Errorf("make the chat server: %w", err)
	}
	return telegramNetwork{s}, nil
}

const telegramToken = "4200000001:AAtryAAtryAAtryAAtryAAtryAAtryAAtry"

func (n telegramNetwork) config(string) settings.ChannelsConfig {
	return settings.ChannelsConfig{Telegram: map[string]settings.TelegramConfig{
		"telegram": {Common: settings.Common{Access: policy.Access{Everyone: true, Approvers: []string{strconv.FormatInt(people["ann"].number, 10)}}}, Token: settings.NewSecret(telegramToken), APIURL: n.URL()},
	}}
}

func (n telegramNetwork) say(who string, inGroup bool, text string, file *enclosure) (sentLine, error) {
	p := people[who]
	from := telegram.Person{ID: p.number, FirstName: p.name, Username: p.handle}
	chat := telegram.PrivateChat(from)
	if inGroup {
		chat = telegram.Chat{ID: -2001, Kind: telegram.Group, Title: groupTitle}
	}
	o := telegram.SayOptions{}
	if file != nil {
		o.Media, o.File, o.FileName, o.MIME = "photo", file.data, file.name, file.mime
		if file.voice {
			o.Media = "voice"
		}
	}
	told, err := n.Say(chat, from, text, o)
	if err != nil {
		return sentLine{}, fmt.Errorf("write into the chat: %w", err)
	}
	return sentLine{chat: strconv.FormatInt(chat.ID, 10), awaitTaken: func(ctx context.Context) error {
		return ignore(n.Await(ctx, func(b telegram.Book) bool {
			for _, u := range b.Updates {
				for _, r := range told.Updates {
					if u.UpdateID == r.UpdateID && u.Confirmed.IsZero() {
						return false
					}
				}
			}
			return true
		}))
	}}, nil
}

func (telegramNetwork) leaveThread() {}

func (n telegramNetwork) converse(ctx context.Context, c *conversation, typed <-chan string) error {
	return converse(ctx, c, typed, n.Watch, fromTelegram)
}

// fromTelegram returns what people see of something that happens, if it is a message.
func fromTelegram(h telegram.Happening) (shownMessage, bool) {
	s := shownMessage{
		chat: strconv.FormatInt(h.ChatID, 10), id: strconv.FormatInt(h.MessageID, 10), text: h.Text, edited: h.Kind == "edited",
	}
	return s, h.Kind == "sent" || h.Kind == "edited"
}
