package sqlite

import (
	"slices"

	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// owed chooses among mailboxes those that are owed work.
const owed = "(touched > read OR turn <> '' OR controls > 0)"

// indexQuery returns the query of an index, its arguments, and what each of its rows names.
// No query has a variable limit: SQLite would plan it anew each time.
func indexQuery(ix rules.Index) (query string, a []any, key func(scanner) (rules.Key, error)) {
	switch ix := ix.(type) {
	case rules.OpenCalls:
		if ix.Turn == "" {
			return "SELECT id FROM reservations WHERE state = 'open' AND token = ?", args(ix.Token), keyNamed[rules.CallKey]
		}
		return "SELECT id FROM reservations WHERE state = 'open' AND token = ? AND turn = ?", args(ix.Token, ix.Turn), keyNamed[rules.CallKey]
	case rules.NestedTurns:
		return "SELECT id FROM turns WHERE token = ? AND nested = 1 AND state = 'open' ORDER BY id", args(ix.Token), keyNamed[rules.TurnKey]
	case rules.FreeMailboxes:
		if ix.Latest {
			return "SELECT token FROM mailboxes WHERE hot AND owner_nonce = '' ORDER BY waiting DESC", nil, keyNamed[rules.MailboxKey]
		}
		return "SELECT token FROM mailboxes WHERE hot AND owner_nonce = '' ORDER BY waiting", nil, keyNamed[rules.MailboxKey]
	case rules.OwedMailboxes:
		return "SELECT token FROM mailboxes WHERE hot AND owner_nonce > '' AND owner_nonce = ? AND owner_name = ? AND " + owed + " ORDER BY waiting",
			args(ix.Owner.Nonce, ix.Owner.Name), keyNamed[rules.MailboxKey]
	case rules.OwnedMailboxes:
		return "SELECT token FROM mailboxes WHERE hot AND owner_nonce > '' AND owner_nonce = ? AND owner_name = ? ORDER BY token",
			args(ix.Owner.Nonce, ix.Owner.Name), keyNamed[rules.MailboxKey]
	case rules.AllMailboxes:
		return "SELECT token FROM mailboxes WHERE token > ? ORDER BY token", args(ix.After), keyNamed[rules.MailboxKey]
	case rules.Owners:
		return "SELECT DISTINCT owner_name, owner_nonce FROM mailboxes WHERE hot AND owner_nonce > '' AND " + owed, nil, workerKeyNamed
	case rules.WorkersNamed:
		return "SELECT name, nonce FROM workers WHERE name = ? AND gone = 0", args(ix.Name), workerKeyNamed
	case rules.ChatMailboxes:
		return "SELECT token, key FROM mailboxes WHERE hot ORDER BY token", nil, func(r scanner) (rules.Key, error) {
			var token rules.MailboxKey
			var key sessionkeys.Key
			if err := r.Scan(&token, &key); err != nil || !slices.Contains(ix.Chats, chatOf(key.Address())) {
				return nil, err
			}
			return token, nil
		}
	case rules.PendingControls:
		return "SELECT id FROM controls WHERE token = ? AND done = 0 ORDER BY no", args(ix.Token), keyNamed[rules.ControlKey]
	case rules.CloseControls:
		event := sessions.InboxID{Channel: ix.Chat.Channel, Account: ix.Chat.Account, Chat: ix.Chat.Peer}
		return "SELECT id FROM controls WHERE done = 0 AND kind = ? AND event = ? ORDER BY token", args(sessions.KindShut, event), keyNamed[rules.ControlKey]
	case rules.QueuedAnswers:
		return "SELECT id, target FROM outbox WHERE done = 0 ORDER BY no", nil, func(r scanner) (rules.Key, error) {
			var id rules.AnswerKey
			var to sessionkeys.Address
			if err := r.Scan(&id, &to); err != nil || !slices.Contains(ix.Chats, chatOf(to)) {
				return nil, err
			}
			return id, nil
		}
	case rules.RecordsOf:
		return "SELECT key FROM records WHERE kind = ?1 AND key > ?2 AND key >= ?3 AND key < ?3 || char(1114111) ORDER BY key", // the last code point
			args(ix.Kind, ix.After, ix.Prefix), recordKey(ix.Kind)
	case rules.ChildrenOf:
		return "SELECT id FROM sessions WHERE parent = ? AND parent <> '' ORDER BY rowid", args(ix.Parent), keyNamed[rules.SessionKey]
	case rules.UnsentAnswers:
		return "SELECT id FROM outbox WHERE session = ? AND done = 0 ORDER BY no", args(ix.Session), keyNamed[rules.AnswerKey]
	case rules.ExpiredRecords:
		return "SELECT key FROM records WHERE kind = ? AND expires > 0 AND expires <= ? ORDER BY expires", args(ix.Kind, ix.At), recordKey(ix.Kind)
	}
	return "", nil, nil
}

// keyNamed returns the key that a row of one text names.
func keyNamed[K interface {
	~string
	rules.Key
}](r scanner) (rules.Key, error) {
	var id K
	err := r.Scan(&id)
	return id, err
}

func workerKeyNamed(r scanner) (rules.Key, error) {
	var w sessions.Worker
	err := r.Scan(&w.Name, &w.Nonce)
	return rules.WorkerKey(w), err
}

func chatOf(a sessionkeys.Address) sessions.ChatID {
	return sessions.ChatID{Channel: a.Channel, Account: a.Account, Peer: a.Peer}
}

// recordKey is a key that a row of one text names among the records of a kind.
func recordKey(kind string) func(scanner) (rules.Key, error) {
	return func(r scanner) (rules.Key, error) {
		k := rules.RecordKey{Kind: kind}
		err := r.Scan(&k.Key)
		return k, err
	}
}
