package model

func (d responsesAnswer) responsesStream() {
	d.out.text = make([]byte, 0, min(4096+48*d.out.total, 64<<10))
	d.whole("response.created", "in_progress", "", nil)
	d.whole("response.in_progress", "in_progress", "", nil)
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
		d.put(`,"output_index":?,"item":`, i)
		d.item(i)
		d.end(toldNothing)
	}
	status, reason := responseEnd(d.finish())
	d.whole("response."+status, status, reason, nil)
}

// added writes the beginning of the event that announces item i.
func (d responsesAnswer) added(i int) {
	d.begin("response.output_item.added")
	d.put(`,"output_index":?,"item":`, i)
	d.itemHead(i, "in_progress")
}

// part writes the beginning of an event about a part of item i; index is that part's.
func (d responsesAnswer) part(i int, kind, index string) {
	d.begin("response." + kind)
	d.put(`,"item_id":?,"output_index":?`, d.items[i], i)
	if index != "" {
		d.put(`,?:0`, index)
	}
}

// parted writes an event about a part of item i, with what rest says of it.
func (d responsesAnswer) parted(i int, kind, index, rest, value string) {
	d.part(i, kind, index)
	d.put(rest, value)
	d.end(toldNothing)
}

// deltas writes text in pieces.
func (d responsesAnswer) deltas(i int, kind, index, more, piece string) {
	d.part(i, kind+".delta", index)
	d.put(more+`,"delta":?`, piece)
	if d.prompt.responses.padded {
		// So that the size of an event tells nothing of what it holds.
		d.put(`,"obfuscation":?`, base62[:16-len(piece)%16])
	}
	d.put("}\n\n")
	d.content(len(piece))
}

func (d responsesAnswer) streamText(i int, b *Block) {
	d.added(i)
	d.put(`,"content":[],"role":"assistant"}`)
	d.end(toldNothing)
	d.parted(i, "content_part.added", "content_index", `,"part":`+textPart, "")
	pieces(b.Text, d.answer.PieceBytes, func(s string) { d.deltas(i, "output_text", "content_index", `,"logprobs":[]`, s) })
	d.parted(i, "output_text.done", "content_index", `,"logprobs":[],"text":?`, b.Text)
	d.parted(i, "content_part.done", "content_index", `,"part":`+textPart, b.Text)
}

// streamReasoning announces reasoning with content that is not yet the whole,
// as OpenAI does: only that of the item that is done is good.
func (d responsesAnswer) streamReasoning(i int, b *Block) {
	summary := d.summary(b)
	if summary == "" {
		d.sent += len(b.Text) // paid for and never seen
	}
	d.added(i)
	if d.prompt.responses.encrypted {
		d.put(`,"encrypted_content":?`, b.Signature[:len(b.Signature)/2])
	}
	d.put(`,"summary":[]}`)
	d.end(toldNothing)
	if summary == "" {
		return
	}
	d.parted(i, "reasoning_summary_part.added", "summary_index", `,"part":`+summaryPart, "")
	pieces(summary, d.answer.PieceBytes, func(s string) { d.deltas(i, "reasoning_summary_text", "summary_index", "", s) })
	d.parted(i, "reasoning_summary_text.done", "summary_index", `,"text":?`, summary)
	d.parted(i, "reasoning_summary_part.done", "summary_index", `,"part":`+summaryPart, summary)
}

func (d responsesAnswer) streamCall(i int, b *Block) {
	d.added(i)
	d.put(callEnd+"}\n\n", "", b.ID, b.Name)
	d.content(len(b.Name))
	pieces(b.Input, argumentBytes, func(s string) { d.deltas(i, "function_call_arguments", "", "", s) })
	d.parted(i, "function_call_arguments.done", "", `,"arguments":?`, b.Input)
}
