package signal

import (
	"strings"
	"sync"
)

// people knows which numbers and ACIs are the same person. A number is one
// person's at a time: it goes to whoever was seen with it last.
type people struct {
	mu      sync.Mutex        // guards what is below
	numbers map[string]string // ACI by number
	acis    map[string]string // number by ACI
	changed bool
}

// maxPeople bounds the table. Beyond it somebody is forgotten.
const maxPeople = 1 << 14

func newPeople() *people {
	return &people{numbers: map[string]string{}, acis: map[string]string{}}
}

// note learns that an ACI and a number are the same person's.
func (p *people) note(aci, number string) {
	aci = strings.ToLower(aci)
	if !aciForm.MatchString(aci) || !numberForm.MatchString(number) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.numbers[number] == aci {
		return
	}
	if before := p.numbers[number]; before != "" {
		delete(p.acis, before)
	}
	if before := p.acis[aci]; before != "" {
		delete(p.numbers, before)
	}
	for old, who := range p.numbers {
		if len(p.numbers) < maxPeople {
			break
		}
		delete(p.numbers, old)
		delete(p.acis, who)
	}
	p.numbers[number], p.acis[aci], p.changed = aci, number, true
}

// aci is that of the person with a number, or "".
func (p *people) aci(number string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.numbers[number]
}

// number is that of the person with an ACI, or "".
func (p *people) number(aci string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acis[strings.ToLower(aci)]
}

// resolve returns the one id of the person whom an ACI or a number names, and their
// other one. It is "" when neither is one.
func (p *people) resolve(aci, number string) (id, alias string) {
	aci = strings.ToLower(aci)
	if !aciForm.MatchString(aci) {
		aci = ""
	}
	if !numberForm.MatchString(number) {
		number = ""
	}
	if aci == "" {
		aci = p.aci(number)
	} else if number == "" {
		number = p.number(aci)
	}
	if aci == "" {
		return number, ""
	}
	return aci, number
}

// takeSnapshot returns a copy of the table, by number.
func (p *people) takeSnapshot() (numbers map[string]string, changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	numbers = make(map[string]string, len(p.numbers))
	for k, v := range p.numbers {
		numbers[k] = v
	}
	changed, p.changed = p.changed, false
	return numbers, changed
}

// messageCache remembers what was said lately, to quote it, and which message an edit was
// of, since the next edit may name the edit. What is forgotten costs the text in
// a quote, or lets an edit of an edit be taken for a new message.
type messageCache struct {
	mu     sync.Mutex // guards what is below
	texts  map[string]string
	order  []string
	firsts map[string]string // the id of the first version, by the id of a later one
	edits  []string
}

const (
	maxSaid  = 512
	maxQuote = 200 // runes
	maxEdits = 128
)

func (s *messageCache) noteText(chat, id, text string) {
	if r := []rune(text); len(r) > maxQuote {
		text = string(r[:maxQuote]) + "…"
	}
	k := chat + "\x00" + id
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.texts == nil {
		s.texts = map[string]string{}
	}
	if _, known := s.texts[k]; !known {
		s.order = append(s.order, k)
	}
	s.texts[k] = text
	if len(s.order) > maxSaid {
		delete(s.texts, s.order[0])
		s.order = s.order[1:]
	}
}

func (s *messageCache) text(chat, id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.texts[chat+"\x00"+id]
}

// noteEdit notes that the message id is another version of target, and gives the
// first one.
func (s *messageCache) noteEdit(id, target string) (first string) {
	first = s.firstVersion(target)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addEdit(id, first)
	return first
}

// firstVersion returns the id of the first version of a message, by that of any.
func (s *messageCache) firstVersion(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.firsts[id]; ok {
		return f
	}
	return id
}

// addEdit notes an edit. The caller holds mu.
func (s *messageCache) addEdit(id, first string) {
	if s.firsts == nil {
		s.firsts = map[string]string{}
	}
	if _, known := s.firsts[id]; known || id == first {
		return
	}
	s.firsts[id] = first
	s.edits = append(s.edits, id)
	if len(s.edits) > maxEdits {
		delete(s.firsts, s.edits[0])
		s.edits = s.edits[1:]
	}
}

// storedEdit is one that is remembered, in a file.
type storedEdit struct {
	ID    string `json:"id"`
	First string `json:"first"`
}

// listEdits are the edits, oldest first.
func (s *messageCache) listEdits() []storedEdit {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]storedEdit, 0, len(s.edits))
	for _, id := range s.edits {
		out = append(out, storedEdit{id, s.firsts[id]})
	}
	return out
}

func (s *messageCache) restoreEdits(es []storedEdit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range es {
		s.addEdit(e.ID, e.First)
	}
}

// markChanged announces that the table is to be stored although nothing changed.
func (p *people) markChanged() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed = true
}
