package redis

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"parley/costs"
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

// storedCall is what of an open call is stored as JSON.
type storedCall struct {
	Estimate costs.Estimate `json:"estimate"`
	Scopes   []storedScope  `json:"scopes,omitempty"`
}

// storedScope is a scope that a call counts for. Its limit has done its work.
type storedScope struct {
	Kind   string       `json:"kind"`
	ID     string       `json:"id"`
	Window costs.Window `json:"window,omitempty"`
}

func encodeCall(c rules.Call) (row, error) {
	f := row{}
	err := f.write(callFields, callPlaces(&c))
	if err != nil || c.State != rules.CallOpen {
		return f, err
	}
	s := storedCall{Estimate: c.Estimate}
	for _, scope := range c.Scopes {
		s.Scopes = append(s.Scopes, storedScope{scope.Kind, scope.ID, scope.Window})
	}
	f["call"], err = jsonText(s)
	return f, err
}

func decodeCall(f row) (c rules.Call, err error) {
	err = f.read(callFields, callPlaces(&c))
	switch {
	case err != nil || c.State != rules.CallOpen:
		return c, err
	case f["call"] == "":
		return earlierCall(f, c)
	}
	var s storedCall
	err = json.Unmarshal([]byte(f["call"]), &s)
	c.Estimate = s.Estimate
	for _, scope := range s.Scopes {
		c.Scopes = append(c.Scopes, sessions.Scope{Kind: scope.Kind, ID: scope.ID, Window: scope.Window})
	}
	return c, err
}

// earlierCall completes an open call that was stored before calls had a field of
// their own for what they are: an interrupted entry for it, and names of its scopes.
func earlierCall(f row, c rules.Call) (rules.Call, error) {
	var left settlement
	var e costs.Entry
	var scopes [][]any
	if err := json.Unmarshal([]byte(f["dangling"]), &left); err != nil {
		return c, fmt.Errorf("call %s: %w", c.ID, err)
	}
	if err := errors.Join(json.Unmarshal([]byte(left.Entry), &e), json.Unmarshal([]byte(f["scopes"]), &scopes)); err != nil {
		return c, fmt.Errorf("call %s: %w", c.ID, err)
	}
	c.Estimate = costs.Estimate{Call: e.Call, Labels: e.Labels, Upper: e.Upper, Priced: e.Priced}
	for _, s := range scopes {
		if len(s) == 0 {
			continue
		}
		named, _ := s[0].(string)
		ps, err := splitID(named, 3)
		if err != nil {
			return c, fmt.Errorf("call %s: %w", c.ID, err)
		}
		scope := sessions.Scope{Kind: ps[0], ID: ps[1]}
		for _, w := range []costs.Window{costs.Day, costs.Month, costs.Always} {
			if w.Name(c.At) == ps[2] {
				scope.Window = w
			}
		}
		c.Scopes = append(c.Scopes, scope)
	}
	return c, nil
}
