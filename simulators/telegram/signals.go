package telegram

import "slices"

var chatActions = []string{
	"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice",
	"upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note",
}

// signal books and shows something that is not a message. The caller holds
// the lock.
func (w *world) signal(e SignalEntry) {
	e.At = w.opts.Now()
	w.books.signals.Add(e)
	w.show(Happening{
		Kind: e.Kind, Bot: e.Bot, ChatID: e.ChatID, ThreadID: e.ThreadID, Text: e.Text, At: e.At,
	})
	w.books.Notify()
}

func (c *call) sendChatAction() any {
	r := c.target()
	if !slices.Contains(chatActions, c.args["action"]) {
		panic(badRequest("wrong parameter action in request"))
	}
	thread := topicOf(r, c.account, c, true)
	c.checkRate(0, r.chat.Kind)
	c.signal(SignalEntry{
		Bot: c.account.bot.Username, Kind: "action", ChatID: r.chat.ID, ThreadID: thread, Text: c.args["action"],
	})
	return true
}

func (c *call) answerCallbackQuery() any {
	if utf16Len(c.args["text"]) > 200 {
		panic(badRequest("MESSAGE_TOO_LONG"))
	}
	id := c.args["callback_query_id"]
	if !c.queries[id] {
		panic(badRequest(textOldQuery))
	}
	c.signal(SignalEntry{
		Bot: c.account.bot.Username, Kind: "callback_answer", ID: id,
		Text: c.args["text"], Alert: c.args.bool("show_alert"),
	})
	return true
}
