package model

import "encoding/json"

// responsesAnswer renders a draft as OpenAI Responses does.
type responsesAnswer struct{ *draft }

// responseEnd is f in the words of Responses: the status, and why it is
// incomplete.
func responseEnd(f Finish) (status, reason string) {
	switch f {
	case EndTurn, ToolUse, Stopped, Paused:
		return "completed", ""
	case Length:
		return "incomplete", "max_output_tokens"
	case Declined:
		return "incomplete", "content_filter"
	default:
		return "incomplete", string(f)
	}
}

// prepareItem gives a block its id as an item, and reasoning its content.
func (d responsesAnswer) prepareItem(b *Block) {
	id := d.s.names.item(b.Kind)
	d.items = append(d.items, id)
	switch b.Kind {
	case ThinkingBlock, RedactedBlock:
		if summary := d.summary(b); b.Signature == "" {
			b.Signature = d.s.seals.encrypted(id, summary, b.Text)
		} else {
			d.s.seals.chosen.add([2]string{id + "\x00" + summary, b.Signature})
		}
	case CallBlock:
		d.prepareCall(b)
	case TextBlock:
	}
}

// summary is what may be read of a block of reasoning.
func (d responsesAnswer) summary(b *Block) string {
	if b.Kind == ThinkingBlock && d.prompt.responses.summary {
		return b.Text
	}
	return ""
}

func (d responsesAnswer) render() *stream {
	d.out.fail = d.responseFailure
	if d.prompt.Stream {
		d.responsesStream()
		return &d.out
	}
	d.out.text = make([]byte, 0, 2048+2*d.out.total)
	status, reason := responseEnd(d.finish())
	d.response(status, reason, nil)
	d.sent = d.out.total
	d.event(d.knows())
	d.out.paced = false
	return &d.out
}

// responseFailure is how an answer of Responses fails behind number events: an
// error, and the response that failed. Not streamed it is the response alone.
func (d responsesAnswer) responseFailure(r *Refusal, number int) (text []byte, events int) {
	copied := *d.draft
	f := responsesAnswer{&copied}
	f.out, f.before = stream{}, number
	message, code := r.words()
	failure := &draft{}
	failure.put(`{"code":?,"message":?}`, code, message)
	why := json.RawMessage(failure.out.text)
	if !d.prompt.Stream {
		f.response("failed", "", why)
		return f.out.text, 0
	}
	f.begin("error")
	f.put(`,"code":?,"message":?,"param":null`, code, message)
	f.end(toldNothing)
	f.whole("response.failed", "failed", "", why)
	return f.out.text, len(f.out.events)
}

// begin writes the beginning of an event, whose closing brace is left out.
func (d responsesAnswer) begin(kind string) {
	d.head(kind)
	d.put(`,"sequence_number":?`, d.before+len(d.out.events))
}

// whole writes an event with the whole response.
func (d responsesAnswer) whole(kind, status, reason string, failure any) {
	d.begin(kind)
	d.put(`,"response":`)
	d.response(status, reason, failure)
	know := toldNothing
	if status == "completed" || status == "incomplete" {
		know = d.knows()
	}
	d.end(know)
}

// response writes the whole response; failure is its error as JSON, or nil.
func (d responsesAnswer) response(status, reason string, failure any) {
	w := &d.prompt.responses
	d.put(`{"id":?,"object":"response","created_at":?,"status":?,"background":false,"error":?,"incomplete_details":`, d.id, d.at.Unix(), status, failure)
	if reason != "" {
		d.put(`{"reason":?}`, reason)
	} else {
		d.put("null")
	}
	var limit any
	if d.prompt.MaxTokens > 0 {
		limit = d.prompt.MaxTokens
	}
	d.put(`,"instructions":null,"max_output_tokens":?,"max_tool_calls":null,"metadata":{},"model":?,"output":[`, limit, d.prompt.Model)
	tier, done := "auto", status == "completed" || status == "incomplete"
	if done {
		tier = w.tier
		for i := range d.blocks {
			if i > 0 {
				d.put(",")
			}
			d.item(i)
		}
	}
	d.put(`],"parallel_tool_calls":?,"previous_response_id":null,"service_tier":?,"store":?,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":`,
		!d.prompt.Choice.OnlyOne, tier, w.store)
	if u := d.full; done && !d.noUsage {
		d.put(`{"input_tokens":?,"input_tokens_details":{"cached_tokens":?,"cache_write_tokens":?,"cache_write_tokens_details":{"ttl_12h_tokens":?,"ttl_30m_tokens":?}},"output_tokens":?,"output_tokens_details":{"reasoning_tokens":?},"total_tokens":?}`,
			u.TotalInput(), u.CacheRead, u.CacheWrite5m+u.CacheWrite1h, u.CacheWrite1h, u.CacheWrite5m, u.Output, u.Reasoning, u.TotalInput()+u.Output)
	} else {
		d.put("null")
	}
	d.put(`,"user":null}`)
}

// itemHead writes the beginning of item i up to its status.
func (d responsesAnswer) itemHead(i int, status string) {
	kind := itemType[d.blocks[i].Kind]
	d.put(`{"id":?,"type":?`, d.items[i], kind)
	if kind != "reasoning" {
		d.put(`,"status":?`, status)
	}
}

// The ends of items, and their parts.
const (
	callEnd     = `,"arguments":?,"call_id":?,"name":?}`
	textPart    = `{"type":"output_text","annotations":[],"logprobs":[],"text":?}`
	summaryPart = `{"type":"summary_text","text":?}`
)

// item writes item i as it is when it is done.
func (d responsesAnswer) item(i int) {
	b, status := &d.blocks[i], "completed"
	if d.finish() == Length && i == len(d.blocks)-1 {
		status = "incomplete"
	}
	d.itemHead(i, status)
	switch b.Kind {
	case TextBlock:
		d.put(`,"content":[`+textPart+`],"role":"assistant"}`, b.Text)
	case ThinkingBlock, RedactedBlock:
		var content any
		if d.prompt.responses.encrypted {
			content = b.Signature
		}
		d.put(`,"encrypted_content":?,"summary":[`, content)
		if s := d.summary(b); s != "" {
			d.put(summaryPart, s)
		}
		d.put("]}")
	case CallBlock:
		d.put(callEnd, b.Input, b.ID, b.Name)
	}
}
