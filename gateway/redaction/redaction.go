// Package redaction takes secrets out of what leaves the process: log lines, what
// people are shown, what operators read, what tools return to a model.
//
//	r := redaction.New(token, key)
//	log = r.Logger(log)
//	text = r.Clean(text)             // whole
//	text = r.CleanGrowing(text)      // the beginning of a text that goes on
//	text, rest = r.CleanPiece(rest + piece)
//
// It knows the secrets of the configuration as they are and as they are written in
// URLs, JSON, HTML, shells, hex and base64, also over several lines; what keys of
// well-known services look like; and where credentials stand: passwords in URLs, headers
// Authorization, private keys. All is found in one pass over the text. It cannot stop a
// model that spells a secret out; a sandbox without secrets does.
package redaction

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark stands wherever a secret stood.
const Mark = "[redacted]"

// Shortest is the length of a secret, in bytes, below which it is left alone:
// shorter ones would take words out of texts.
const Shortest = 8

// Redactor takes secrets out of texts. All methods may be called concurrently. A nil
// Redactor takes nothing out.
type Redactor struct {
	mu       sync.Mutex             // guards what follows, and is held while forms are replaced
	known    []string               // that are secrets for good
	changing map[string][2][]string // by name: the present ones, and the ones before
	forms    atomic.Pointer[forms]
}

// New makes a Redactor of secrets, of which empty and short ones are left out.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	r.forms.Store(newForms(nil))
	r.Add(secrets...)
	return r
}

// Add takes out further secrets from now on. What was known stays so: a secret that
// was changed is one still.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = join(r.known, secrets)
	r.look()
}

// Replace takes out secrets that are exchanged while the process runs, as tokens are: from now on
// those that something of this name has now, and those that it had before them; no others, so that
// they do not become ever more.
func (r *Redactor) Replace(name string, secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changing == nil {
		r.changing = map[string][2][]string{}
	}
	r.changing[name] = [2][]string{slices.Clone(secrets), r.changing[name][0]}
	r.look()
}

// look puts forms of all secrets in place. The caller holds r.mu.
func (r *Redactor) look() {
	all := r.known
	for _, generations := range r.changing {
		all = join(all, slices.Concat(generations[:]...))
	}
	r.forms.Store(newForms(all))
}

// join returns known with those of secrets that are new and not too short.
func join(known, secrets []string) []string {
	for _, s := range secrets {
		if len(s) >= Shortest && !slices.Contains(known, s) {
			known = append(slices.Clip(known), s)
		}
	}
	return known
}

// Clean returns s with a mark in place of each secret.
func (r *Redactor) Clean(s string) string {
	if r == nil {
		return s
	}
	found, _ := r.forms.Load().find(s)
	return replaceSpans(s, merge(found))
}

// CleanGrowing returns the beginning of s, a text that goes on, as Clean would: all
// but what may be the beginning of a secret whose rest has not come.
func (r *Redactor) CleanGrowing(s string) string {
	if r == nil {
		return s
	}
	f := r.forms.Load()
	found, open := f.find(s)
	found = merge(found)
	hold := min(f.partialStart(s, minimum), open.key)
	for _, f := range found {
		if f.from < hold && hold < f.to { // it is whole already, or goes on as what it is
			hold = f.to
		}
	}
	return replaceSpans(s[:hold], within(found, hold))
}

// CleanPiece is for a text that comes in pieces, of which each is shown by itself. It
// returns the beginning of s as Clean would, and the rest of s as it is: what a secret may
// begin in or go on in, and the words that tell it is one. The next piece belongs behind
// the rest, and behind the last piece Clean has the rest.
func (r *Redactor) CleanPiece(s string) (clean, rest string) {
	if r == nil || s == "" {
		return s, ""
	}
	f := r.forms.Load()
	found, open := f.find(s)
	found = merge(found)
	hold := min(open.context, f.partialStart(s, 2), partialRule(s), len(s)-1)
	for i := len(found) - 1; i >= 0; i-- {
		if found[i].to == len(s) || found[i].from < hold && hold < found[i].to {
			hold = min(hold, found[i].from)
		}
	}
	return replaceSpans(s[:hold], within(found, hold)), s[hold:]
}

// within returns those of the spans that begin before the place.
func within(found []span, end int) []span {
	if cut := slices.IndexFunc(found, func(f span) bool { return f.from >= end }); cut >= 0 {
		return found[:cut]
	}
	return found
}

// span is a secret in a text.
type span struct{ from, to int }

// merge returns spans in order, and those in one that have bytes in common.
func merge(found []span) []span {
	if len(found) < 2 {
		return found
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	whole := found[:1]
	for _, f := range found[1:] {
		last := &whole[len(whole)-1]
		if f.from < last.to {
			last.to = max(last.to, f.to)
			continue
		}
		whole = append(whole, f)
	}
	return whole
}

// replaceSpans puts marks in the place of spans.
func replaceSpans(s string, found []span) string {
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for _, f := range found {
		b.WriteString(s[at:f.from])
		b.WriteString(Mark)
		at = f.to
	}
	b.WriteString(s[at:])
	return b.String()
}
