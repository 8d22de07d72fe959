package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// draft is an answer on its way to the wire.
type draft struct {
	s       *Server
	prompt  *Prompt
	answer  *Answer
	full    Usage
	start   Usage
	noUsage bool
	at      time.Time

	id     string // of the message
	blocks []Block
	items  []string // ids of the blocks as items of Responses
	calls  int      // of the blocks
	before int      // events of Responses that are not in out

	out   stream
	sent  int
	first bool // no content yet
}

// prepare gives the blocks their identifiers and signatures.
func (d *draft) prepare() {
	d.id, d.first = d.s.names.message(d.prompt.Protocol), true
	d.blocks = append([]Block(nil), d.answer.Blocks...)
	thought, before := false, d.prompt.lastThinking()
	for i := range d.blocks {
		b := &d.blocks[i]
		d.out.total += b.billable()
		if d.prompt.Protocol == OpenAIResponses {
			responsesAnswer{d}.prepareItem(b)
			continue
		}
		switch b.Kind {
		case ThinkingBlock:
			thought = true
			if shown := d.prompt.display; shown != nil && *shown == "omitted" { // billed all the same
				b.Text, b.hidden = "", len(b.Text)
			}
			if b.Signature == "" {
				b.Signature = d.s.seals.signature(b.Text)
			} else {
				d.s.seals.chosen.add([2]string{b.Text, b.Signature})
			}
			if d.prompt.bound {
				b.Signature = d.prompt.bind(b.Signature, before)
			}
			before = b.Signature
		case RedactedBlock:
			thought = true
			if b.Signature == "" {
				b.Signature = d.s.seals.redacted(b.Text)
			} else {
				d.s.seals.chosen.add([2]string{"", b.Signature})
			}
		case CallBlock:
			d.prepareCall(b)
			if thought && d.prompt.Protocol == Anthropic {
				d.s.seals.after.add(b.ID)
			}
		case TextBlock:
		}
	}
}

func (d *draft) prepareCall(b *Block) {
	d.calls++
	b.ID = cmp.Or(b.ID, d.s.names.call(d.prompt.Protocol))
	b.Input = cmp.Or(b.Input, "{}")
}

func (d *draft) finish() Finish {
	if d.answer.Finish == "" && d.calls > 0 {
		return ToolUse
	}
	return cmp.Or(d.answer.Finish, EndTurn)
}

// put appends a template, in which each ? stands for the next value as JSON.
func (d *draft) put(template string, values ...any) {
	b := d.out.text
	for _, v := range values {
		before, after, _ := strings.Cut(template, "?")
		b, template = append(b, before...), after
		switch v := v.(type) {
		case string:
			b = appendQuoted(b, v)
		case int:
			b = strconv.AppendInt(b, int64(v), 10)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case bool:
			b = strconv.AppendBool(b, v)
		case json.RawMessage:
			b = append(b, v...)
		case nil:
			b = append(b, "null"...)
		}
	}
	d.out.text = append(b, template...)
}

// end ends an event whose closing brace was left out.
func (d *draft) end(know told) {
	d.put("}\n\n")
	d.event(know)
}

// head writes the beginning of an event, whose closing brace is left out.
func (d *draft) head(kind string) {
	d.put("event: " + kind + "\ndata: " + `{"type":"` + kind + `"`)
}

// event ends an event.
func (d *draft) event(know told) {
	if n := len(d.out.events); n > 0 && know == toldNothing {
		know = d.out.events[n-1].told
	}
	d.out.events = append(d.out.events, event{end: len(d.out.text), sent: d.sent, told: know})
}

// knows is what usage a client is told with the whole answer.
func (d *draft) knows() told {
	if d.noUsage {
		return toldNothing
	}
	return toldAll
}

// content ends an event that brought n billable bytes, at the answer's pace.
func (d *draft) content(n int) {
	d.sent += n
	d.event(toldNothing)
	e := &d.out.events[len(d.out.events)-1]
	e.pause = d.answer.Pace
	if d.first {
		d.first, e.pause = false, d.answer.FirstToken
	}
	d.out.paced = d.out.paced || e.pause > 0
}

// argumentBytes is the size of the pieces in which the arguments of a call come.
const argumentBytes = 24

// pieces cuts text into what one event brings: words with the space behind
// them, or size bytes if that is not 0, never half a character.
func pieces(text string, size int, yield func(string)) {
	for len(text) > 0 {
		n := min(size, len(text))
		if size <= 0 {
			n = wordEnd(text)
		}
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n++
		}
		yield(text[:n])
		text = text[n:]
	}
}

// longestWord bounds a piece that has no space in it.
const longestWord = 64

func wordEnd(s string) int {
	for i := 0; i < len(s); i++ {
		if isSpace(s[i]) {
			for i < len(s) && isSpace(s[i]) {
				i++
			}
			return i
		}
		if i >= longestWord && utf8.RuneStart(s[i]) {
			return i
		}
	}
	return len(s)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' }

// appendQuoted appends s as a JSON string. What is not UTF-8 is replaced.
func appendQuoted(b []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return append(append(append(b, '"'), s...), '"')
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string and memory: cannot fail
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

// objectOrEmpty is input if it is a JSON object, else an empty one.
func objectOrEmpty(input string) json.RawMessage {
	if raw := json.RawMessage(input); isObject(raw) && json.Valid(raw) {
		return raw
	}
	return json.RawMessage("{}")
}
