package model

import "strconv"

// finishReason is f in OpenAI's words.
func finishReason(f Finish) string {
	switch f {
	case ToolUse:
		return "tool_calls"
	case Length:
		return "length"
	case Declined:
		return "content_filter"
	case EndTurn, Stopped, Paused:
		return "stop"
	default:
		return string(f)
	}
}

const fingerprint = "fp_5150a1e0c4"

func (d *draft) openai() *stream {
	if d.prompt.Stream {
		d.openaiStream()
	} else {
		d.openaiWhole()
	}
	return &d.out
}

func (d *draft) openaiUsage() {
	u := d.full
	d.text(`{"prompt_tokens":`)
	d.number(u.TotalInput())
	d.text(`,"completion_tokens":`)
	d.number(u.Output)
	d.text(`,"total_tokens":`)
	d.number(u.TotalInput() + u.Output)
	d.text(`,"prompt_tokens_details":{"cached_tokens":`)
	d.number(u.CacheRead)
	if w := u.CacheWrite5m + u.CacheWrite1h; w > 0 {
		d.text(`,"cache_write_tokens":`)
		d.number(w)
	}
	d.text(`,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`)
	d.number(u.Reasoning)
	d.text(`,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`)
}

// plain is the text of the answer: OpenAI has no blocks.
func (d *draft) plain(kind Kind) (text string, found bool) {
	for i := range d.blocks {
		if b := &d.blocks[i]; b.Kind == kind {
			text, found = text+b.Text, true
		}
	}
	return text, found
}

func (d *draft) openaiWhole() {
	d.out.text = make([]byte, 0, 768+2*d.out.total)
	d.text(`{"id":"` + d.id + `","object":"chat.completion","created":`)
	d.number(d.at.Unix())
	d.text(`,"model":`)
	d.quoted(d.prompt.Model)
	d.text(`,"choices":[{"index":0,"message":{"role":"assistant","content":`)
	if text, ok := d.plain(TextBlock); ok || d.calls == 0 {
		d.quoted(text)
	} else {
		d.text("null")
	}
	if text, ok := d.plain(ThinkingBlock); ok && d.s.o.ReasoningContent {
		d.text(`,"reasoning_content":`)
		d.quoted(text)
	}
	if d.calls > 0 {
		d.text(`,"tool_calls":[`)
		first := true
		for i := range d.blocks {
			if b := &d.blocks[i]; b.Kind == CallBlock {
				if !first {
					d.text(",")
				}
				first = false
				d.text(`{"id":`)
				d.quoted(b.ID)
				d.text(`,"type":"function","function":{"name":`)
				d.quoted(b.Name)
				d.text(`,"arguments":`)
				d.quoted(b.Input)
				d.text("}}")
			}
		}
		d.text("]")
	}
	d.text(`,"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":`)
	d.quoted(finishReason(d.finish()))
	d.text("}]")
	know := toldNothing
	if !d.noUsage {
		d.text(`,"usage":`)
		d.openaiUsage()
		know = toldAll
	}
	d.text(`,"service_tier":"default","system_fingerprint":"` + fingerprint + `"}`)
	d.sent = d.out.total
	d.event(know)
	d.out.paced = false
}

// chunkStart and chunkEnd stand around the delta of a chunk.
func (d *draft) chunkStart() {
	d.text(`data: {"id":"` + d.id + `","object":"chat.completion.chunk","created":`)
	d.number(d.at.Unix())
	d.text(`,"model":`)
	d.quoted(d.prompt.Model)
	d.text(`,"service_tier":"default","system_fingerprint":"` + fingerprint + `","choices":[`)
}

func (d *draft) chunkEnd(finish string) {
	d.text(`},"logprobs":null,"finish_reason":`)
	if finish == "" {
		d.text("null}]")
	} else {
		d.quoted(finish)
		d.text("}]")
	}
	if d.prompt.usageInStream && !d.noUsage {
		d.text(`,"usage":null`)
	}
	d.text("}\n\n")
}

const deltaStart = `{"index":0,"delta":{`

func (d *draft) openaiStream() {
	d.out.text = make([]byte, 0, min(2048+48*d.out.total, 64<<10))
	d.chunkStart()
	d.text(deltaStart + `"role":"assistant","content":`)
	if _, ok := d.plain(TextBlock); ok || d.calls == 0 {
		d.text(`""`)
	} else {
		d.text("null")
	}
	d.text(`,"refusal":null`)
	d.chunkEnd("")
	d.event(toldNothing)
	call := 0
	for i := range d.blocks {
		b := &d.blocks[i]
		switch b.Kind {
		case TextBlock:
			d.pieces(b.Text, func(s string) { d.delta("content", s) })
		case ThinkingBlock:
			if d.s.o.ReasoningContent {
				d.pieces(b.Text, func(s string) { d.delta("reasoning_content", s) })
				continue
			}
			d.sent += len(b.Text) // paid for and never seen
		case RedactedBlock:
			d.sent += len(b.Text)
		case CallBlock:
			d.openaiCall(call, b)
			call++
		}
	}
	d.chunkStart()
	d.text(deltaStart)
	d.chunkEnd(finishReason(d.finish()))
	d.event(toldNothing)
	if d.prompt.usageInStream && !d.noUsage {
		d.chunkStart()
		d.text(`],"usage":`)
		d.openaiUsage()
		d.text("}\n\n")
		d.event(toldAll)
	}
	d.text("data: [DONE]\n\n")
	d.event(toldNothing)
}

func (d *draft) delta(key, piece string) {
	d.chunkStart()
	d.text(deltaStart + `"` + key + `":`)
	d.quoted(piece)
	d.chunkEnd("")
	d.content(len(piece))
}

func (d *draft) openaiCall(index int, b *Block) {
	start := deltaStart + `"tool_calls":[{"index":` + strconv.Itoa(index)
	d.chunkStart()
	d.text(start + `,"id":`)
	d.quoted(b.ID)
	d.text(`,"type":"function","function":{"name":`)
	d.quoted(b.Name)
	d.text(`,"arguments":""}}]`)
	d.chunkEnd("")
	d.content(len(b.Name))
	d.arguments(b.Input, func(s string) {
		d.chunkStart()
		d.text(start + `,"function":{"arguments":`)
		d.quoted(s)
		d.text("}}]")
		d.chunkEnd("")
		d.content(len(s))
	})
}
