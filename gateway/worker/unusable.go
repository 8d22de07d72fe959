package worker

import (
	"fmt"
	"slices"
	"strings"

	"parley/channels"
	"parley/sessions"
)

// unusable says to the person why nothing of q can be used: it says nothing and quotes
// nothing, and none of its files came. Empty: there is something for a model to read.
func (q *question) unusable() string {
	if q.correction {
		return ""
	}
	for _, it := range q.items {
		if m := it.msg; m.Text != "" || m.ReplyTo != nil || len(m.Forwarded) > 0 {
			return ""
		}
	}
	var why []string
	n := 0
	for i, fs := range q.attachedFiles() {
		for k, f := range fs {
			if f.Kind == channels.Around {
				continue
			}
			if n++; q.files[i][k].Unusable == "" {
				return ""
			}
			if w := q.files[i][k].Unusable; !slices.Contains(why, w) {
				why = append(why, w)
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "I could not use the file that you sent: " + why[0] + "."
	}
	return "I could not use any of the files that you sent: " + strings.Join(why, "; ") + "."
}

// answerUnusable answers q with a line, without a turn: a model would read no more than that
// nothing came, and be paid for saying so. done is false when the head of q was ended
// before.
func (a *answers) answerUnusable(q question, text string) (done, released bool, err error) {
	known, err := a.w.Store.Known(a.ctx, q.events...)
	if err != nil {
		return false, false, fmt.Errorf("look which messages cannot be used: %w", err)
	}
	if known[0] {
		return false, false, nil
	}
	var with []sessions.InboxID
	for i, e := range q.events[1:] {
		if !known[i+1] {
			with = append(with, e)
		}
	}
	a.countDuplicates(q.lead.Channel, "edit", q.edits)
	released, err = a.answer(sessions.Command{Seq: q.through, Event: q.events[0], With: with}, q.items[0].e.Seq, q.lead, text)
	return true, released, err
}
