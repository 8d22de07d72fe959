package redis

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"parley/sessions/rules"
)

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
