package conversations

import (
	"context"
	"strconv"
	"strings"
	"time"

	"parley/sessionkeys"
)

// Shortest beginning of an id, and length of a whole one, by which a session is chosen.
const (
	shortestID = 6
	wholeID    = 26
)

// Choose returns the sessions that a person means: that of a number; or that of an id or the
// beginning of one; or all of which the label has the words. The sessions come from
// the book, and a whole id also from elsewhere: the store judges whose it is.
func Choose(ctx context.Context, s Store, b Book, present sessionkeys.SessionID, words string, now time.Time) ([]Earlier, error) {
	n, err := strconv.Atoi(strings.TrimPrefix(words, "#"))
	if err == nil {
		for _, e := range b.Earlier {
			if e.Number == n {
				return []Earlier{e}, nil
			}
		}
	}
	id := sessionkeys.SessionID(strings.ToUpper(words))
	var found []Earlier
	for _, e := range b.Earlier {
		if len(id) >= shortestID && strings.HasPrefix(string(e.Session), string(id)) {
			found = append(found, e)
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	if len(id) == wholeID && strings.Trim(string(id), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return []Earlier{{Session: id}}, nil
	}
	for _, e := range b.Except(present) {
		label, err := Label(ctx, s, e.Session, now)
		if err != nil {
			return nil, err
		}
		if strings.Contains(strings.ToLower(label), strings.ToLower(words)) {
			found = append(found, e)
		}
	}
	return found, nil
}
