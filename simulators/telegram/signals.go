package telegram

import (
	"context"
	"slices"
)

var chatActions = []string{
	"typing", "upload_photo", "record_video", "upload_video", "record_voice", "upload_voice",
	"upload_document", "choose_sticker", "find_location", "record_video_note", "upload_video_note",
}

// signal books and shows something that is not a message. The caller holds
// the lock.
func (s *Server) signal(e SignalEntry) {
	e.At = s.opts.Now()
	s.books.signals.Add(e)
	s.show(Happening{
		Kind: e.Kind, Bot: e.Bot, ChatID: e.ChatID, ThreadID: e.ThreadID, Text: e.Text, At: e.At,
	})
	s.books.Notify()
}

func (s *Server) sendChatAction(_ context.Context, c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c)
	if refused != nil {
		return nil, refused
	}
	if !slices.Contains(chatActions, c.args["action"]) {
		return nil, badRequest("wrong parameter action in request")
	}
	thread, refused := topicOf(r, c.account, c, true)
	if refused != nil {
		return nil, refused
	}
	if refused := s.checkRate(c, 0, r.chat.Kind); refused != nil {
		return nil, refused
	}
	s.signal(SignalEntry{
		Bot: c.account.bot.Username, Kind: "action", ChatID: r.chat.ID, ThreadID: thread, Text: c.args["action"],
	})
	return true, nil
}

func (s *Server) answerCallbackQuery(_ context.Context, c *call) (any, *refusal) {
	if utf16Len(c.args["text"]) > 200 {
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := c.args["callback_query_id"]
	if !s.queries[id] {
		return nil, badRequest(textOldQuery)
	}
	s.signal(SignalEntry{
		Bot: c.account.bot.Username, Kind: "callback_answer", ID: id,
		Text: c.args["text"], Alert: c.args.bool("show_alert"),
	})
	return true, nil
}
