package telegram

// methods is the table of what bots may call. Each runs under the lock; a rule that
// refuses the call panics with a *refusal, as [stage.Refused] has it.
var methods = map[string]func(*call) any{
	"getMe":                    (*call).getMe,
	"getUpdates":               (*call).getUpdates,
	"setWebhook":               (*call).setWebhook,
	"deleteWebhook":            (*call).deleteWebhook,
	"getWebhookInfo":           (*call).getWebhookInfo,
	"sendMessage":              (*call).sendMessage,
	"sendDocument":             (*call).sendDocument,
	"sendPhoto":                (*call).sendPhoto,
	"editMessageText":          (*call).editMessageText,
	"editEphemeralMessageText": (*call).editEphemeralMessageText,
	"deleteMessage":            (*call).deleteMessage,
	"sendChatAction":           (*call).sendChatAction,
	"setMessageReaction":       (*call).setMessageReaction,
	"answerCallbackQuery":      (*call).answerCallbackQuery,
	"getFile":                  (*call).getFile,
	"setMyCommands":            (*call).setMyCommands,
	"getMyCommands":            (*call).getMyCommands,
}

func (c *call) getMe() any { return c.account.bot.self() }
