package model

import "strconv"

// stopReason is f in Anthropic's words.
func stopReason(f Finish) string {
	switch f {
	case ToolUse:
		return "tool_use"
	case Length:
		return "max_tokens"
	case Declined:
		return "refusal"
	case Stopped:
		return "stop_sequence"
	case Paused:
		return "pause_turn"
	case EndTurn:
		return "end_turn"
	default:
		return string(f)
	}
}

func (d *draft) anthropic() *stream {
	if d.prompt.Stream {
		d.anthropicStream()
	} else {
		d.anthropicWhole()
	}
	return &d.out
}

// anthropicUsage writes a usage with everything.
func (d *draft) anthropicUsage(u Usage, output, reasoning int64) {
	d.text(`{"input_tokens":`)
	d.number(u.Input)
	d.text(`,"cache_creation_input_tokens":`)
	d.number(u.CacheWrite5m + u.CacheWrite1h)
	d.text(`,"cache_read_input_tokens":`)
	d.number(u.CacheRead)
	d.text(`,"cache_creation":{"ephemeral_5m_input_tokens":`)
	d.number(u.CacheWrite5m)
	d.text(`,"ephemeral_1h_input_tokens":`)
	d.number(u.CacheWrite1h)
	d.text(`},`)
	d.anthropicOutput(output, reasoning)
	d.text(`,"service_tier":"standard","inference_geo":"global","speed":null}`)
}

// anthropicOutput writes what both forms of a usage have.
func (d *draft) anthropicOutput(output, reasoning int64) {
	d.text(`"output_tokens":`)
	d.number(output)
	d.text(`,"output_tokens_details":{"thinking_tokens":`)
	d.number(reasoning)
	d.text(`},"server_tool_use":null`)
}

func (d *draft) anthropicWhole() {
	d.out.text = make([]byte, 0, 512+2*d.out.total)
	d.text(`{"id":"` + d.id + `","type":"message","role":"assistant","model":`)
	d.quoted(d.prompt.Model)
	d.text(`,"content":[`)
	for i := range d.blocks {
		if i > 0 {
			d.text(",")
		}
		b := &d.blocks[i]
		switch b.Kind {
		case TextBlock:
			d.text(`{"type":"text","citations":null,"text":`)
			d.quoted(b.Text)
		case ThinkingBlock:
			d.text(`{"type":"thinking","thinking":`)
			d.quoted(b.Text)
			d.text(`,"signature":`)
			d.quoted(b.Signature)
		case RedactedBlock:
			d.text(`{"type":"redacted_thinking","data":`)
			d.quoted(b.Signature)
		case CallBlock:
			d.callStart(b)
			d.text(object(b.Input))
		}
		d.text("}")
	}
	d.text(`],"stop_reason":`)
	d.quoted(stopReason(d.finish()))
	d.text(`,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null`)
	know := toldNothing
	if !d.noUsage {
		d.text(`,"usage":`)
		d.anthropicUsage(d.full, d.full.Output, d.full.Reasoning)
		know = toldAll
	}
	d.text("}")
	d.sent = d.out.total
	d.event(know)
	d.out.paced = false
}

func (d *draft) callStart(b *Block) {
	d.text(`{"type":"tool_use","caller":{"type":"direct"},"id":`)
	d.quoted(b.ID)
	d.text(`,"name":`)
	d.quoted(b.Name)
	d.text(`,"input":`)
}

func (d *draft) anthropicStream() {
	d.out.text = make([]byte, 0, min(2048+32*d.out.total, 64<<10))
	d.text("event: message_start\ndata: " + `{"type":"message_start","message":{"id":"` + d.id + `","type":"message","role":"assistant","model":`)
	d.quoted(d.prompt.Model)
	d.text(`,"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null`)
	know := toldNothing
	if !d.noUsage {
		d.text(`,"usage":`)
		d.anthropicUsage(d.start, 1, 0)
		know = toldStart
	}
	d.text("}}\n\n")
	d.event(know)
	for i := range d.blocks {
		d.anthropicBlock(i, &d.blocks[i])
	}
	d.text("event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":`)
	d.quoted(stopReason(d.finish()))
	d.text(`,"stop_sequence":null,"stop_details":null,"container":null}`)
	if !d.noUsage {
		// Cumulative; how long the cache lives is not told again.
		d.text(`,"usage":{"input_tokens":`)
		d.number(d.full.Input)
		d.text(`,"cache_creation_input_tokens":`)
		d.number(d.full.CacheWrite5m + d.full.CacheWrite1h)
		d.text(`,"cache_read_input_tokens":`)
		d.number(d.full.CacheRead)
		d.text(",")
		d.anthropicOutput(d.full.Output, d.full.Reasoning)
		d.text("}")
		know = toldAll
	}
	d.text("}\n\n")
	d.event(know)
	d.text("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	d.event(toldNothing)
}

func (d *draft) anthropicBlock(i int, b *Block) {
	index := strconv.Itoa(i)
	d.text("event: content_block_start\ndata: " + `{"type":"content_block_start","index":` + index + `,"content_block":`)
	delta := func(kind, key, value string, billable int) {
		d.text("event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"` + kind + `","` + key + `":`)
		d.quoted(value)
		d.text("}}\n\n")
		if billable < 0 {
			d.event(toldNothing)
			return
		}
		d.content(billable)
	}
	started := func(billable int) {
		d.text("}\n\n")
		d.sent += billable
		d.event(toldNothing)
		if i == 0 {
			d.text("event: ping\ndata: {\"type\": \"ping\"}\n\n")
			d.event(toldNothing)
		}
	}
	switch b.Kind {
	case TextBlock:
		d.text(`{"type":"text","citations":null,"text":""}`)
		started(0)
		d.pieces(b.Text, func(s string) { delta("text_delta", "text", s, len(s)) })
	case ThinkingBlock:
		d.text(`{"type":"thinking","thinking":"","signature":""}`)
		started(0)
		d.pieces(b.Text, func(s string) { delta("thinking_delta", "thinking", s, len(s)) })
		delta("signature_delta", "signature", b.Signature, -1)
	case RedactedBlock:
		d.text(`{"type":"redacted_thinking","data":`)
		d.quoted(b.Signature)
		d.text("}")
		started(len(b.Text))
	case CallBlock:
		d.callStart(b)
		d.text("{}}")
		started(len(b.Name))
		delta("input_json_delta", "partial_json", "", -1)
		d.arguments(b.Input, func(s string) { delta("input_json_delta", "partial_json", s, len(s)) })
	}
	d.text("event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":` + index + "}\n\n")
	d.event(toldNothing)
}
