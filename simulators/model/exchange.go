package model

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// exchange is one request and its answer.
type exchange struct {
	s     *Server
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context
	fault Fault

	entry   Entry
	receipt receipt

	answer *stream
	full   Usage // of the whole answer
	start  Usage // what the beginning of the answer tells
	sent   int   // billable bytes that were sent
	told   told  // what usage the client was told
	head   bool  // the response head was sent
	broken breakage
}

// breakage is what happens to the connection in the end.
type breakage int

const (
	intact breakage = iota
	reset           // RST
	closed          // FIN in the middle of the body
)

func requestIDHeader(p Protocol) string {
	if p == Anthropic {
		return "Request-Id"
	}
	return "X-Request-Id"
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, p Protocol) {
	if !s.busy.enter() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	x := &exchange{s: s, w: w, r: r, ctx: r.Context(), receipt: s.ledger.open()}
	client, _, _ := net.SplitHostPort(r.RemoteAddr) // within a process there may be none
	x.entry = Entry{ID: s.names.request(), Protocol: p, At: s.o.Now(), Client: client}
	w.Header().Set(requestIDHeader(p), x.entry.ID)
	func() {
		defer s.busy.leave()
		defer func() { // also when a brain panics
			x.settle()
			if s.o.OnServed != nil {
				s.o.OnServed(x.entry)
			}
		}()
		x.entry.Outcome = Aborted
		x.run()
	}()
	x.breakConnection()
}

func (x *exchange) run() {
	p := x.entry.Protocol
	if x.r.Method != http.MethodPost {
		x.w.Header().Set("Allow", http.MethodPost)
		x.refuse(&Refusal{Status: http.StatusMethodNotAllowed})
		return
	}
	if refusal := x.s.authorise(p, x.r); refusal != nil {
		x.refuse(refusal)
		return
	}
	if p == Anthropic && x.r.Header.Get("Anthropic-Version") == "" {
		x.refuse(invalid("anthropic-version: header is required"))
		return
	}
	if p == OpenAITranscriptions {
		x.transcribe()
		return
	}
	body := x.read(x.s.o.MaxBody, &Refusal{Status: http.StatusRequestEntityTooLarge})
	if body == nil {
		return
	}
	prompt := &Prompt{ID: x.entry.ID, Protocol: p, Body: body}
	prompt.bindingControls = hasBeta(x.r.Header, bindingBeta)
	refusal, _ := stage.Refused[Refusal](func() { x.s.parse(prompt) })
	x.entry.Model, x.entry.Stream = prompt.Model, prompt.Stream
	if refusal == nil {
		refusal = prompt.judgeWindow(x.s.o.Window)
	}
	if refusal != nil {
		x.refuse(refusal)
		return
	}
	x.fault = x.s.plan.pick(prompt)
	x.entry.Fault = x.fault.Kind
	if x.failHead() {
		return
	}
	answer := x.s.o.Brain(x.ctx, prompt)
	if !x.pause(answer.Latency) {
		return
	}
	if answer.Refuse != nil {
		x.refuse(answer.Refuse)
		return
	}
	x.respond(prompt, &answer)
}

// read reads the body and records the request. It returns nil when that is too large,
// which is refused, or the client left.
func (x *exchange) read(limit int64, tooLarge *Refusal) []byte {
	body, err := readBody(x.w, x.r, limit)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			x.refuse(tooLarge)
		}
		return nil
	}
	r := Recorded{ID: x.entry.ID, At: x.entry.At, Protocol: x.entry.Protocol, Body: body}
	if x.s.tape.limit > 0 {
		r.Header = withoutSecrets(x.r.Header)
	}
	x.s.tape.add(r)
	return body
}

// respond counts, renders and plays a.
func (x *exchange) respond(p *Prompt, a *Answer) {
	x.full = x.s.cache.input(p)
	if p.MaxTokens > 0 && a.Usage == nil {
		if blocks, short := clip(a.Blocks, p.MaxTokens); short {
			a.Blocks, a.Finish = blocks, Length
		}
	}
	output, reasoning := count(a.Blocks)
	x.full.Output, x.full.Reasoning = int64(output), int64(reasoning)
	if a.Usage != nil {
		x.full = *a.Usage
	}
	x.start = x.full
	if a.Start != nil {
		x.start = *a.Start
	}
	d := &draft{s: x.s, prompt: p, answer: a, full: x.full, start: x.start, noUsage: x.fault.Kind == FaultNoUsage, at: x.entry.At}
	d.prepare()
	x.entry.Message = d.id
	switch p.Protocol {
	case Anthropic:
		x.answer = anthropicAnswer{d}.render()
	case OpenAIResponses:
		x.answer = responsesAnswer{d}.render()
	default:
		x.answer = openaiAnswer{d}.render()
	}
	x.play()
}

// settle writes the bill as things stand.
func (x *exchange) settle() {
	e := &x.entry
	e.Usage, e.Reported = Usage{}, nil
	if x.head && x.answer != nil {
		e.Usage = x.full
		if e.Stream {
			e.Usage = x.full.prorate(x.sent, x.answer.total)
		}
		switch x.told {
		case toldNothing:
		case toldStart:
			u := x.start
			u.Output, u.Reasoning = 1, 0
			e.Reported = &u
		case toldAll:
			u := x.full
			e.Reported = &u
		}
	}
	if !x.head {
		e.Message = ""
	}
	x.s.ledger.book(&x.receipt, e)
}

// refuse answers with an error status.
func (x *exchange) refuse(r *Refusal) {
	body := r.body(x.entry.Protocol, x.entry.ID)
	x.entry.Error = r.Message
	x.send(r.Status, "application/json", body)
}

// send gives a whole answer that no model made.
func (x *exchange) send(status int, contentType string, body []byte) {
	x.entry.Outcome, x.entry.Status = Refused, status
	if status < 400 {
		x.entry.Outcome = Spoiled
	}
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.settle()
	x.w.WriteHeader(status)
	x.w.Write(body) //nolint:errcheck // the client has left
}

// pause waits; false when the request ended meanwhile.
func (x *exchange) pause(d time.Duration) bool {
	if d <= 0 {
		return x.ctx.Err() == nil
	}
	return stage.Pause(d, x.ctx, x.ctx)
}

// stall is silent for d, or until the request ends if d is 0; false when the
// request ended.
func (x *exchange) stall(d time.Duration) bool {
	if d > 0 {
		return x.pause(d)
	}
	<-x.ctx.Done()
	return false
}

func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	body := http.MaxBytesReader(w, r.Body, limit)
	if r.ContentLength < 0 {
		return io.ReadAll(body)
	}
	b := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(body, b); err != nil {
		return nil, err
	}
	// Only after the end of the body was read is a client noticed that leaves.
	_, err := io.Copy(io.Discard, body)
	return b, err
}

// authorise checks the key.
func (s *Server) authorise(p Protocol, r *http.Request) *Refusal {
	if len(s.o.Keys) == 0 {
		return nil
	}
	given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if p == Anthropic && r.Header.Get("X-Api-Key") != "" {
		given, bearer = r.Header.Get("X-Api-Key"), true
	}
	if !bearer || given == "" {
		if p == Anthropic {
			return &Refusal{Status: 401, Message: "x-api-key header is required"}
		}
		return &Refusal{Status: 401, Type: "invalid_request_error", Message: "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."}
	}
	sum := sha256.Sum256([]byte(given))
	for _, key := range s.o.Keys {
		want := sha256.Sum256([]byte(key))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 1 {
			return nil
		}
	}
	return &Refusal{Status: 401}
}
