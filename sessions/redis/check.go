package redis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/disks"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/rules"
)

// checker looks whether the database is whole, and takes writes.
type checker struct{ *database }

// maxFindings is how many of one kind are named.
const maxFindings = 5

// findings collects what does not add up.
type findings struct {
	problems []string
	counts   map[string]int
}

func (f *findings) add(what, id string) {
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	if f.counts[what]++; f.counts[what] <= maxFindings {
		f.problems = append(f.problems, what+": "+id)
	}
}

// Check implements [sessions.Store]: it reads everything, in pieces between
// which others write, and returns [sessions.ErrDamaged] with what does not fit.
// It takes time in proportion to the data.
func (ch checker) Check(ctx context.Context) error {
	var f findings
	for _, check := range []func(context.Context, *findings) error{ch.checkMailboxes, ch.checkHistories, ch.checkOutbox, ch.checkMoney} {
		if err := check(ctx, &f); err != nil {
			return fmt.Errorf("check the database: %w", err)
		}
	}
	if len(f.problems) > 0 {
		return fmt.Errorf("check the database: %w", damaged("%s", strings.Join(f.problems, "; ")))
	}
	return nil
}

// each calls f for the names of a set that is sorted by them, which it reads in pages.
func (conn *connection) each(ctx context.Context, set string, f func(name string) error) (err error) {
	from := "-"
	failed := rules.Pages(pageRows, func() ([]string, error) {
		a, err := conn.query(ctx, newRead("ZRANGE", conn.key(set), from, "+", "BYLEX", "LIMIT", "0", strconv.Itoa(pageRows)))
		return a.texts(0), err
	}, func(name string) bool {
		from, err = "("+name, f(name)
		return err == nil
	})
	return cmp.Or(failed, err)
}

// checkHistories looks whether each session has all its messages as they were added.
func (ch checker) checkHistories(ctx context.Context, f *findings) error {
	return ch.each(ctx, "ids", func(id string) error { return ch.checkHistory(ctx, sessionkeys.SessionID(id), f) })
}

func (ch checker) checkHistory(ctx context.Context, id sessionkeys.SessionID, f *findings) error {
	a, err := ch.query(ctx, ch.historyReads(id, 0, -1)...)
	if err != nil {
		return err
	}
	stored := a.list(1)
	if count, err := a.int(0); err != nil || a.at(0) == nil || int(count) != len(stored) {
		f.add("sessions whose history is cut", string(id))
		return err
	}
	for i := range stored {
		if !isIntact(stored.text(i)) {
			f.add("sessions whose history was changed", string(id))
			break
		}
	}
	return nil
}

// checkOutbox looks whether what is not finished is where it is looked for.
func (ch checker) checkOutbox(ctx context.Context, f *findings) error {
	a, err := ch.query(ctx, newRead("ZRANGE", ch.key("unsent"), "0", "-1").each(newRead("HGET", ch.key("out:"), "channel").at(2)))
	if err != nil {
		return err
	}
	return a.list(0).eachName(func(id string, channel answer) error {
		a, err := ch.query(ctx, newRead("HGET", ch.key("out:"+id), "done"), newRead("ZSCORE", ch.key("pending:"+channel.text(0)), id), newRead("ZSCORE", ch.key("unsent"), id))
		if err == nil && a.at(2) != nil && (a.text(0) != "0" || a.at(1) == nil) {
			f.add("answers that are pending and done, or not there", id)
		}
		return err
	})
}

var _ sessions.Store = (*Store)(nil)

// Probe implements [sessions.Store]. A server that cannot write its append-only
// file says so; one that only has too little memory is not disks.ErrFull.
func (ch checker) Probe(ctx context.Context) error {
	err := retryChanged(ctx, func() error {
		p := &plan{db: ch.database, r: ch.reading(ctx)}
		p.do("HSET", ch.key("meta"), "probe", strconv.FormatInt(micros(ch.now()), 10))
		return p.commit(ch.client)
	})
	return rules.While(err, "write to Redis")
}

// Clock implements [sessions.Store]: the server's time.
func (ch checker) Clock(ctx context.Context) (time.Time, error) {
	t, err := ch.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, fmt.Errorf("ask Redis for the time: %w", explain(err))
	}
	return t.UTC(), nil
}

// diskFullError says whether the server has no room to write its file.
func diskFullError(err error) error {
	if text := err.Error(); strings.HasPrefix(text, "MISCONF") && strings.Contains(text, "No space left") {
		return fmt.Errorf("%w: %w", disks.ErrFull, err)
	}
	return err
}

// checkMailboxes looks whether mailboxes fit to what they name, and stand in the sets
// where they are looked for.
func (ch checker) checkMailboxes(ctx context.Context, f *findings) error {
	return ch.each(ctx, "boxes", func(token string) error {
		sets := []string{ch.key("free"), ch.key("queued"), ch.key("running"), ch.key("waits")}
		return retryChanged(ctx, func() (err error) {
			sets, err = ch.checkMailbox(ctx, token, sets, f)
			return err
		})
	})
}

// checkMailbox reads a mailbox and how it stands in sets, all at once. When it should
// stand in others too it returns these as well, and errChanged.
func (ch checker) checkMailbox(ctx context.Context, token string, sets []string, f *findings) ([]string, error) {
	reads := append(ch.mailboxReads(token), newRead("ZCARD", ch.key("controls:"+token)))
	for _, set := range sets {
		reads = append(reads, newRead("ZSCORE", set, token))
	}
	r := ch.reading(ctx)
	a, err := r.read(reads...)
	if err == nil {
		err = r.learnMailbox(token, a)
	}
	if err != nil {
		return sets, err
	}
	m, there := r.seen[rules.MailboxKey(token)].row.(rules.Mailbox)
	if !there {
		f.add("mailboxes that are listed and not there", token)
		return sets, nil
	}
	want := ch.mailboxIndexes(m)
	for set := range maps.Keys(want) {
		if !slices.Contains(sets, set) {
			return append(sets, slices.Sorted(maps.Keys(want))...), errChanged
		}
	}
	if m.OpenTurn != "" && !r.hasOpenTurn(m) {
		f.add("mailboxes whose open turn is none", token)
	}
	if a.text(2) != strconv.Itoa(m.Controls) {
		f.add("mailboxes whose control requests are miscounted", token)
	}
	if m.LastRead > m.LastSeen {
		f.add("mailboxes that read what they never saw", token)
	}
	for i, set := range sets {
		if a.text(3+i) != want[set] {
			f.add("mailboxes that Recover and Held would not see", token)
			break
		}
	}
	return sets, nil
}

// hasOpenTurn reports whether the open turn of a mailbox is one.
func (r *reading) hasOpenTurn(m rules.Mailbox) bool {
	st := r.seen[rules.TurnKey(m.OpenTurn)]
	if st == nil {
		return false
	}
	t, there := st.row.(rules.Turn)
	return there && t.IsOpenOf(m.Token)
}
