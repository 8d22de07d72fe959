package telegram_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	sim "parley/simulators/telegram"
)

func TestAnUnmodifiedClientLibraryPollsSendsAndEdits(t *testing.T) {
	t.Parallel()
	p := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg, handled sync.WaitGroup
	handled.Add(3)
	b, err := bot.New(token, bot.WithServerURL(p.URL()), bot.WithHTTPClient(5e9, p.client), bot.WithNotAsyncHandlers(),
		bot.WithDefaultHandler(func(ctx context.Context, b *bot.Bot, u *models.Update) {
			defer handled.Done()
			m, err := b.SendMessage(ctx, &bot.SendMessageParams{
				ChatID: u.Message.Chat.ID, Text: "thinking",
				ReplyParameters: &models.ReplyParameters{MessageID: u.Message.ID},
				Entities:        []models.MessageEntity{{Type: models.MessageEntityTypeBold, Offset: 0, Length: 5}},
				ReplyMarkup:     &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Stop", CallbackData: "stop"}}}},
			})
			if err != nil {
				t.Errorf("send: %v", err)
				return
			}
			if _, err := b.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: m.Chat.ID, MessageID: m.ID, Text: "echo " + u.Message.Text}); err != nil {
				t.Errorf("edit: %v", err)
			}
			if _, err := b.SendChatAction(ctx, &bot.SendChatActionParams{ChatID: m.Chat.ID, Action: models.ChatActionTyping}); err != nil {
				t.Errorf("typing: %v", err)
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	wg.Go(func() { b.Start(ctx) })
	defer func() { cancel(); wg.Wait() }()

	for _, text := range []string{"one", "two", "three"} {
		p.say(sim.PrivateChat(ann), ann, text)
	}
	book, err := p.Await(soon(t), func(b sim.Book) bool { return len(b.Signals) == 3 && b.Pending["parley_bot"] == 0 })
	if err != nil {
		t.Fatalf("%v; %+v", err, book.Totals)
	}
	handled.Wait()
	for i, want := range []string{"echo one", "echo two", "echo three"} {
		m := book.Messages[i]
		if m.Text() != want || m.Versions[0].Text != "thinking" || len(m.Versions[0].Entities) != 1 || m.ReplyTo == 0 {
			t.Errorf("message %d: %+v", i, m)
		}
	}
}

func TestTheClientLibraryUnderstandsRefusals(t *testing.T) {
	t.Parallel()
	p := start(t)
	b, err := bot.New(token, bot.WithServerURL(p.URL()), bot.WithHTTPClient(5e9, p.client))
	if err != nil {
		t.Fatal(err)
	}
	p.say(team, ann, "/start")
	grown, _, err := p.Migrate(team, ann)
	if err != nil {
		t.Fatal(err)
	}
	send := func() error {
		_, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: team.ID, Text: "x"})
		return err
	}
	var moved *bot.MigrateError
	if err := send(); !errors.As(err, &moved) || int64(moved.MigrateToChatID) != grown.ID {
		t.Errorf("send to the old group: %v", err)
	}
	if err := p.Plan(sim.Fault{Trouble: sim.TooManyRequests, RetryAfter: 3, Next: 1}); err != nil {
		t.Fatal(err)
	}
	var slow *bot.TooManyRequestsError
	if err := send(); !errors.As(err, &slow) || slow.RetryAfter != 3 {
		t.Errorf("send under 429: %v", err)
	}
}
