// Package redaction takes secrets out of what leaves the process: log lines, what
// people are shown, what operators read, what tools return to a model.
//
//	r := redaction.New(token, key)
//	log = r.Logger(log)
//	text = r.Clean(text)             // whole
//	text = r.CleanGrowing(text)      // the beginning of a text that goes on
//
// It knows the secrets of the configuration as they are and as they are written in
// URLs, JSON, hex and base64, and what keys of well-known services look like. It
// cannot stop a model that spells a secret out; a sandbox without secrets does.
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
	mu    sync.Mutex // held while forms are replaced
	forms atomic.Pointer[forms]
}

// New makes a Redactor of secrets, of which empty and short ones are left out.
func New(secrets ...string) *Redactor {
	r := &Redactor{}
	r.forms.Store(&forms{})
	r.Add(secrets...)
	return r
}

// Add takes out further secrets from now on. What was known stays so: a secret that
// was changed is one still.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.forms.Load().secrets
	for _, s := range secrets {
		if len(s) >= Shortest && !slices.Contains(known, s) {
			known = append(slices.Clip(known), s)
		}
	}
	r.forms.Store(newForms(known))
}

// Clean returns s with a mark in place of each secret.
func (r *Redactor) Clean(s string) string {
	if r == nil {
		return s
	}
	return replaceSpans(s, r.find(s))
}

// CleanGrowing returns the beginning of s, a text that goes on, as Clean would: all
// but what may be the beginning of a secret whose rest has not come.
func (r *Redactor) CleanGrowing(s string) string {
	if r == nil {
		return s
	}
	hold := min(r.forms.Load().partialStart(s), partialPatternStart(s))
	found := r.find(s)
	for _, f := range found {
		if f.from < hold && hold < f.to { // it is whole already, or goes on as what it is
			hold = f.to
		}
	}
	cut := slices.IndexFunc(found, func(f span) bool { return f.from >= hold })
	if cut >= 0 {
		found = found[:cut]
	}
	return replaceSpans(s[:hold], found)
}

// span is a secret in a text.
type span struct{ from, to int }

// find returns where secrets stand in s, in order, none in another.
func (r *Redactor) find(s string) []span {
	found := findPatterns(s, r.forms.Load().find(s, nil))
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
