package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"parley/sessions/rules"
)

// generations are the logs whose sequences mailboxes count.
type generations struct{ *database }

// Generation implements [sessions.Dispatch].
func (g generations) Generation(ctx context.Context) (name string, highest uint64, err error) {
	a, err := g.query(ctx, newRead("HMGET", g.key("meta"), "generation", "highest"))
	if err == nil {
		err = a.list(0).load(&name, &highest)
	}
	return name, highest, rules.While(err, "read the generation")
}

// StartGeneration implements [sessions.Dispatch].
func (g generations) StartGeneration(ctx context.Context, name string) (lost int, err error) {
	if name == "" {
		return 0, errors.New("start a generation: it has no name")
	}
	err = retryChanged(ctx, func() (err error) {
		lost, err = g.startGeneration(ctx, name)
		return err
	})
	return lost, rules.While(err, "start generation %s", name)
}

// startGeneration returns how many mailboxes were owed messages once the generation
// has begun; until then it begins it, and returns errChanged.
func (g generations) startGeneration(ctx context.Context, name string) (lost int, err error) {
	r := g.reading(ctx)
	a, err := r.read(newRead("HMGET", g.key("meta"), "generation", "lost"))
	if err != nil {
		return 0, err
	}
	if a.list(0).text(0) == name {
		err := a.list(0).load(new(string), &lost)
		return lost, err
	}
	p, c := &plan{db: g.database, r: r}, &changes{Generation: name}
	if err := p.write(c); err != nil {
		return 0, err
	}
	if g.facts == nil {
		return 0, cmp.Or(p.commit(g.client), errChanged)
	}
	return 0, cmp.Or(g.record(p, nil, c), errChanged)
}

// startGeneration adds what begins another log: the number of the generation, by
// which mailboxes know that their sequences count for nothing, and their moves
// between the sets in which they stood because of them. A generation that has begun
// adds nothing.
func (p *plan) startGeneration(name string) error {
	s, r := p.db, p.r
	a, err := r.read(newRead("HMGET", s.key("meta"), "generation", "gen"),
		newRead("ZRANGE", s.key("queued"), "0", "-1").each(s.mailboxReads("")...),
		newRead("ZRANGE", s.key("controls"), "0", "-1").each(newRead("HGETALL", s.key("control:")).at(2)))
	if err != nil || a.list(0).text(0) == name {
		return err
	}
	r.gen = r.log
	gen, err := parseNumber(r.gen)
	if err != nil {
		return fmt.Errorf("number of the generation: %w", err)
	}
	next := strconv.FormatInt(gen+1, 10)
	err = a.list(1).eachName(func(token string, found answer) error { return p.forgetWaiting(token, found, next) })
	if err != nil {
		return err
	}
	err = a.list(2).eachName(func(control string, found answer) error {
		f, key := found.row(0), s.hashOf(rules.ControlKey(control))
		p.step("v", key, f["v"])
		p.hset(key, f, row{"through": "0"}, changedRow{From: f["v"]}.next())
		return nil
	})
	queued := strconv.Itoa(len(a.list(1).list(0)))
	p.step("k", queued, "ZCARD", s.key("queued"))
	p.step("k", strconv.Itoa(len(a.list(2).list(0))), "ZCARD", s.key("controls"))
	p.do("HSET", s.key("meta"), "generation", name, "gen", next, "lost", queued, "highest", "0")
	return err
}

// forgetWaiting moves a mailbox whose messages count for nothing any more. Its row
// stays: whoever reads it sees that it is of an older log.
func (p *plan) forgetWaiting(token string, found answer, next string) error {
	f := found.row(0)
	was, err := decode("mailbox", f)
	if err != nil {
		return err
	}
	is, err := decode("mailbox", mailboxInLog(f, next))
	if err != nil {
		return err
	}
	p.step("v", p.db.hashOf(rules.MailboxKey(token)), f["v"])
	p.index(token, p.db.mailboxIndexes(was.(rules.Mailbox)), p.db.mailboxIndexes(is.(rules.Mailbox))) // as it was decoded
	return nil
}

// earlierGeneration returns the fact of a generation as it was written by the version
// before: the request of a script.
func earlierGeneration(request json.RawMessage) (*changes, error) {
	var r struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(request, &r); err != nil || r.Name == "" {
		return nil, fmt.Errorf("the fact of a generation has no name: %q", request)
	}
	return &changes{Generation: r.Name}, nil
}
