package sqlite

import (
	"slices"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// queue is which answers are not done, by their chats. It is read when somebody asks for the
// first time: answers of every chat wait in one table, and every turn that ends asks for its own.
type queue struct {
	known  bool
	chats  map[string]sessions.ChatID   // by answer
	queued map[sessions.ChatID][]string // in the order in which they were queued
}

func (q *queue) add(answer string, chat sessions.ChatID) {
	if !q.known {
		return
	}
	q.chats[answer] = chat
	q.queued[chat] = append(q.queued[chat], answer)
}

func (q *queue) remove(answer string) {
	chat, ok := q.chats[answer]
	if !ok {
		return
	}
	delete(q.chats, answer)
	left := slices.DeleteFunc(q.queued[chat], func(other string) bool { return other == answer })
	if len(left) == 0 {
		delete(q.queued, chat)
		return
	}
	q.queued[chat] = left
}

// age implements [forgetful]: what waits has to be known whole.
func (*queue) age() {}

func (q *queue) forget() { *q = queue{} }

// queuedFor lists the answers for a chat that are not done, in the order in which they were
// queued. What was put of them is stored already: nothing is to be flushed before.
func (t *tx) queuedFor(chat sessions.ChatID, limit int) ([]rules.Key, error) {
	if !t.queue.known {
		q := queue{known: true, chats: map[string]sessions.ChatID{}, queued: map[sessions.ChatID][]string{}}
		// By itself SQLite reads all that were ever sent, since they stand in that order.
		err := t.queryRows("SELECT id, target FROM outbox INDEXED BY outbox_pending WHERE done = 0 ORDER BY no", nil, func(r scanner) error {
			var id string
			var to sessionkeys.Address
			if err := r.Scan(&id, &to); err != nil {
				return err
			}
			q.add(id, chatOf(to))
			return nil
		})
		if err != nil {
			return nil, err
		}
		t.queue = q
	}
	queued := t.queue.queued[chat]
	if limit > 0 && len(queued) > limit {
		queued = queued[:limit]
	}
	keys := make([]rules.Key, len(queued))
	for i, id := range queued {
		keys[i] = rules.AnswerKey(id)
	}
	return keys, nil
}
