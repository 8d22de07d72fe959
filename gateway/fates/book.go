// Package fates says what became of a message: passed over, and by which rule, or taken up, with
// what was reserved, spent and sent for it.
package fates

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/sessions"
)

// Passed is a message of which no turn was made.
type Passed struct {
	At      time.Time `json:"at"`
	Channel string    `json:"channel"`
	Chat    string    `json:"chat"`
	Message string    `json:"message,omitempty"`
	Event   string    `json:"event"`
	Sender  string    `json:"sender,omitempty"`
	Name    string    `json:"name,omitempty"`
	Reason  string    `json:"reason"` // a value of outcomes
	Why     string    `json:"why"`
}

// Kind is the kind of the records in which a book is kept.
const Kind = "passed over"

// What a book keeps of each channel and sort, for how long, and how often it is written. Nobody can
// make more of it by writing more: what is older gives way.
const (
	keptMessages = 200
	keptBytes    = 48 << 10
	keptFor      = 8 * 24 * time.Hour
	keptText     = 128 // bytes of a name or an id
	writeEvery   = 30 * time.Second
)

// Store is where a book is kept.
type Store interface {
	WriteRecord(ctx context.Context, r sessions.Record) (revision int64, err error)
	Records(ctx context.Context, kind, prefix string, now time.Time, yield func(sessions.Record) bool) error
}

// Book remembers the messages that were passed over lately, by channel and sort, so that many of
// one sort do not displace another. It is in memory, and written down once in a while: the last
// moments before a kill may be missing. Its methods may be called concurrently.
type Book struct {
	Store   Store
	Process string // by whose name its records go
	Log     *slog.Logger
	Now     func() time.Time

	mu    sync.Mutex // guards the rest
	pages map[string]*page
}

// page is what is kept of one channel and sort, oldest first.
type page struct {
	kept    []Passed
	changed bool
}

// sortOf returns with which messages one of that reason is kept.
func sortOf(reason string) string {
	switch reason {
	case outcomes.NotMentioned, outcomes.Unsupported:
		return "aside"
	case outcomes.Answered:
		return outcomes.Answered
	}
	return "refused"
}

// Note remembers that no turn is made of m, for a reason of outcomes, and why.
func (b *Book) Note(m channels.Message, reason, why string) {
	p := Passed{
		At: b.Now().UTC(), Channel: m.Channel, Chat: cut(messages.ChatID(m)), Message: cut(m.MessageID), Event: cut(m.Event),
		Sender: cut(m.Sender.ID), Name: cut(m.Sender.Name), Reason: reason, Why: cut(why),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	key := b.key(p.Channel, sortOf(reason))
	if b.pages == nil {
		b.pages = map[string]*page{}
	}
	g := b.pages[key]
	if g == nil {
		g = &page{}
		b.pages[key] = g
	}
	if i := slices.IndexFunc(g.kept, func(k Passed) bool { return k.Event == p.Event && k.Chat == p.Chat }); i >= 0 { // it came again
		g.kept = slices.Delete(g.kept, i, i+1)
	}
	g.kept = append(g.kept, p)
	if more := len(g.kept) - keptMessages; more > 0 {
		g.kept = slices.Delete(g.kept, 0, more)
	}
	g.changed = true
}

// Forget removes what this process remembers of messages of somebody on a channel, by whichever of
// their ids.
func (b *Book) Forget(channel string, ids ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.pages {
		g.remove(func(p Passed) bool { return p.Channel == channel && slices.Contains(ids, p.Sender) })
	}
}

// remove removes the messages that fit.
func (g *page) remove(fits func(Passed) bool) {
	before := len(g.kept)
	g.kept = slices.DeleteFunc(g.kept, fits)
	g.changed = g.changed || len(g.kept) != before
}

// isOld reports whether p is kept no longer.
func (p Passed) isOld(now time.Time) bool { return now.Sub(p.At) >= keptFor }

func (b *Book) key(channel, sort string) string {
	return strings.Join([]string{b.Process, channel, sort}, "/")
}

func cut(s string) string {
	if len(s) > keptText {
		s = s[:keptText]
	}
	return strings.ToValidUTF8(s, "")
}

// Run goes on with what an earlier process of the name wrote, and writes what changed once in a
// while and at the end of ctx.
func (b *Book) Run(ctx context.Context) error {
	if err := b.load(ctx); err != nil {
		b.Log.Warn("messages that were passed over earlier unreadable, they are forgotten", "error", err)
	}
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			b.write(last)
			return nil
		case <-tick.C:
			b.write(ctx)
		}
	}
}

// load reads what this process wrote before; what it noted since stands behind it.
func (b *Book) load(ctx context.Context) error {
	var failed error
	err := b.Store.Records(ctx, Kind, b.Process+"/", b.Now(), func(r sessions.Record) bool {
		kept, err := decode(r)
		failed = errors.Join(failed, err)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.pages == nil {
			b.pages = map[string]*page{}
		}
		if g := b.pages[r.ID.Key]; g != nil {
			kept = append(kept, g.kept...)
			g.kept = kept[max(0, len(kept)-keptMessages):]
		} else {
			b.pages[r.ID.Key] = &page{kept: kept}
		}
		return true
	})
	return errors.Join(failed, err)
}

func decode(r sessions.Record) (kept []Passed, err error) {
	if err := json.Unmarshal(r.Body, &kept); err != nil {
		return nil, fmt.Errorf("read the record %s of %s: %w", r.ID.Kind, r.ID.Key, err)
	}
	return kept, nil
}

// write writes the pages that changed, also because something in them is old. What cannot be written
// now is written later.
func (b *Book) write(ctx context.Context) {
	now := b.Now()
	b.mu.Lock()
	bodies := map[string][]byte{}
	for key, g := range b.pages {
		g.remove(func(p Passed) bool { return p.isOld(now) })
		if g.changed {
			bodies[key] = g.encode()
			g.changed = false
		}
	}
	b.mu.Unlock()
	for key, body := range bodies {
		_, err := b.Store.WriteRecord(ctx, sessions.Record{
			ID: sessions.RecordID{Kind: Kind, Key: key}, Revision: sessions.AnyRevision, Owner: b.Process, Body: body, At: now, Expires: now.Add(keptFor),
		})
		if err != nil {
			b.Log.Debug("messages that were passed over not written, trying again", "key", key, "error", err)
			b.mu.Lock()
			b.pages[key].changed = true
			b.mu.Unlock()
		}
	}
}

// encode returns the newest of g that fit into a record.
func (g *page) encode() []byte {
	for kept := g.kept; ; kept = kept[(len(kept)+3)/4:] {
		body, err := json.Marshal(kept)
		if err == nil && len(body) <= keptBytes || len(kept) == 0 {
			return body
		}
	}
}

// Find returns the messages that fit q and were passed over, by this process or another on the same
// store, oldest first.
func (b *Book) Find(ctx context.Context, q Query) ([]Passed, error) {
	return b.find(ctx, func(p Passed) bool { return q.fits(p.Channel, p.Chat, p.Message, p.Event) })
}

// find returns those that fit, as Find does.
func (b *Book) find(ctx context.Context, fits func(Passed) bool) ([]Passed, error) {
	pages := map[string][]Passed{}
	var failed error
	err := b.Store.Records(ctx, Kind, "", b.Now(), func(r sessions.Record) bool {
		kept, err := decode(r)
		failed = errors.Join(failed, err)
		pages[r.ID.Key] = kept
		return true
	})
	if err = errors.Join(failed, err); err != nil {
		return nil, fmt.Errorf("look for messages that were passed over: %w", err)
	}
	b.mu.Lock()
	for key, g := range b.pages { // newer than the records
		pages[key] = g.kept
	}
	var found []Passed
	for _, kept := range pages {
		for _, p := range kept {
			if fits(p) && !p.isOld(b.Now()) {
				found = append(found, p)
			}
		}
	}
	b.mu.Unlock()
	slices.SortFunc(found, func(x, y Passed) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Event, y.Event)) })
	return found, nil
}

// Refused returns the messages of the last days that were refused, oldest first: what was passed
// over because it did not speak to the bot is none.
func (b *Book) Refused(ctx context.Context) ([]Passed, error) {
	return b.find(ctx, func(p Passed) bool { return sortOf(p.Reason) == "refused" })
}
