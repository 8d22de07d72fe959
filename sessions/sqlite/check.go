package sqlite

import (
	"context"
	"fmt"
	"strings"
)

// checks are queries that yield a row for each thing that does not add up. The
// first is of histories.
var checks = []struct{ what, query string }{
	{"sessions whose history is cut or has gaps", `
		SELECT s.id FROM sessions AS s LEFT JOIN (SELECT session, count(*) AS n, max(seq) AS top FROM messages GROUP BY session) AS m ON m.session = s.id
		WHERE coalesce(m.n, 0) <> s.messages OR coalesce(m.top, 0) <> s.messages`},
	{"sessions whose own cost is not the sum of their ledger rows", `
		SELECT s.id FROM sessions AS s LEFT JOIN (SELECT session, sum(amount) AS a FROM ledger GROUP BY session) AS l ON l.session = s.id
		WHERE coalesce(l.a, 0) <> s.own`},
	{"sessions whose subtree is not the sum of their own and their children's", `
		SELECT s.id FROM sessions AS s LEFT JOIN (SELECT parent, sum(subtree) AS a FROM sessions WHERE parent <> '' GROUP BY parent) AS c ON c.parent = s.id
		WHERE s.own + coalesce(c.a, 0) <> s.subtree`},
	{"sessions that hold something else than their reservations and their children", `
		SELECT s.id FROM sessions AS s LEFT JOIN (SELECT parent, sum(held) AS a FROM sessions WHERE parent <> '' GROUP BY parent) AS c ON c.parent = s.id
		LEFT JOIN (SELECT session, sum(held) AS a FROM reservations GROUP BY session) AS r ON r.session = s.id
		WHERE coalesce(r.a, 0) + coalesce(c.a, 0) <> s.held`},
	{"sessions that count other calls without a price than they have", `
		SELECT s.id FROM sessions AS s LEFT JOIN (SELECT parent, sum(unpriced) AS n FROM sessions WHERE parent <> '' GROUP BY parent) AS c ON c.parent = s.id
		LEFT JOIN (SELECT session, sum(NOT priced) AS n FROM ledger GROUP BY session) AS l ON l.session = s.id
		WHERE coalesce(l.n, 0) + coalesce(c.n, 0) <> s.unpriced`},
	{"labels whose total is not the sum of their ledger rows", `
		SELECT coalesce(t.model, l.model) FROM totals AS t FULL JOIN
			(SELECT provider, model, channel, purpose, sum(amount) AS a, count(*) AS n, sum(NOT priced) AS u FROM ledger GROUP BY provider, model, channel, purpose) AS l
			ON l.provider = t.provider AND l.model = t.model AND l.channel = t.channel AND l.purpose = t.purpose
		WHERE l.a IS NOT t.amount OR l.n IS NOT t.calls OR l.u IS NOT t.unknown`},
	{"trees whose days are not the sum of what they spent and hold", `
		SELECT s.id FROM sessions AS s LEFT JOIN (SELECT id, sum(settled) AS a, sum(held) AS h FROM spend WHERE kind = 'tree' GROUP BY id) AS d ON d.id = s.id
		WHERE s.parent = '' AND (coalesce(d.a, 0) <> s.subtree OR coalesce(d.h, 0) <> s.held)`},
	{"ledger rows that were changed", `
		SELECT id FROM ledger WHERE CASE WHEN NOT json_valid(entry) THEN 1 -- the functions below would fail
			ELSE json_extract(entry, '$.amount') IS NOT amount OR json_extract(entry, '$.id') IS NOT id
			OR json_extract(entry, '$.usage.input') IS NOT input OR json_extract(entry, '$.usage.output') IS NOT output
			OR abs(unixepoch(json_extract(entry, '$.at'), 'subsec') * 1000000 - at) > 2000 END`},
	{"ledger rows whose price is missing", `
		SELECT l.id FROM ledger AS l LEFT JOIN prices AS p ON p.id = l.price WHERE l.price IS NOT NULL AND p.id IS NULL`},
	{"mailboxes whose open turn or control requests are miscounted", `
		SELECT m.token FROM mailboxes AS m
			LEFT JOIN (SELECT token, max(id) AS id, count(*) AS n FROM turns WHERE state <> 'done' AND nested = 0 GROUP BY token) AS t ON t.token = m.token
		WHERE m.turn <> coalesce(t.id, '') OR t.n > 1
			OR m.controls <> (SELECT count(*) FROM controls AS c WHERE c.token = m.token AND c.done = 0)`},
	{"mailboxes that Recover and Held would not see", `
		SELECT token FROM mailboxes WHERE hot <> (owner_nonce <> '' OR touched > read OR turn <> '' OR controls > 0)`},
}

// Check implements [sessions.Store]: it reads the whole database, and returns
// [sessions.ErrDamaged] with what does not fit. It takes time in proportion to
// the file; writes go on beside it.
func (s *Store) Check(ctx context.Context) error {
	broken, wrong, err := s.findDamage(ctx)
	if err != nil {
		return fmt.Errorf("check the database: %w", err)
	}
	if all := append(broken, wrong...); len(all) > 0 {
		return damaged(s.path, "%s", strings.Join(all, "; "))
	}
	return nil
}

// findDamage reads the whole database. broken is what would make a history shorter or
// another one, wrong what does not add up beside it.
func (s *Store) findDamage(ctx context.Context) (broken, wrong []string, err error) {
	err = s.readers.snapshot(ctx, func(v *view) (err error) {
		v.long = true
		if broken, err = quickCheck(ctx, v.conn); err != nil {
			return err
		}
		for i, c := range checks {
			found, err := firstFindings(v, c.query)
			switch {
			case err != nil:
				return fmt.Errorf("look for %s: %w", c.what, err)
			case found == "":
			case i == 0:
				broken = append(broken, c.what+": "+found)
			default:
				wrong = append(wrong, c.what+": "+found)
			}
		}
		changed, err := changedMessages(v)
		broken = append(broken, changed...)
		return err
	})
	return broken, wrong, err
}

// firstFindings are the first few rows.
func firstFindings(v *view, query string) (string, error) {
	const most = 5
	var found []string
	err := v.queryRows(query, nil, func(r scanner) error {
		var id string
		err := r.Scan(&id)
		if len(found) < most {
			found = append(found, id)
		}
		return err
	})
	return strings.Join(found, ", "), err
}

func changedMessages(v *view) (problems []string, err error) {
	err = v.queryRows("SELECT session, seq, id, role, parts, native, sum FROM messages", nil, func(r scanner) error {
		var session, id, role string
		var seq, check int64
		var parts, native []byte
		if err := r.Scan(&session, &seq, &id, &role, &parts, &native, &check); err != nil {
			return err
		}
		if checksum(id, role, parts, native) != check && len(problems) < 5 {
			problems = append(problems, fmt.Sprintf("message %d of session %s was changed", seq, session))
		}
		return nil
	})
	return problems, err
}
