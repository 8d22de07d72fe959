// Package tracing makes traces of what happens to messages, from the event of the network
// to the delivery of the answer, and sends them to a server by OTLP over HTTP.
//
//	receive tg                       Accept, Queued: intake, or what else queues a message
//	├── invoke_agent main            Turn: the events of a turn, in the process that runs it
//	│   ├── chat claude-…
//	│   └── execute_tool sessions_spawn
//	│       └── invoke_agent main    a sub-agent, by the same events
//	└── send tg                      Delivered: in the process that has the channel
//
// All of it hangs together by the id of the turn, which every process knows; nothing is
// stored or sent along for it. What is said by people, models and tools is in no span, nor is
// who they are. Spans may be lost; nothing waits for them and nothing depends on them.
package tracing

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"

	"parley/broker"
	"parley/wake"
)

// Observer counts. Calls must not block.
type Observer interface {
	// CountSpans counts spans by what became of them; see outcomes.Spans.
	CountSpans(outcome string, n int)
}

// Options is what a tracer is made of.
type Options struct {
	Config   Config // Enabled and valid
	Version  string // of parley
	Instance string // the name of this process

	// TurnID returns the id of the turn that the message at seq of a mailbox opens.
	TurnID func(token string, seq uint64) string
	// ProviderKind returns which protocol a configured provider speaks, as the conventions name
	// it; "" for one that is not configured any more. It must not block.
	ProviderKind func(name string) string

	Transport http.RoundTripper // nil: http.DefaultTransport
	Observer  Observer
	Logger    *slog.Logger
	Now       func() time.Time
}

// Tracer makes traces. Make one with New and run it once. Its methods never block, and may be
// called concurrently; spans that are made while Run does not run wait, or are dropped.
type Tracer struct {
	o        Options
	sampler  sampler
	exporter *exporter
}

// New checks and wires; it starts nothing.
func New(o Options) (*Tracer, error) {
	o.Config = o.Config.Defaults()
	if err := o.Config.Validate(); err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	address, err := o.Config.url()
	if err != nil {
		return nil, fmt.Errorf("tracing: endpoint: %w", err)
	}
	header := http.Header{"Content-Type": {"application/x-protobuf"}, "User-Agent": {"parley/" + cmp.Or(o.Version, "devel")}}
	for name, value := range o.Config.Headers {
		header.Set(name, value.Reveal())
	}
	e := &exporter{
		url: address, header: header,
		client: &http.Client{
			Transport: o.Transport,
			// What the headers hold is for this server alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		resource: &resource.Resource{Attributes: []*common.KeyValue{text(attrService, o.Config.Service)}},
		scope:    &common.InstrumentationScope{Name: "parley", Version: o.Version},
		count:    o.Observer.CountSpans, log: o.Logger,
		fresh: wake.New(), full: wake.New(),
	}
	for key, value := range map[string]string{attrVersion: o.Version, attrInstance: o.Instance} {
		if value != "" {
			e.resource.Attributes = append(e.resource.Attributes, text(key, value))
		}
	}
	return &Tracer{o: o, sampler: newSampler(o.Config.Sampling), exporter: e}, nil
}

// Run sends spans until ctx ends, and then for a few seconds what is left. It returns nil.
func (t *Tracer) Run(ctx context.Context) error {
	t.exporter.run(ctx)
	return nil
}

// Examine asks the server whether it takes traces, by sending it none. It may be called in the place
// of Run.
func (t *Tracer) Examine(ctx context.Context) error {
	_, err := t.exporter.post(ctx, nil)
	return err
}

// Endpoint returns the server's address without its path.
func (t *Tracer) Endpoint() string { return t.exporter.url.Scheme + "://" + t.exporter.url.Host }

// Log is the part of the message log by which messages are queued.
type Log interface {
	Publish(ctx context.Context, e broker.Envelope) (seq uint64, err error)
}

// Publish calls log.Publish, and begins the trace of what it queues; by says which part does.
func (t *Tracer) Publish(ctx context.Context, by string, log Log, e broker.Envelope) (seq uint64, err error) {
	began := t.o.Now()
	if seq, err = log.Publish(ctx, e); err == nil {
		t.queued(ctx, by, e, seq, began)
	}
	return seq, err // it is the log's
}
