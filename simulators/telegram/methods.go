package telegram

import "context"

type namedMethod struct {
	name string
	run  method
}

// methods is the table of what bots may call, by lower-case name: the real
// server ignores case.
func methods() map[string]namedMethod {
	table := map[string]namedMethod{}
	for name, run := range map[string]method{
		"getMe":               (*Server).getMe,
		"getUpdates":          (*Server).getUpdates,
		"setWebhook":          (*Server).setWebhook,
		"deleteWebhook":       (*Server).deleteWebhook,
		"getWebhookInfo":      (*Server).getWebhookInfo,
		"sendMessage":         (*Server).sendMessage,
		"sendDocument":        (*Server).sendDocument,
		"sendPhoto":           (*Server).sendPhoto,
		"editMessageText":     (*Server).editMessageText,
		"deleteMessage":       (*Server).deleteMessage,
		"sendChatAction":      (*Server).sendChatAction,
		"setMessageReaction":  (*Server).setMessageReaction,
		"answerCallbackQuery": (*Server).answerCallbackQuery,
		"getFile":             (*Server).getFile,
		"setMyCommands":       (*Server).setMyCommands,
		"getMyCommands":       (*Server).getMyCommands,
	} {
		table[fold(name)] = namedMethod{name: name, run: run}
	}
	return table
}

func (s *Server) getMe(_ context.Context, c *call) (any, *refusal) {
	return c.account.bot.self(), nil
}
