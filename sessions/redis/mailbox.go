package redis

import (
	"fmt"
	"slices"

	"parley/sessions"
	"parley/sessions/rules"
	"parley/transcript"
)

// turnOf is a turn as it is stored; no row is ErrNotFound.
func turnOf(stored row) (t rules.Turn, err error) {
	if len(stored) == 0 {
		return t, sessions.ErrNotFound
	}
	if err := stored.read(turnFields, t.Places()); err != nil {
		return rules.Turn{}, fmt.Errorf("turn %s: %w", stored["id"], err)
	}
	t.Preview = previewOf(stored["preview"])
	if t.EndedBy.Nonce != "" {
		t.EndedBy.Token = t.Token
	}
	return t, nil
}

// lacksJoined reports whether a turn's row is of the version before, which did not say
// what joined it.
func lacksJoined(f row) bool {
	_, says := f["joined"]
	return len(f) > 0 && !says
}

// messageIDs reads the ids of a session's messages.
func (ks keyspace) messageIDs(session string) read {
	return newRead("SMEMBERS", ks.key("msgids:"+session))
}

// withJoined is a row of the version before with what joined the turn, by the ids of
// its session's messages. It stands there as if it had been read, so that nobody writes
// it before something else joins.
func withJoined(f row, ids []string) (row, error) {
	var seqs []uint64
	for _, text := range ids {
		if id, ok := transcript.ParseMessageID(text); ok && id.Kind == transcript.Joining && id.Turn == f["id"] {
			seqs = append(seqs, id.Seq)
		}
	}
	slices.Sort(seqs)
	f = mergeRows(f, nil)
	return f, f.write([]string{"joined"}, []any{&seqs})
}

// begunPreview stands in place of an id where a preview was begun. What is stored is one
// text as in the version before, whose processes may share the database: one that did
// not know of a preview would send its answer a second time, unmarked.
const begunPreview = "?"

func previewText(p sessions.Preview) string {
	if p.State == sessions.PreviewBegun {
		return begunPreview
	}
	return p.ID
}

func previewOf(stored string) sessions.Preview {
	if stored == begunPreview {
		return sessions.Preview{State: sessions.PreviewBegun}
	}
	return sessions.ShownPreview(stored)
}
