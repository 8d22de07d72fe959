package model

import (
	"cmp"
	"encoding/json"
)

// anthropicAnswer renders a draft as Anthropic does.
type anthropicAnswer struct{ *draft }

// stopReasons are Anthropic's words for how an answer ends.
var stopReasons = map[Finish]string{
	ToolUse: "tool_use", Length: "max_tokens", Declined: "refusal", Stopped: "stop_sequence", Paused: "pause_turn", EndTurn: "end_turn",
}

func stopReason(f Finish) string { return cmp.Or(stopReasons[f], string(f)) }

func (d anthropicAnswer) render() *stream {
	if d.prompt.Stream {
		d.anthropicStream()
	} else {
		d.anthropicWhole()
	}
	return &d.out
}

// anthropicOutput is what both forms of a usage have.
const anthropicOutput = `"output_tokens":?,"output_tokens_details":{"thinking_tokens":?},"server_tool_use":null`

// anthropicUsage writes a usage with everything.
func (d anthropicAnswer) anthropicUsage(u Usage, output, reasoning int64) {
	d.put(`,"usage":{"input_tokens":?,"cache_creation_input_tokens":?,"cache_read_input_tokens":?,"cache_creation":{"ephemeral_5m_input_tokens":?,"ephemeral_1h_input_tokens":?},`+anthropicOutput+`,"service_tier":"standard","inference_geo":"global","speed":null}`,
		u.Input, u.CacheWrite5m+u.CacheWrite1h, u.CacheRead, u.CacheWrite5m, u.CacheWrite1h, output, reasoning)
}

// contentBlock writes a block: all of it, or as it stands at its beginning.
func (d anthropicAnswer) contentBlock(b *Block, whole bool) {
	text, signature, input := "", "", json.RawMessage("{}")
	if whole {
		text, signature, input = b.Text, b.Signature, objectOrEmpty(b.Input)
	}
	switch b.Kind {
	case TextBlock:
		d.put(`{"type":"text","citations":null,"text":?}`, text)
	case ThinkingBlock:
		d.put(`{"type":"thinking","thinking":?,"signature":?}`, text, signature)
	case RedactedBlock:
		d.put(`{"type":"redacted_thinking","data":?}`, b.Signature)
	case CallBlock:
		d.put(`{"type":"tool_use","caller":{"type":"direct"},"id":?,"name":?,"input":?}`, b.ID, b.Name, input)
	}
}

func (d anthropicAnswer) anthropicWhole() {
	d.out.text = make([]byte, 0, 512+2*d.out.total)
	d.put(`{"id":?,"type":"message","role":"assistant","model":?,"content":[`, d.id, d.prompt.Model)
	for i := range d.blocks {
		if i > 0 {
			d.put(",")
		}
		d.contentBlock(&d.blocks[i], true)
	}
	d.put(`],"stop_reason":?,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null`, stopReason(d.finish()))
	d.transformations()
	if !d.noUsage {
		d.anthropicUsage(d.full, d.full.Output, d.full.Reasoning)
	}
	d.put("}")
	d.sent = d.out.total
	d.event(d.knows())
	d.out.paced = false
}

// transformations tells what the model did not get to see, if the request wants to know.
func (d anthropicAnswer) transformations() {
	if d.prompt.bindingControls {
		list, _ := json.Marshal(append([]dropped{}, d.prompt.dropped...)) // texts only: cannot fail
		d.put(`,"input_transformations":?`, json.RawMessage(list))
	}
}

func (d anthropicAnswer) anthropicStream() {
	d.out.text = make([]byte, 0, min(2048+32*d.out.total, 64<<10))
	d.head("message_start")
	d.put(`,"message":{"id":?,"type":"message","role":"assistant","model":?,"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null`, d.id, d.prompt.Model)
	d.transformations()
	know := toldNothing
	if !d.noUsage {
		d.anthropicUsage(d.start, 1, 0)
		know = toldStart
	}
	d.put("}")
	d.end(know)
	for i := range d.blocks {
		d.anthropicBlock(i, &d.blocks[i])
	}
	d.head("message_delta")
	d.put(`,"delta":{"stop_reason":?,"stop_sequence":null,"stop_details":null,"container":null}`, stopReason(d.finish()))
	if !d.noUsage {
		// Cumulative; how long the cache lives is not told again.
		d.put(`,"usage":{"input_tokens":?,"cache_creation_input_tokens":?,"cache_read_input_tokens":?,`+anthropicOutput+"}",
			d.full.Input, d.full.CacheWrite5m+d.full.CacheWrite1h, d.full.CacheRead, d.full.Output, d.full.Reasoning)
	}
	d.end(d.knows())
	d.head("message_stop")
	d.end(toldNothing)
}

func (d anthropicAnswer) anthropicBlock(i int, b *Block) {
	d.head("content_block_start")
	d.put(`,"index":?,"content_block":`, i)
	d.contentBlock(b, false)
	switch b.Kind {
	case RedactedBlock:
		d.sent += len(b.Text)
	case CallBlock:
		d.sent += len(b.Name)
	case TextBlock, ThinkingBlock:
	}
	d.end(toldNothing)
	if i == 0 {
		d.put("event: ping\ndata: {\"type\": \"ping\"}\n\n")
		d.event(toldNothing)
	}
	delta := func(kind, key, value string) {
		d.head("content_block_delta")
		d.put(`,"index":?,"delta":{"type":?,?:?}}`+"\n\n", i, kind, key, value)
	}
	switch b.Kind {
	case TextBlock:
		pieces(b.Text, d.answer.PieceBytes, func(s string) { delta("text_delta", "text", s); d.content(len(s)) })
	case ThinkingBlock:
		pieces(b.Text, d.answer.PieceBytes, func(s string) { delta("thinking_delta", "thinking", s); d.content(len(s)) })
		d.sent += b.hidden
		delta("signature_delta", "signature", b.Signature)
		d.event(toldNothing)
	case CallBlock:
		delta("input_json_delta", "partial_json", "")
		d.event(toldNothing)
		pieces(b.Input, argumentBytes, func(s string) { delta("input_json_delta", "partial_json", s); d.content(len(s)) })
	case RedactedBlock:
	}
	d.head("content_block_stop")
	d.put(`,"index":?`, i)
	d.end(toldNothing)
}
