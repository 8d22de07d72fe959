package sqlite

import (
	"parley/sessions"
	"parley/sessions/rules"
)

const keyOfEvent = 4 // columns

var (
	selectEvent = "SELECT " + from(rules.EventColumns, keyOfEvent) + " FROM inbox WHERE channel = ? AND account = ? AND chat = ? AND event = ?"
	insertEvent = insertOf("inbox", rules.EventColumns)
)

func loadEvent(s source, k rules.EventKey) (e rules.Event, found bool, err error) {
	e.ID = sessions.InboxID(k)
	at := e.Places()
	found, err = s.queryRow(selectEvent, at[:keyOfEvent], at[keyOfEvent:]...)
	return e, found, err
}

func (t *tx) insertEvent(e rules.Event) error {
	return rules.While(t.exec(insertEvent, e.Places()...), "note the event")
}

func loadTextHash(s source, k rules.TextHashKey) (w rules.TextHash, found bool, err error) {
	w.TextHash = sessions.TextHash(k)
	found, err = s.queryRow("SELECT sum FROM wordings WHERE channel = ? AND account = ? AND chat = ? AND message = ?",
		args(k.Channel, k.Account, k.Chat, k.Message), &w.Sum)
	return w, found, err
}

func (t *tx) putTextHash(w rules.TextHash) error {
	err := t.exec(`INSERT INTO wordings (channel, account, chat, message, sum) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET sum = excluded.sum`, w.Channel, w.Account, w.Chat, w.Message, w.Sum)
	return rules.While(err, "note what a message says")
}
