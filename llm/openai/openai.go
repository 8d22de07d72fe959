// Package openai speaks to OpenAI models, and to every server that speaks one
// of its two protocols, streamed: Chat Completions ([New]), which everybody
// knows, and Responses ([NewResponses]), in which OpenAI's own models keep
// their reasoning from one request to the next. (D09)
//
// The servers differ in details that cost money or lose text: chunk ids that
// change, usage that is missing or counts reasoning elsewhere, thinking in
// fields of many names, errors inside HTTP 200. The package puts chunks
// together by itself and takes all of these.
package openai

import (
	"bytes"
	"context"
	"iter"
	"net/http"
	"slices"
	"time"

	"parley/llm"
	"parley/llm/wire"
)

// DefaultBaseURL is where requests go when Options do not say.
const DefaultBaseURL = "https://api.openai.com/v1/"

// Options of one model. Nothing is read from the environment.
type Options struct {
	Provider string // the operator's name for the provider; required
	Model    string // required
	APIKey   string // required with DefaultBaseURL; a local server may need none
	BaseURL  string // of a compatible server, up to and without "chat/completions" or "responses"; empty: DefaultBaseURL
	Headers  map[string]string

	// HTTPClient is used for its transport; redirects are never followed and
	// its Timeout is not used. Nil: http.DefaultTransport.
	HTTPClient *http.Client

	FirstByteTimeout time.Duration // 0: 60 s; long reasoning without any byte needs more
	IdleTimeout      time.Duration // 0: 60 s
	TotalTimeout     time.Duration // 0: 10 min

	// Info replaces what the catalogue says about the model when Window is not 0.
	Info llm.Info

	LegacyMaxTokens bool // Chat: send max_tokens, not max_completion_tokens, to servers that know only that
	PromptCacheKey  bool // send Request.CacheKey to another server than OpenAI's
	DropReasoning   bool // do not send reasoning back to servers that refuse it
}

// Model is one model behind the Chat Completions protocol. It is safe for
// concurrent use.
type Model struct{ base }

var _ llm.Model = (*Model)(nil)

// New checks o and returns the model. It makes no request.
func New(o Options) (*Model, error) {
	b, err := newBase(o, "chat/completions")
	if err != nil {
		return nil, err
	}
	return &Model{base: b}, nil
}

// Stream sends r once and yields the answer; see [llm.Model].
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		a := &answer{incoming: m.newIncoming(r, yield)}
		resp, fault := m.run(ctx, r, a)
		a.Conclude(resp, fault, a.id, a.partialUsage())
	}
}

// run makes the exchange and feeds a. Both results are nil when the consumer
// stopped.
func (m *Model) run(ctx context.Context, r llm.Request, a *answer) (*llm.Response, *llm.Error) {
	x := m.Begin(ctx)
	defer x.End()
	if fault := m.post(x, r, m.request(r)); fault != nil {
		return nil, fault
	}
	for e, err := range x.Events() {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil && a.isDone() && ctx.Err() == nil: // nothing but the usage can be missing
			return m.finishStream(x, a)
		case err != nil:
			return nil, x.Fault(err)
		}
		if bytes.HasPrefix(e.Data, []byte("[DONE]")) {
			x.Drain()
			return m.finishStream(x, a)
		}
		var c chunk
		c, err = readChunk(e.Data)
		if (err != nil || c.Error != nil) && wire.IsError(e.Data) {
			return nil, x.ReportedFault(e.Data)
		}
		if err == nil {
			err = a.apply(c)
		}
		if err == nil {
			err = a.Allowed.Err()
		}
		switch {
		case a.Stopped:
			return nil, nil
		case err != nil:
			return nil, x.Fault(err)
		}
	}
	if !a.isDone() {
		return nil, x.CutFault(a.chunks)
	}
	return m.finishStream(x, a)
}

// finishStream returns what comes of a stream that ended in good order. A server may leave
// out [DONE]; it may not leave out why it stopped.
func (m *Model) finishStream(x *wire.Exchange, a *answer) (*llm.Response, *llm.Error) {
	switch {
	case !a.choice:
		return nil, x.ProtocolFault(llm.Empty, "an answer without any choice")
	case slices.Contains([]string{"error", "insufficient_system_resource", "abort"}, a.finishReason): // DeepSeek's and vLLM's words for half an answer
		return nil, x.ProtocolFault(llm.Server, "the provider stopped with an error")
	case !a.isDone():
		return nil, x.Fault(wire.Malformedf("the stream ends without a finish reason"))
	}
	resp, err := a.response(x.RequestID())
	switch {
	case a.Stopped:
		return nil, nil
	case err != nil:
		return nil, x.Fault(err)
	}
	return resp, nil
}
