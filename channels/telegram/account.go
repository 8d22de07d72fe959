package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"parley/channels"
)

// Command is one of those that Telegram suggests to whoever types a slash.
type Command struct{ Name, Does string }

// self is what getMe says of the account.
type self struct {
	ID        int64  `json:"id"`
	Username  string `json:"username"`
	HasTopics bool   `json:"has_topics_enabled"`
	ReadsAll  bool   `json:"can_read_all_group_messages"`
}

func (r *receiver) identify(ctx context.Context) error {
	result, err := r.callLibrary(ctx, "getMe", func(ctx context.Context) error {
		_, err := r.bot.GetMe(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(result, &r.me); err != nil || r.me.ID == 0 {
		return fmt.Errorf("getMe: the answer names no account: %w", err)
	}
	return nil
}

// identity returns who the bot is, for the log.
func (r *receiver) identity() []any { return []any{"as", "@" + r.me.Username, "bot", r.me.ID} }

// privacyNote says what a bot with privacy mode does not get. Telegram Bot API,
// "Privacy mode".
const privacyNote = "privacy mode is on: in groups Telegram brings the bot only commands, mentions and answers to it, and of an album one picture; " +
	"turn it off in @BotFather (/setprivacy), then remove the bot from each group and add it again, or make it an administrator"

// warnPrivacyMode warns when the bot is to answer in groups and does not get all that is
// said there.
func (r *receiver) warnPrivacyMode() {
	note := ""
	if r.o.Groups && !r.me.ReadsAll {
		note = privacyNote
		r.o.Log.Warn("telegram bot does not see all messages of groups", "problem", note)
	}
	if n, ok := r.o.Observer.(channels.NoteTaker); ok {
		n.Note(r.o.Name, note)
	}
}

// commandScopes are where commands are suggested.
func commandScopes() map[string]models.BotCommandScope {
	return map[string]models.BotCommandScope{
		"direct messages": &models.BotCommandScopeAllPrivateChats{},
		"groups":          &models.BotCommandScopeAllGroupChats{},
	}
}

// suggestCommands has Telegram suggest the commands, in the one language that they
// are in. It is courtesy: a failure is logged, and the next start tries again. What
// Telegram has already is not set again, since that is limited too.
func (r *receiver) suggestCommands(ctx context.Context) {
	want := make([]models.BotCommand, len(r.o.Commands))
	for i, c := range r.o.Commands {
		want[i] = models.BotCommand{Command: c.Name, Description: c.Does}
	}
	if len(want) == 0 {
		return
	}
	for where, scope := range commandScopes() {
		if err := r.suggestCommandsIn(ctx, scope, want); err != nil && ctx.Err() == nil {
			r.o.Log.Warn("telegram refused the command menu", "scope", where, "error", err)
		}
	}
}

func (r *receiver) suggestCommandsIn(ctx context.Context, scope models.BotCommandScope, want []models.BotCommand) error {
	result, err := r.callLibrary(ctx, "getMyCommands", func(ctx context.Context) error {
		_, err := r.bot.GetMyCommands(ctx, &bot.GetMyCommandsParams{Scope: scope})
		return err
	})
	if err != nil {
		return err
	}
	var has []models.BotCommand
	if json.Unmarshal(result, &has) == nil && slices.Equal(has, want) {
		return nil
	}
	_, err = r.callLibrary(ctx, "setMyCommands", func(ctx context.Context) error {
		_, err := r.bot.SetMyCommands(ctx, &bot.SetMyCommandsParams{Commands: want, Scope: scope})
		return err
	})
	return err
}
