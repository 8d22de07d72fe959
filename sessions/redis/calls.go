package redis

import (
	"encoding/json"
	"errors"
	"fmt"

	"parley/costs"
	"parley/sessions"
	"parley/sessions/rules"
)

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
