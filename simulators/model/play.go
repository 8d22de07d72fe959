package model

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// told is what usage a client has been told.
type told uint8

const (
	toldNothing told = iota
	toldStart        // Anthropic's message_start
	toldAll
)

// stream is a rendered answer: one text, and where its events end. An answer
// that is not streamed is a single event.
type stream struct {
	text   []byte
	events []event
	total  int // billable bytes of the whole answer
	paced  bool

	// fail returns what ends a broken answer of Responses instead of its end.
	fail func(r *Refusal, number int) (text []byte, events int)
}

type event struct {
	end   int           // in text
	sent  int           // billable bytes up to here
	pause time.Duration // before it
	told  told          // what the client knows after it
}

// play sends the answer, as well as the fault lets it.
func (x *exchange) play() {
	h := x.w.Header()
	if x.entry.Stream {
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
	} else {
		h.Set("Content-Type", "application/json")
	}
	switch x.fault.Kind {
	case "", FaultNoUsage:
		x.playAll()
	case FaultSlow:
		x.playSlowly()
	default:
		x.playPart()
	}
}

func (x *exchange) sendHead() {
	if x.head {
		return
	}
	x.head, x.entry.Status = true, http.StatusOK
	x.w.WriteHeader(http.StatusOK)
}

// write hands bytes to the connection; false when the client has left.
func (x *exchange) write(b []byte) bool {
	x.sendHead()
	_, err := x.w.Write(b)
	if err == nil {
		err = http.NewResponseController(x.w).Flush()
	}
	if err != nil || x.ctx.Err() != nil {
		x.entry.Outcome = Aborted
		return false
	}
	return true
}

// noteSent notes that the first n events are being sent.
func (x *exchange) noteSent(n int) {
	if n == 0 {
		return
	}
	e := &x.answer.events[n-1]
	x.sent, x.told = e.sent, e.told
	if x.entry.Stream {
		x.entry.Events = n
	}
}

func (x *exchange) playAll() {
	a := x.answer
	if !x.entry.Stream {
		x.w.Header().Set("Content-Length", strconv.Itoa(len(a.text)))
	}
	if !a.paced {
		x.complete()
		x.write(a.text)
		return
	}
	from := 0
	for i := range a.events {
		e := &a.events[i]
		if e.pause > 0 {
			// What has been rendered before a pause goes out together.
			if from < e.end && i > 0 && !x.write(a.text[from:a.events[i-1].end]) {
				return
			}
			if i > 0 {
				from = a.events[i-1].end
			}
			if !x.pause(e.pause) {
				return
			}
		}
		x.noteSent(i + 1)
	}
	x.complete()
	x.write(a.text[from:])
}

// complete books the whole answer before its last byte leaves, so that who
// has that byte finds it on the bill.
func (x *exchange) complete() {
	x.sendHead()
	x.noteSent(len(x.answer.events))
	x.entry.Outcome = Complete
	x.settle()
}

func (x *exchange) playSlowly() {
	a, each := x.answer, cmp.Or(time.Duration(x.fault.Hold), time.Second)
	next := 0
	for i := range a.text {
		if i > 0 && !x.pause(each) {
			return
		}
		if next < len(a.events) && a.events[next].end == i+1 {
			next++
			x.noteSent(next)
		}
		if i == len(a.text)-1 {
			x.complete()
		}
		if !x.write(a.text[i : i+1]) {
			return
		}
	}
}

// playPart sends the beginning of the answer, and then what the fault says.
func (x *exchange) playPart() {
	a, n := x.answer, 0
	part := a.text[:len(a.text)/2]
	if x.entry.Stream {
		n = min(x.fault.After, len(a.events)-1)
		if x.fault.Kind == FaultSilentAfter {
			n = max(n, 1)
		}
		part = nil
		if n > 0 {
			part = a.text[:a.events[n-1].end]
		}
	}
	for i := range n {
		if !x.pause(a.events[i].pause) {
			return
		}
	}
	x.noteSent(n)
	x.entry.Outcome = Cut
	switch x.fault.Kind {
	case FaultErrorEvent:
		part = x.errorEvent(part)
	case FaultGarbage:
		x.entry.Outcome = Spoiled
		part = append(part[:len(part):len(part)], x.garbage()...)
	case FaultEnd:
	default:
		if !x.write(part) {
			return
		}
		x.breakOff()
		return
	}
	x.sendHead()
	x.settle()
	x.write(part)
}

// breakOff ends a connection of which something was sent.
func (x *exchange) breakOff() {
	switch x.fault.Kind {
	case FaultSilentAfter:
		x.entry.Outcome = Aborted
		if x.stall(time.Duration(x.fault.Hold)) {
			x.entry.Outcome, x.broken = Cut, closed
		}
	case FaultCut:
		x.broken = reset
	default:
		x.broken = closed
	}
}

// failHead does the faults that happen instead of a response head, and says
// whether there was one.
func (x *exchange) failHead() bool {
	switch f := &x.fault; f.Kind {
	case FaultStatus:
		h := x.w.Header()
		if f.RetryAfter > 0 {
			after := time.Duration(f.RetryAfter)
			value := strconv.FormatInt(int64((after+time.Second-1)/time.Second), 10)
			if f.RetryDate {
				value = x.s.o.Now().Add(after).UTC().Format(http.TimeFormat)
			}
			h.Set("Retry-After", value)
		}
		if f.HTMLBody {
			x.send(f.Status, "text/html", page(f.Status))
			return true
		}
		x.refuse(&Refusal{Status: f.Status})
	case FaultHTML:
		x.send(http.StatusOK, "text/html; charset=utf-8", page(http.StatusOK))
	case FaultSilentBefore:
		if x.stall(time.Duration(f.Hold)) {
			x.entry.Outcome, x.broken = Cut, closed
		}
	default:
		return false
	}
	return true
}

func page(status int) []byte {
	text := strconv.Itoa(status) + " " + http.StatusText(status)
	return []byte("<html>\r\n<head><title>" + text + "</title></head>\r\n<body>\r\n<center><h1>" + text +
		"</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n")
}

// errorEvent is part with an error behind it; an answer that is not streamed
// is the error alone.
func (x *exchange) errorEvent(part []byte) []byte {
	r := Refusal{Status: cmp.Or(x.fault.Status, 529)}
	p := x.entry.Protocol
	text, events := r.body(p, ""), 1
	switch {
	case x.answer.fail != nil:
		text, events = x.answer.fail(&r, x.entry.Events)
	case x.entry.Stream && p == Anthropic:
		text = fmt.Appendf(nil, "event: error\ndata: %s\n\n", text)
	case x.entry.Stream:
		text = fmt.Appendf(nil, "data: %s\n\n", text)
	}
	if !x.entry.Stream {
		x.told = toldNothing
		return text
	}
	x.entry.Events += events
	return slices.Concat(part, text)
}

func (x *exchange) garbage() []byte {
	if !x.entry.Stream {
		return []byte(`{"}]`)
	}
	x.entry.Events++
	if x.entry.Protocol == Anthropic {
		return []byte("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"ty\n\n")
	}
	if x.entry.Protocol == OpenAIResponses {
		return []byte("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequ\n\n")
	}
	return []byte("data: {\"id\":\"chatcmpl-\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"del\n\n")
}

// breakConnection breaks the connection if that is what the fault asks for. Without a
// connection of its own the handler is aborted instead.
func (x *exchange) breakConnection() {
	switch x.broken {
	case intact:
		return
	case reset:
		conn, _, err := http.NewResponseController(x.w).Hijack()
		if err != nil {
			break
		}
		if tcp, ok := conn.(*net.TCPConn); ok {
			tcp.SetLinger(0) //nolint:errcheck // then it is closed in the ordinary way
		}
		conn.Close() //nolint:errcheck // it is broken on purpose
		return
	case closed:
	}
	panic(http.ErrAbortHandler)
}
