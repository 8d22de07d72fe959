package gateway

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"parley/agent"
	"parley/broker"
	"parley/channels"
	"parley/gateway/delivery"
	"parley/gateway/settings"
	"parley/gateway/tracing"
	"parley/gateway/worker"
	"parley/sessions"
)

// newTracer returns what makes traces of this process's work, in the log of that generation;
// nil: there are none.
func (es *editions) newTracer(generation string) (*tracing.Tracer, error) {
	if !es.cfg.Tracing.Enabled() {
		return nil, nil // see above
	}
	proxy, err := environmentProxy()
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() // of the standard library
	transport.Proxy = func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
	return tracing.New(tracing.Options{
		Config: es.cfg.Tracing, Version: es.o.Version, Instance: es.name(),
		TurnID:       func(token string, seq uint64) string { return worker.TurnID(generation, token, seq) },
		ProviderKind: func(name string) string { return conventionalProvider(es.present().cfg.Providers[name].Kind) },
		Transport:    transport, Observer: es.metrics, Logger: es.o.Logger, Now: es.o.Now,
	})
}

// conventionalProvider returns what the conventions for generative AI call a protocol: it says
// which telemetry is to be expected, not who runs the server.
func conventionalProvider(kind string) string {
	if kind == settings.KindOpenAIResponses {
		kind = settings.KindOpenAI
	}
	return kind
}

// traces has what this process does with messages traced; without a tracer nothing is.
type traces struct {
	tracer *tracing.Tracer
	log    *broker.Broker
}

// events returns next, with a span around what it queues.
func (t traces) events(next channels.Accept) channels.Accept {
	if t.tracer == nil {
		return next
	}
	return t.tracer.Accept(next)
}

// queue is the message log as the parts that queue messages have it.
type queue interface {
	worker.Log
	Last(ctx context.Context, token string) (uint64, error)
	Waiting(ctx context.Context, token string, after uint64) (int, error)
}

// queue is the message log of a part. What it queues begins a trace.
func (t traces) queue(part string) queue {
	if t.tracer == nil {
		return t.log
	}
	return tracedLog{Broker: t.log, tracer: t.tracer, part: part}
}

type tracedLog struct {
	*broker.Broker

	tracer *tracing.Tracer
	part   string
}

// Publish implements [worker.Log] and its like.
func (l tracedLog) Publish(ctx context.Context, e broker.Envelope) (uint64, error) {
	return l.tracer.Publish(ctx, l.part, l.Broker, e) // it is the log's
}

// turns returns what sees the work on turns; nil: nobody does.
func (t traces) turns() worker.Watcher {
	if t.tracer == nil {
		return nil
	}
	return turnTracer{t.tracer}
}

type turnTracer struct{ tracer *tracing.Tracer }

// Begin implements [worker.Watcher].
func (t turnTracer) Begin(w worker.Work) worker.TurnWatcher {
	turn := t.tracer.Begin(tracing.Take(w))
	if turn == nil {
		return nil
	}
	return turn
}

// Titled implements [worker.Watcher].
func (t turnTracer) Titled(turn string, r agent.CallReport) { t.tracer.Titled(turn, r) }

// deliveries returns what is called with each attempt at a delivery; nil: nothing is.
func (t traces) deliveries() func(sessions.Delivery, time.Time, delivery.Outcome) {
	if t.tracer == nil {
		return nil
	}
	return func(d sessions.Delivery, began time.Time, how delivery.Outcome) {
		failed := ""
		switch how {
		case delivery.Rejected, delivery.Dropped, delivery.Postponed:
			failed = string(how)
		case delivery.Delivered, delivery.Repeated, delivery.Overtaken:
		}
		t.tracer.Delivered(d, began, string(cmp.Or(how, delivery.Delivered)), failed)
	}
}
