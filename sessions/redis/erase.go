package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"parley/sessionkeys"
	"parley/sessions/rules"
)

// erased is sessions that lose their content, as it stands in the log of facts.
type erased struct {
	Sessions  []sessionkeys.SessionID `json:"sessions"` // the root is the first
	Templates []string                `json:"templates,omitempty"`
	At        int64                   `json:"at"`
}

// erasedOf leaves out the templates with which other sessions have asked. Who asks with one of the
// rest for the first time in this very moment has it without a body; that is a session with the
// same words in its system message, on the same day.
func (db *database) erasedOf(ctx context.Context, e rules.Erased) (erased, error) {
	names := slices.Clone(e.Templates)
	if len(names) > 0 {
		err := db.each(ctx, "ids", func(id string) error {
			if slices.Contains(e.Sessions, sessionkeys.SessionID(id)) {
				return nil
			}
			used, err := db.templatesOf(ctx, id)
			names = slices.DeleteFunc(names, func(name string) bool { return used[name] })
			return err
		})
		if err != nil {
			return erased{}, fmt.Errorf("look which request templates are needed: %w", err)
		}
	}
	return erased{e.Sessions, names, micros(e.At)}, nil
}

// templatesOf returns the names of the templates with which a session has asked.
func (db *database) templatesOf(ctx context.Context, session string) (map[string]bool, error) {
	a, err := db.query(ctx, newRead("LRANGE", db.key("asked:"+session), "0", "-1"))
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, stored := range a.texts(0) {
		var one attempt
		if err := json.Unmarshal([]byte(stored), &one); err != nil {
			return nil, fmt.Errorf("an attempt of session %s: %w", session, err)
		}
		used[one.Frame] = true
	}
	return used, nil
}

// erase adds what takes the content of sessions away.
func (p *plan) erase(e erased) {
	for i, id := range e.Sessions {
		p.step("E", string(id))
		if i == 0 {
			p.step("u", string(id), strconv.FormatInt(e.At, 10))
		}
	}
	for _, name := range e.Templates {
		p.do("HDEL", p.db.key("frames"), name)
	}
	if len(e.Templates) > 0 {
		p.db.frames.forget()
	}
}

// unsentAnswers names the answers of a session that are not done. The commit does not look at them
// again, since there may be thousands that are: it leaves those alone that are not.
func (r *reading) unsentAnswers(session sessionkeys.SessionID) (keys []rules.Key, err error) {
	a, err := r.read(newRead("LRANGE", r.db.key("outs:"+string(session)), "0", "-1").each(newRead("HGET", r.db.key("out:"), "done").at(2)))
	if err != nil {
		return nil, err
	}
	err = a.list(0).eachName(func(id string, done answer) error {
		if done.text(0) != "1" {
			keys = append(keys, rules.AnswerKey(id))
		}
		return nil
	})
	return keys, err
}

// Stale implements [sessions.Queries].
func (dir directory) Stale(ctx context.Context, before time.Time, limit int) (ids []sessionkeys.SessionID, err error) {
	from := 0
	err = rules.Pages(pageRows, func() (page []answer, err error) {
		a, err := dir.query(ctx, newRead("ZRANGEBYSCORE", dir.key("roots"), "-inf", "("+strconv.FormatInt(micros(before), 10),
			"LIMIT", strconv.Itoa(from), strconv.Itoa(pageRows)).each(newRead("HGET", dir.key("sess:"), "messages").at(2)))
		from += pageRows
		if err != nil {
			return nil, err
		}
		err = a.list(0).eachName(func(id string, messages answer) error {
			page = append(page, answer{id, messages.text(0)})
			return nil
		})
		return page, err
	}, func(one answer) bool {
		if len(ids) < limit && one.text(1) != "0" {
			ids = append(ids, sessionkeys.SessionID(one.text(0)))
		}
		return len(ids) < limit
	})
	return ids, rules.While(err, "list sessions that did not change")
}
