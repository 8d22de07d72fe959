// Package openai speaks to OpenAI models, and to every server that speaks the
// Chat Completions protocol like it, streamed.
//
// The servers differ in details that cost money or lose text: chunk ids that
// change, usage that is missing or counts reasoning elsewhere, thinking in
// fields of many names, errors inside HTTP 200. The package puts chunks
// together by itself and takes all of these.
package openai

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"net/http"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

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
	BaseURL  string // of a compatible server, up to and without "chat/completions"; empty: DefaultBaseURL
	Headers  map[string]string

	// HTTPClient is used for its transport; redirects are never followed and
	// its Timeout is not used. Nil: http.DefaultTransport.
	HTTPClient *http.Client

	FirstByteTimeout time.Duration // 0: 60 s; long reasoning without any byte needs more
	IdleTimeout      time.Duration // 0: 60 s
	TotalTimeout     time.Duration // 0: 10 min

	// Info replaces what the catalogue says about the model when Window is not 0.
	Info llm.Info

	LegacyMaxTokens bool // send max_tokens, not max_completion_tokens, to servers that know only that
	PromptCacheKey  bool // send Request.CacheKey to another server than OpenAI's
	DropReasoning   bool // do not send reasoning back to servers that refuse it
}

// Model is one model behind the Chat Completions protocol. It is safe for
// concurrent use.
type Model struct {
	o      Options
	info   llm.Info
	limits wire.Limits
	chat   sdk.ChatCompletionService
}

var _ llm.Model = (*Model)(nil)

// New checks o and returns the model. It makes no request.
func New(o Options) (*Model, error) {
	if o.BaseURL == "" {
		o.BaseURL, o.PromptCacheKey = DefaultBaseURL, true
	}
	for _, required := range []struct{ name, value string }{
		{"provider", o.Provider}, {"model", o.Model},
	} {
		if required.value == "" {
			return nil, fmt.Errorf("openai model: %s: required", required.name)
		}
	}
	if o.BaseURL == DefaultBaseURL && o.APIKey == "" {
		return nil, fmt.Errorf("openai model: api key: required")
	}
	if err := wire.CheckBaseURL(o.BaseURL); err != nil {
		return nil, fmt.Errorf("openai model: base url: %w", err)
	}
	m := &Model{
		o:      o,
		info:   o.Info,
		limits: wire.Limits{FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout, Total: o.TotalTimeout},
	}
	if m.info.Window == 0 {
		m.info = llm.Lookup(o.Model)
	}
	// A bare service, unlike a client, reads nothing from the environment.
	options := []option.RequestOption{option.WithBaseURL(o.BaseURL), option.WithMaxRetries(0)}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	for name, value := range o.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	m.chat = sdk.NewChatCompletionService(options...)
	return m, nil
}

// Provider is the operator's name for the provider.
func (m *Model) Provider() string { return m.o.Provider }

// Name is the model's name as the provider knows it.
func (m *Model) Name() string { return m.o.Model }

// Info is what the model can take and give.
func (m *Model) Info() llm.Info { return m.info }

// Stream sends r once and yields the answer; see [llm.Model].
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		a := &answer{request: r, provider: m.o.Provider, model: m.o.Model, yield: yield}
		resp, fault := m.run(ctx, r, a)
		switch {
		case a.stopped:
		case fault != nil:
			fault.Provider, fault.Model = m.o.Provider, m.o.Model
			fault.Visible, fault.Received = a.visible, a.received
			fault.Usage = a.partial()
			if fault.RequestID == "" {
				fault.RequestID = a.id
			}
			yield(llm.Event{}, fault)
		default:
			yield(llm.Event{Type: llm.Complete, Response: resp}, nil)
		}
	}
}

// run makes the exchange and feeds a. Both results are nil when the consumer
// stopped.
func (m *Model) run(ctx context.Context, r llm.Request, a *answer) (*llm.Response, *llm.Error) {
	x := wire.Begin(ctx, m.o.HTTPClient, m.limits, m.secrets()...)
	defer x.End()

	params := m.params(r)
	if len(params.Messages) == 0 {
		return nil, &llm.Error{Kind: llm.InvalidRequest, Message: "no messages"}
	}
	stream := m.chat.NewStreaming(x.Context(), params, option.WithHTTPClient(x))
	if err := stream.Err(); err != nil {
		return nil, x.Fault(err)
	}
	events := ssestream.NewDecoder(x.Answer()) //nolint:bodyclose // x.End closes it
	for events.Next() {
		if err := ctx.Err(); err != nil {
			return nil, x.Fault(err)
		}
		data := events.Event().Data
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			x.Settle()
			return m.end(x, a)
		}
		if wire.IsError(data) {
			return nil, x.Reported(data)
		}
		err := a.take(data)
		switch {
		case a.stopped:
			return nil, nil
		case err != nil:
			return nil, x.Fault(err)
		}
	}
	if err := events.Err(); err != nil {
		return nil, x.Fault(err)
	}
	if !a.done() {
		return nil, x.Ended(a.chunks)
	}
	return m.end(x, a)
}

// end is what comes of a stream that ended in good order. A server may leave
// out [DONE]; it may not leave out why it stopped.
func (m *Model) end(x *wire.Exchange, a *answer) (*llm.Response, *llm.Error) {
	switch {
	case !a.choice:
		return nil, x.Failed(llm.Empty, "an answer without any choice")
	case a.finishReason == "error":
		return nil, x.Failed(llm.Server, "the provider stopped with an error")
	case !a.done():
		return nil, x.Fault(broken("the stream ends without a finish reason"))
	}
	resp, err := a.response(x.RequestID())
	switch {
	case a.stopped:
		return nil, nil
	case err != nil:
		return nil, x.Fault(err)
	}
	return resp, nil
}

func (m *Model) secrets() []string {
	secrets := []string{m.o.APIKey}
	for _, value := range m.o.Headers {
		secrets = append(secrets, value)
	}
	return secrets
}
