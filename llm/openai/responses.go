package openai

import (
	"bytes"
	"context"
	"iter"

	"parley/llm"
	"parley/llm/wire"
)

// Responses is one model behind the Responses protocol, used without any state
// at the provider: nothing is stored there, and every request brings the whole
// history. What the model reasoned comes encrypted and goes back as it came,
// item by item. It is safe for concurrent use.
type Responses struct{ base }

var _ llm.Model = (*Responses)(nil)

// NewResponses checks o as [New] does and returns the model. It makes no
// request. Encrypted reasoning is asked for when Info says that the model takes
// an effort: OpenAI refuses the wish for a model that does not reason.
func NewResponses(o Options) (*Responses, error) {
	b, err := newBase(o, "responses")
	if err != nil {
		return nil, err
	}
	return &Responses{base: b}, nil
}

// Stream sends r once and yields the answer; see [llm.Model].
func (m *Responses) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		a := &responsesAnswer{incoming: m.newIncoming(r, yield)}
		resp, fault := m.run(ctx, r, a)
		a.Conclude(resp, fault, a.id, a.partialUsage())
	}
}

// run makes the exchange and feeds a. Both results are nil when the consumer
// stopped.
func (m *Responses) run(ctx context.Context, r llm.Request, a *responsesAnswer) (*llm.Response, *llm.Error) {
	x := m.Begin(ctx)
	defer x.End()
	if fault := m.post(x, r, m.request(r)); fault != nil {
		return nil, fault
	}
	for sent, err := range x.Events() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, x.Fault(err)
		}
		if bytes.HasPrefix(sent.Data, []byte("[DONE]")) { // of servers that made this protocol out of the other one
			return nil, x.CutFault(a.events)
		}
		e, err := decodeEvent(sent.Name, sent.Data)
		if err != nil {
			return nil, x.Fault(err)
		}
		if e.Type == "error" || isPresent(e.Error) {
			return nil, reportedFault(x, sent.Data)
		}
		if err = a.apply(e); err == nil {
			err = a.Allowed.Err()
		}
		switch {
		case a.Stopped:
			return nil, nil
		case err != nil:
			return nil, x.Fault(err)
		case a.status != "":
			x.Drain()
			return a.finishStream(x)
		}
	}
	return nil, x.CutFault(a.events)
}

// finishStream returns what comes of a stream that said how it ended.
func (a *responsesAnswer) finishStream(x *wire.Exchange) (*llm.Response, *llm.Error) {
	switch {
	case a.status == "failed":
		return nil, reportedFault(x, a.failure)
	case a.status == "cancelled":
		return nil, x.ProtocolFault(llm.Server, "the provider cancelled the answer")
	case a.status == "completed" && len(a.items) == 0:
		return nil, x.ProtocolFault(llm.Empty, "an answer without any output")
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
