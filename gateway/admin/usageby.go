package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/costs"
	"parley/gateway/messages"
	"parley/sessionkeys"
	"parley/sessions"
)

// Groups of calls of which it is not known, or not said, whose they are.
const (
	directMessages = "direct messages"
	unknownGroup   = "unknown"
)

// reader reads the ledger entry by entry, and finds out whose each is.
type reader struct {
	o    *Options
	ctx  context.Context // of the one question that the reader lives for
	keys map[sessionkeys.SessionID]sessionkeys.Key
	asks map[string][2]string // of turns: person and group
	sums map[string]*Usage
}

// readUp sums the ledger up entry by entry, by all that q names.
func (desk budgetDesk) readUp(ctx context.Context, q UsageQuery) ([]Usage, error) {
	r := &reader{desk.o, ctx, map[sessionkeys.SessionID]sessionkeys.Key{}, map[string][2]string{}, map[string]*Usage{}}
	by := q.groupings()
	var wrong error
	err := desk.o.Store.Ledger(ctx, "", func(id sessionkeys.SessionID, e costs.Entry) bool {
		if wrong = ctx.Err(); wrong != nil {
			return false
		}
		if !q.Since.IsZero() && e.At.Before(q.Since) || !q.Until.IsZero() && !e.At.Before(q.Until) {
			return true
		}
		wrong = r.add(by, id, e)
		return wrong == nil
	})
	if err = cmp.Or(wrong, err); err != nil {
		return nil, fmt.Errorf("sum up the ledger: %w", err)
	}
	var all []Usage
	for _, u := range r.sums {
		all = append(all, *u)
	}
	slices.SortFunc(all, func(a, b Usage) int {
		if q.By == sessions.ByDay && a.Group != b.Group {
			return cmp.Compare(a.Group, b.Group)
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Group, b.Group), slices.Compare(a.Also, b.Also))
	})
	return all, nil
}

func (r *reader) add(by []Grouping, id sessionkeys.SessionID, e costs.Entry) error {
	names := make([]string, len(by))
	for i, b := range by {
		var err error
		if names[i], err = r.groupOf(b, id, e); err != nil {
			return err
		}
	}
	key := strings.Join(names, "\x00")
	u := r.sums[key]
	if u == nil {
		u = &Usage{Group: names[0], Also: names[1:]}
		r.sums[key] = u
	}
	sum, err := costs.Amount(u.Cost).Add(e.Amount)
	if err != nil {
		return fmt.Errorf("group %q: %w", names, err)
	}
	u.Cost = USD(sum)
	u.Calls++
	if !e.Priced {
		u.Unpriced++
	}
	if e.State == costs.Interrupted {
		u.Interrupted++
	}
	u.Input += e.Usage.Input
	u.CacheRead += e.Usage.CacheRead
	u.CacheWrite += e.Usage.CacheWrite5m + e.Usage.CacheWrite1h
	u.Output += e.Usage.Output
	u.Reasoning += e.Usage.Reasoning
	return nil
}

// groupOf returns in which group of a grouping an entry is.
func (r *reader) groupOf(by Grouping, id sessionkeys.SessionID, e costs.Entry) (string, error) {
	switch by {
	case sessions.ByModel:
		return e.Labels.Provider + "/" + e.Labels.Model, nil
	case sessions.ByChannel:
		return e.Labels.Channel, nil
	case sessions.ByPurpose:
		return string(e.Labels.Purpose), nil
	case sessions.ByDay:
		return costs.Day.Name(e.At), nil
	case sessions.BySession:
		return string(id), nil
	case sessions.ByAgent:
		key, err := r.keyOf(id)
		return key.Agent(), err
	}
	asks, ok := r.asks[e.Call.Turn]
	if !ok {
		var err error
		if asks, err = r.askerOf(id, e.Call.Turn); err != nil {
			return "", err
		}
		r.asks[e.Call.Turn] = asks
	}
	if by == ByPerson {
		return asks[0], nil
	}
	return asks[1], nil
}

func (r *reader) keyOf(id sessionkeys.SessionID) (sessionkeys.Key, error) {
	key, ok := r.keys[id]
	if ok {
		return key, nil
	}
	found, err := r.o.Store.Session(r.ctx, id)
	if err != nil {
		return key, err
	}
	r.keys[id] = found.Key
	return found.Key, nil
}

// askerOf returns the person for whom a turn was, and the group in which they asked. A sub-agent's
// turn is that of the person who asked the root.
func (r *reader) askerOf(id sessionkeys.SessionID, turn string) ([2]string, error) {
	t, err := r.o.Store.Turn(r.ctx, turn)
	if errors.Is(err, sessions.ErrNotFound) {
		return [2]string{unknownGroup, unknownGroup}, nil
	}
	if err != nil {
		return [2]string{}, err
	}
	group := directMessages
	if t.From.Kind != sessionkeys.DM {
		group = t.Channel + "/" + t.From.Peer
	}
	key, err := r.keyOf(id)
	if err != nil {
		return [2]string{}, err
	}
	if job := messages.JobOfKey(key); job != "" {
		return [2]string{"job/" + job, group}, nil
	}
	person, err := treeDesk{r.o}.personOf(r.ctx, t)
	return [2]string{t.Channel + "/" + person, group}, err
}
