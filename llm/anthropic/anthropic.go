// Package anthropic speaks to Claude models through Anthropic's Messages API,
// streamed.
//
// It sends what the provider said in an earlier turn back byte for byte, as
// long as provider and model are the same, so that signed thinking stays
// valid; and it keeps the head of the request stable and marked, so that the
// provider's prompt cache is used.
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"time"

	"parley/llm"
	"parley/llm/wire"
)

// DefaultBaseURL is where requests go when Options do not say.
const DefaultBaseURL = "https://api.anthropic.com/"

// version is the version of the API. Anthropic changes nothing in one that its
// clients must know.
const version = "2023-06-01"

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
type Model struct {
	o        Options
	info     llm.Info
	limits   wire.Limits
	endpoint string
	header   http.Header
}

var _ llm.Model = (*Model)(nil)

// New checks o and returns the model. It makes no request.
func New(o Options) (*Model, error) {
	for _, required := range []struct{ name, value string }{
		{"provider", o.Provider}, {"model", o.Model}, {"api key", o.APIKey},
	} {
		if required.value == "" {
			return nil, fmt.Errorf("anthropic model: %s: required", required.name)
		}
	}
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	endpoint, err := llm.Endpoint(o.BaseURL, "v1/messages")
	if err != nil {
		return nil, fmt.Errorf("anthropic model: base url: %w", err)
	}
	m := &Model{
		o:        o,
		info:     o.Info,
		limits:   wire.Limits{FirstByte: o.FirstByteTimeout, Idle: o.IdleTimeout, Total: o.TotalTimeout},
		endpoint: endpoint,
		header:   http.Header{},
	}
	if m.info.Window == 0 {
		m.info = llm.Lookup(o.Model)
	}
	m.header.Set("X-Api-Key", o.APIKey)
	m.header.Set("Anthropic-Version", version)
	for name, value := range o.Headers {
		m.header.Set(name, value)
	}
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
		a := &answer{request: r, provider: m.o.Provider, model: m.o.Model, yield: yield, allowed: wire.NewAllowance(m.maxTokens(r))}
		resp, fault := m.run(ctx, r, a)
		switch {
		case a.stopped:
		case fault != nil:
			fault.Provider, fault.Model = m.o.Provider, m.o.Model
			fault.Visible, fault.Received = a.visible, a.allowed.Received()
			if fault.Sent {
				fault.Usage = a.usage.partialUsage()
			}
			fault.RequestID = orElse(fault.RequestID, a.id)
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

	body, err := m.encode(r)
	if err != nil {
		return nil, &llm.Error{Kind: llm.InvalidRequest, Message: err.Error(), Err: err}
	}
	if err := x.Post(m.endpoint, m.header, body); err != nil {
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
			err = a.allowed.Err()
		}
		switch {
		case a.stopped:
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

func (m *Model) secrets() []string {
	secrets := []string{m.o.APIKey}
	for _, value := range m.o.Headers {
		secrets = append(secrets, value)
	}
	return secrets
}

func orElse(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
