package model

import "cmp"

// openaiAnswer renders a draft as OpenAI Chat Completions does.
type openaiAnswer struct{ *draft }

// finishReasons are OpenAI's words for how an answer ends.
var finishReasons = map[Finish]string{
	ToolUse: "tool_calls", Length: "length", Declined: "content_filter", EndTurn: "stop", Stopped: "stop", Paused: "stop",
}

func finishReason(f Finish) string { return cmp.Or(finishReasons[f], string(f)) }

const fingerprint = "fp_5150a1e0c4"

func (d openaiAnswer) render() *stream {
	if d.prompt.Stream {
		d.openaiStream()
	} else {
		d.openaiWhole()
	}
	return &d.out
}

func (d openaiAnswer) openaiUsage() {
	u := d.full
	d.put(`{"prompt_tokens":?,"completion_tokens":?,"total_tokens":?,"prompt_tokens_details":{"cached_tokens":?`, u.TotalInput(), u.Output, u.TotalInput()+u.Output, u.CacheRead)
	if w := u.CacheWrite5m + u.CacheWrite1h; w > 0 {
		d.put(`,"cache_write_tokens":?`, w)
	}
	d.put(`,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":?,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`, u.Reasoning)
}

// plain is the text of the answer: OpenAI has no blocks.
func (d openaiAnswer) plain() (text string, found bool) {
	for i := range d.blocks {
		if b := &d.blocks[i]; b.Kind == TextBlock {
			text, found = text+b.Text, true
		}
	}
	return text, found
}

func (d openaiAnswer) openaiWhole() {
	d.out.text = make([]byte, 0, 768+2*d.out.total)
	var content any
	if text, ok := d.plain(); ok || d.calls == 0 {
		content = text
	}
	d.put(`{"id":?,"object":"chat.completion","created":?,"model":?,"choices":[{"index":0,"message":{"role":"assistant","content":?`, d.id, d.at.Unix(), d.prompt.Model, content)
	before := `,"tool_calls":[`
	for i := range d.blocks {
		if b := &d.blocks[i]; b.Kind == CallBlock {
			d.put(before+`{"id":?,"type":"function","function":{"name":?,"arguments":?}}`, b.ID, b.Name, b.Input)
			before = ","
		}
	}
	if d.calls > 0 {
		d.put("]")
	}
	d.put(`,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":?}]`, finishReason(d.finish()))
	if !d.noUsage {
		d.put(`,"usage":`)
		d.openaiUsage()
	}
	d.put(`,"service_tier":"default","system_fingerprint":?}`, fingerprint)
	d.sent = d.out.total
	d.event(d.knows())
	d.out.paced = false
}

// chunkHead writes the beginning of a chunk up to its choices.
func (d openaiAnswer) chunkHead() {
	d.put(`data: {"id":?,"object":"chat.completion.chunk","created":?,"model":?,"service_tier":"default","system_fingerprint":?,"choices":[`, d.id, d.at.Unix(), d.prompt.Model, fingerprint)
}

// chunk writes a chunk with a delta, of which values are the values.
func (d openaiAnswer) chunk(finish any, delta string, values ...any) {
	d.chunkHead()
	d.put(`{"index":0,"delta":{`)
	d.put(delta, values...)
	d.put(`},"logprobs":null,"finish_reason":?}]`, finish)
	if d.prompt.usageInStream && !d.noUsage {
		d.put(`,"usage":null`)
	}
	d.put("}\n\n")
}

func (d openaiAnswer) openaiStream() {
	d.out.text = make([]byte, 0, min(2048+48*d.out.total, 64<<10))
	var content any
	if _, ok := d.plain(); ok || d.calls == 0 {
		content = ""
	}
	d.chunk(nil, `"role":"assistant","content":?,"refusal":null`, content)
	d.event(toldNothing)
	call := 0
	for i := range d.blocks {
		b := &d.blocks[i]
		switch b.Kind {
		case TextBlock:
			pieces(b.Text, d.answer.PieceBytes, func(s string) {
				d.chunk(nil, `"content":?`, s)
				d.content(len(s))
			})
		case CallBlock:
			d.openaiCall(call, b)
			call++
		case ThinkingBlock, RedactedBlock:
			d.sent += len(b.Text) // paid for and never seen
		}
	}
	d.chunk(finishReason(d.finish()), "")
	d.event(toldNothing)
	if d.prompt.usageInStream && !d.noUsage {
		d.chunkHead()
		d.put(`],"usage":`)
		d.openaiUsage()
		d.end(toldAll)
	}
	d.put("data: [DONE]\n\n")
	d.event(toldNothing)
}

func (d openaiAnswer) openaiCall(index int, b *Block) {
	d.chunk(nil, `"tool_calls":[{"index":?,"id":?,"type":"function","function":{"name":?,"arguments":""}}]`, index, b.ID, b.Name)
	d.content(len(b.Name))
	pieces(b.Input, argumentBytes, func(s string) {
		d.chunk(nil, `"tool_calls":[{"index":?,"function":{"arguments":?}}]`, index, s)
		d.content(len(s))
	})
}
