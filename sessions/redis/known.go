package redis

import (
	"slices"
	"strings"
	"sync"

	"parley/sessions/rules"
)

// maxKnown is how many rows, and how many sets, are remembered, about.
const maxKnown = 16384

// rowCache is what this process has read or written last. Whoever believes it has the
// commit compare. The zero value is ready.
type rowCache struct {
	mu   sync.Mutex
	era  string                   // in which all this was so; what is told of another one is dropped
	rows map[rules.Key]*storedRow // never changed in place
	sets map[string][]string      // members of sets, by the command that lists them; sorted
}

// row returns what is known of a row; nil: nothing.
func (k *rowCache) row(era string, key rules.Key) *storedRow {
	k.mu.Lock()
	defer k.mu.Unlock()
	if era != k.era {
		return nil
	}
	return k.rows[key]
}

func (k *rowCache) set(era string, command []string) ([]string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if era != k.era {
		return nil, false
	}
	members, ok := k.sets[strings.Join(command, " ")]
	return members, ok
}

// learnRead notes a row that was read, if it is of a kind that one process mostly uses
// alone.
func (k *rowCache) learnRead(era string, key rules.Key, st *storedRow) {
	switch key.(type) {
	case rules.MailboxKey, rules.TurnKey, rules.SessionKey, rules.CallKey, rules.AnswerKey:
		k.learn(era, key, st)
	}
}

// learnWritten notes a row that this process has written: besides, the lease that it holds.
func (k *rowCache) learnWritten(era string, key rules.Key, st *storedRow) {
	if _, lease := key.(rules.WorkerKey); lease {
		k.learn(era, key, st)
		return
	}
	k.learnRead(era, key, st)
}

func (k *rowCache) learn(era string, key rules.Key, st *storedRow) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if era != k.era {
		return
	}
	if was := k.rows[key]; was != nil && st.row != nil && was.isNewer(st) {
		return // who read it before was slower
	}
	if st.row == nil || isFinal(st.row) {
		delete(k.rows, key)
		return
	}
	if k.rows == nil || len(k.rows) >= maxKnown {
		k.rows = map[rules.Key]*storedRow{}
	}
	k.rows[key] = st
}

// isNewer reports whether a row stands as it was written after o was.
func (s *storedRow) isNewer(o *storedRow) bool {
	return s.fields.int("v") > o.fields.int("v")
}

// isFinal reports whether a row is seldom read again.
func isFinal(r rules.Row) bool {
	switch r := r.(type) {
	case rules.Call:
		return r.State != rules.CallOpen
	case rules.Answer:
		return r.Done
	}
	return false
}

// keep notes a member that was put into a set, or taken out of it.
func (k *rowCache) keep(era string, m member) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if era != k.era {
		return
	}
	command := "SMEMBERS " + m.set
	was, ok := k.sets[command]
	if !ok {
		return
	}
	at, there := slices.BinarySearch(was, m.name)
	switch {
	case m.in && !there:
		k.sets[command] = slices.Insert(slices.Clone(was), at, m.name)
	case !m.in && there:
		k.sets[command] = slices.Delete(slices.Clone(was), at, at+1)
	}
}

// list notes the members of a set that one process mostly uses alone.
func (k *rowCache) list(era string, command, members []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if era != k.era {
		return
	}
	if k.sets == nil || len(k.sets) >= maxKnown {
		k.sets = map[string][]string{}
	}
	k.sets[strings.Join(command, " ")] = members
}

// forgetRead forgets what an operation believed.
func (k *rowCache) forgetRead(r *reading) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key := range r.seen {
		delete(k.rows, key)
	}
	for _, l := range r.lists {
		delete(k.sets, strings.Join(l.command, " "))
	}
}

// begin forgets all of another era: its rows may have been lost, and others may
// have got their versions since.
func (k *rowCache) begin(era string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.era, k.rows, k.sets = era, nil, nil
}
