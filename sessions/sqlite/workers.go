package sqlite

import (
	"fmt"

	"parley/sessions"
	"parley/sessions/rules"
)

func loadWorker(s source, w sessions.Worker) (row rules.Worker, found bool, err error) {
	row.ID = w
	found, err = s.queryRow("SELECT until, gone FROM workers WHERE name = ? AND nonce = ?", args(w.Name, w.Nonce), &row.Until, &row.Gone)
	return row, found, err
}

func (t *tx) storeWorkers(rows []*cachedRow[rules.Worker]) error {
	for _, e := range rows {
		w := e.now
		err := t.exec(`INSERT INTO workers (name, nonce, until, gone) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET until = excluded.until, gone = excluded.gone`, w.ID.Name, w.ID.Nonce, w.Until, w.Gone)
		if err != nil {
			return fmt.Errorf("write worker %s: %w", w.ID.Name, err)
		}
	}
	return nil
}
