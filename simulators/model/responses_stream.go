package model

import "strconv"

func (d *draft) responsesStream() {
	d.out.text = make([]byte, 0, min(4096+48*d.out.total, 64<<10))
	for _, kind := range []string{"response.created", "response.in_progress"} {
		d.begin(kind)
		d.text(`,"response":`)
		d.response("in_progress", "", nil)
		d.text("}\n\n")
		d.event(toldNothing)
	}
	for i := range d.blocks {
		b := &d.blocks[i]
		switch b.Kind {
		case TextBlock:
			d.streamText(i, b)
		case ThinkingBlock, RedactedBlock:
			d.streamReasoning(i, b)
		case CallBlock:
			d.streamCall(i, b)
		}
		d.begin("response.output_item.done")
		d.text(`,"output_index":` + strconv.Itoa(i) + `,"item":`)
		d.item(i)
		d.text("}\n\n")
		d.event(toldNothing)
	}
	status, reason := responseEnd(d.finish())
	d.begin("response." + status)
	d.text(`,"response":`)
	d.response(status, reason, nil)
	d.text("}\n\n")
	d.event(d.knows())
}

// added writes the event that announces item i; rest is what it holds yet.
func (d *draft) added(i int, rest func()) {
	d.begin("response.output_item.added")
	d.text(`,"output_index":` + strconv.Itoa(i) + `,"item":`)
	d.itemHead(i, "in_progress")
	rest()
	d.text("}\n\n")
}

// part writes an event about a part of item i; index is that part's.
func (d *draft) part(i int, kind, index string) {
	d.begin("response." + kind)
	d.text(`,"item_id":"` + d.items[i] + `","output_index":` + strconv.Itoa(i))
	if index != "" {
		d.text(`,"` + index + `":0`)
	}
}

// end ends an event that brings no content.
func (d *draft) end() {
	d.text("}\n\n")
	d.event(toldNothing)
}

// deltas writes text in pieces.
func (d *draft) deltas(i int, kind, index, more, piece string) {
	d.part(i, kind+".delta", index)
	d.text(more + `,"delta":`)
	d.quoted(piece)
	if d.prompt.responses.padded {
		// So that the size of an event tells nothing of what it holds.
		d.text(`,"obfuscation":"` + base62[:16-len(piece)%16] + `"`)
	}
	d.text("}\n\n")
	d.content(len(piece))
}

func (d *draft) streamText(i int, b *Block) {
	d.added(i, func() { d.text(`,"content":[],"role":"assistant"}`) })
	d.event(toldNothing)
	d.part(i, "content_part.added", "content_index")
	d.text(`,"part":`)
	d.textPart("")
	d.end()
	d.pieces(b.Text, func(s string) { d.deltas(i, "output_text", "content_index", `,"logprobs":[]`, s) })
	d.part(i, "output_text.done", "content_index")
	d.text(`,"logprobs":[],"text":`)
	d.quoted(b.Text)
	d.end()
	d.part(i, "content_part.done", "content_index")
	d.text(`,"part":`)
	d.textPart(b.Text)
	d.end()
}

// streamReasoning announces reasoning with content that is not yet the whole,
// as OpenAI does: only that of the item that is done is good.
func (d *draft) streamReasoning(i int, b *Block) {
	summary := d.summary(b)
	if summary == "" {
		d.sent += len(b.Text) // paid for and never seen
	}
	d.added(i, func() {
		if d.prompt.responses.encrypted {
			d.text(`,"encrypted_content":`)
			d.quoted(b.Signature[:len(b.Signature)/2])
		}
		d.text(`,"summary":[]}`)
	})
	d.event(toldNothing)
	if summary == "" {
		return
	}
	d.part(i, "reasoning_summary_part.added", "summary_index")
	d.text(`,"part":`)
	d.summaryPart("")
	d.end()
	d.pieces(summary, func(s string) { d.deltas(i, "reasoning_summary_text", "summary_index", "", s) })
	d.part(i, "reasoning_summary_text.done", "summary_index")
	d.text(`,"text":`)
	d.quoted(summary)
	d.end()
	d.part(i, "reasoning_summary_part.done", "summary_index")
	d.text(`,"part":`)
	d.summaryPart(summary)
	d.end()
}

func (d *draft) streamCall(i int, b *Block) {
	d.added(i, func() {
		d.text(`,"arguments":""`)
		d.callEnd(b)
	})
	d.content(len(b.Name))
	d.arguments(b.Input, func(s string) { d.deltas(i, "function_call_arguments", "", "", s) })
	d.part(i, "function_call_arguments.done", "")
	d.text(`,"arguments":`)
	d.quoted(b.Input)
	d.end()
}
