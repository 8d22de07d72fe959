// Package anthropic speaks to Claude models through Anthropic's Messages API,
// streamed.
//
// It sends what the provider said in an earlier turn back byte for byte, as
// long as provider and model are the same, so that signed thinking stays
// valid; and it keeps the head of the request stable and marked, so that the
// provider's prompt cache is used.
package anthropic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"parley/costs"
	"parley/llm"
	"parley/llm/wire"
)

// DefaultBaseURL is where requests go when Options do not say.
const DefaultBaseURL = "https://api.anthropic.com/"

// version is the version of the API. Anthropic changes nothing in one that its
// clients must know.
const version = "2023-06-01"

// bindingBeta is the feature by which a request says what becomes of thinking that stands
// behind something else than it did: such thinking is dropped, not the request. (Claude API:
// preserved thinking)
const bindingBeta = "thinking-binding-controls-2026-08-01"

// Options of one model. Nothing is read from the environment or from profile
// files.
type Options struct {
	Provider string // the operator's name for the provider; required
	Model    string // required
	APIKey   string // required; it goes out in the header X-Api-Key and nowhere else
	BaseURL  string // empty: DefaultBaseURL
	Headers  map[string]string

	// HTTPClient is used for its transport; redirects are never followed and
	// its Timeout is not used. Nil: http.DefaultTransport.
	HTTPClient *http.Client

	FirstByteTimeout time.Duration // 0: 60 s
	IdleTimeout      time.Duration // 0: 60 s; pings of the provider count as life
	TotalTimeout     time.Duration // 0: 10 min

	// Info replaces what the catalogue says about the model when Window is not 0.
	Info llm.Info
}

// Model is one Claude model. It is safe for concurrent use.
type Model struct{ wire.Client }

var _ llm.Model = (*Model)(nil)

// New checks o and returns the model. It makes no request.
func New(o Options) (*Model, error) {
	if o.APIKey == "" {
		return nil, fmt.Errorf("anthropic model: %w", wire.ErrNoKey)
	}
	o.BaseURL = cmp.Or(o.BaseURL, DefaultBaseURL)
	header := http.Header{}
	header.Set("X-Api-Key", o.APIKey)
	header.Set("Anthropic-Version", version)
	if o.Info.Window == 0 {
		o.Info = llm.Lookup(o.Model)
	}
	if o.Info.Thinking.Bound {
		header.Set("Anthropic-Beta", bindingBeta)
	}
	c, err := wire.NewClient(wire.Setup(o), "v1/messages", header)
	if err != nil {
		return nil, fmt.Errorf("anthropic model: %w", err)
	}
	return &Model{c}, nil
}

// Stream sends r once and yields the answer; see [llm.Model].
func (m *Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		a := &answer{Sink: m.NewSink(r, yield), request: r, provider: m.Provider(), model: m.Name()}
		resp, fault := m.run(ctx, r, a)
		var used *costs.Usage
		if fault != nil && fault.Sent {
			used = a.usage.partialUsage()
		}
		a.Conclude(resp, fault, a.id, used)
	}
}

// run makes the exchange and feeds a. Both results are nil when the consumer
// stopped.
func (m *Model) run(ctx context.Context, r llm.Request, a *answer) (*llm.Response, *llm.Error) {
	x := m.Begin(ctx)
	defer x.End()

	body, err := m.encode(r)
	if err != nil {
		return nil, &llm.Error{Kind: llm.InvalidRequest, Message: err.Error(), Err: err}
	}
	if err := m.Post(x, body...); err != nil {
		return nil, x.Fault(err)
	}
	for e, err := range x.Events() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, x.Fault(err)
		}
		done, err := a.apply(e.Data)
		if err == nil {
			err = a.Allowed.Err()
		}
		switch {
		case a.Stopped:
			return nil, nil
		case errors.Is(err, errReported):
			return nil, x.ReportedFault(e.Data)
		case err != nil:
			return nil, x.Fault(err)
		case done:
			x.Drain()
			return a.response(x.RequestID()), nil
		}
	}
	return nil, x.CutFault(a.events)
}
