package people

import (
	"context"
	"errors"
	"slices"

	"parley/gateway/policy"
	"parley/gateway/records"
)

// IDs returns the ids by which somebody is known on a channel: the one that is given, and the other one
// if a decision has it.
func (b *Book) IDs(ctx context.Context, channel, id string) ([]string, error) {
	ids := []string{id}
	decided, err := b.Decisions(ctx, channel)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return nil, err
	}
	for _, p := range decided {
		for _, other := range []string{p.ID, p.Alias} {
			if (p.ID == id || p.Alias == id) && other != "" && !slices.Contains(ids, other) {
				ids = append(ids, other)
			}
		}
	}
	return ids, nil
}

// Traces returns what is kept of somebody on a channel, by whichever of their ids: whether a record lets
// them in, whether one shuts them out, as one does that cannot be read, and whether a code of theirs waits.
func (b *Book) Traces(ctx context.Context, channel string, ids []string) (letIn, shutOut, code bool, err error) {
	for _, id := range ids {
		p, err := b.read(ctx, channel, id)
		switch {
		case errors.Is(err, records.ErrUnreadable):
			shutOut = true
		case err != nil:
			return false, false, false, err
		default:
			letIn, shutOut = letIn || p.Ruling == policy.LetIn, shutOut || p.Ruling == policy.ShutOut
		}
	}
	asked, err := b.Requests(ctx, channel)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return false, false, false, err
	}
	code = slices.ContainsFunc(asked, func(r Request) bool { return slices.Contains(ids, r.ID) })
	return letIn, shutOut, code, nil
}

// DropTraces takes back that somebody was let in, and their code. That they were shut out stays, and so does
// what cannot be read: a newer parley may have shut them out by it.
func (b *Book) DropTraces(ctx context.Context, channel string, ids []string) error {
	for _, id := range ids {
		p, err := b.read(ctx, channel, id)
		if err == nil && p.Ruling == policy.LetIn {
			err = b.drop(ctx, p)
		}
		if err != nil && !errors.Is(err, records.ErrUnreadable) {
			return err
		}
		if err := b.dropRequest(ctx, channel, id); err != nil {
			return err
		}
	}
	return nil
}
