package model

import "strconv"

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
func (d *draft) prepareItem(b *Block) {
	id := d.s.names.item(b.Kind)
	d.items = append(d.items, id)
	switch b.Kind {
	case ThinkingBlock, RedactedBlock:
		if summary := d.summary(b); b.Signature == "" {
			b.Signature = d.s.seals.encrypted(id, summary, b.Text)
		} else {
			d.s.seals.remember(id+"\x00"+summary, b.Signature)
		}
	case CallBlock:
		d.prepareCall(b)
	case TextBlock:
	}
}

// summary is what may be read of a block of reasoning.
func (d *draft) summary(b *Block) string {
	if b.Kind == ThinkingBlock && d.prompt.responses.summary {
		return b.Text
	}
	return ""
}

func (d *draft) responses() *stream {
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

func (d *draft) knows() told {
	if d.noUsage {
		return toldNothing
	}
	return toldAll
}

// responseFailure is how an answer of Responses fails behind number events: an
// error, and the response that failed. Not streamed it is the response alone.
func (d *draft) responseFailure(r *Refusal, number int) (text []byte, events int) {
	f := *d
	f.out, f.before = stream{}, number
	message, code := r.words()
	if !d.prompt.Stream {
		f.response("failed", "", func() { f.failure(message, code) })
		return f.out.text, 0
	}
	f.begin("error")
	f.text(`,"code":`)
	f.quoted(code)
	f.text(`,"message":`)
	f.quoted(message)
	f.text(`,"param":null}` + "\n\n")
	f.event(toldNothing)
	f.begin("response.failed")
	f.text(`,"response":`)
	f.response("failed", "", func() { f.failure(message, code) })
	f.text("}\n\n")
	f.event(toldNothing)
	return f.out.text, len(f.out.events)
}

func (d *draft) failure(message, code string) {
	d.text(`{"code":`)
	d.quoted(code)
	d.text(`,"message":`)
	d.quoted(message)
	d.text("}")
}

// begin writes the beginning of an event, whose closing brace is left out.
func (d *draft) begin(kind string) {
	d.text("event: " + kind + "\ndata: " + `{"type":"` + kind + `","sequence_number":`)
	d.number(int64(d.before + len(d.out.events)))
}

// response writes the whole response. failure writes its error.
func (d *draft) response(status, reason string, failure func()) {
	w := &d.prompt.responses
	whole := status == "completed" || status == "incomplete"
	d.text(`{"id":"` + d.id + `","object":"response","created_at":`)
	d.number(d.at.Unix())
	d.text(`,"status":"` + status + `","background":false,"error":`)
	if failure != nil {
		failure()
	} else {
		d.text("null")
	}
	d.text(`,"incomplete_details":`)
	if reason != "" {
		d.text(`{"reason":`)
		d.quoted(reason)
		d.text("}")
	} else {
		d.text("null")
	}
	d.text(`,"instructions":null,"max_output_tokens":`)
	if d.prompt.MaxTokens > 0 {
		d.number(int64(d.prompt.MaxTokens))
	} else {
		d.text("null")
	}
	d.text(`,"max_tool_calls":null,"metadata":{},"model":`)
	d.quoted(d.prompt.Model)
	d.text(`,"output":[`)
	if whole {
		for i := range d.blocks {
			if i > 0 {
				d.text(",")
			}
			d.item(i)
		}
	}
	d.text(`],"parallel_tool_calls":` + strconv.FormatBool(!d.prompt.Choice.OnlyOne) + `,"previous_response_id":null,"service_tier":`)
	tier := "auto"
	if whole {
		tier = w.tier
	}
	d.quoted(tier)
	d.text(`,"store":` + strconv.FormatBool(w.store) + `,"temperature":1.0,"text":{"format":{"type":"text"}},"tool_choice":"auto","tools":[],"top_p":1.0,"truncation":"disabled","usage":`)
	if whole && !d.noUsage {
		d.responsesUsage()
	} else {
		d.text("null")
	}
	d.text(`,"user":null}`)
}

func (d *draft) responsesUsage() {
	u := d.full
	d.text(`{"input_tokens":`)
	d.number(u.TotalInput())
	d.text(`,"input_tokens_details":{"cached_tokens":`)
	d.number(u.CacheRead)
	d.text(`,"cache_write_tokens":`)
	d.number(u.CacheWrite5m + u.CacheWrite1h)
	d.text(`},"output_tokens":`)
	d.number(u.Output)
	d.text(`,"output_tokens_details":{"reasoning_tokens":`)
	d.number(u.Reasoning)
	d.text(`},"total_tokens":`)
	d.number(u.TotalInput() + u.Output)
	d.text("}")
}

// itemHead writes the beginning of item i up to its status.
func (d *draft) itemHead(i int, status string) {
	d.text(`{"id":"` + d.items[i] + `","type":"` + itemType[d.blocks[i].Kind] + `"`)
	if itemType[d.blocks[i].Kind] != "reasoning" {
		d.text(`,"status":"` + status + `"`)
	}
}

// item writes item i as it is when it is done.
func (d *draft) item(i int) {
	b, status := &d.blocks[i], "completed"
	if d.finish() == Length && i == len(d.blocks)-1 {
		status = "incomplete"
	}
	d.itemHead(i, status)
	switch b.Kind {
	case TextBlock:
		d.text(`,"content":[`)
		d.textPart(b.Text)
		d.text(`],"role":"assistant"}`)
	case ThinkingBlock, RedactedBlock:
		d.text(`,"encrypted_content":`)
		if d.prompt.responses.encrypted {
			d.quoted(b.Signature)
		} else {
			d.text("null")
		}
		d.text(`,"summary":[`)
		if s := d.summary(b); s != "" {
			d.summaryPart(s)
		}
		d.text("]}")
	case CallBlock:
		d.text(`,"arguments":`)
		d.quoted(b.Input)
		d.callEnd(b)
	}
}

func (d *draft) callEnd(b *Block) {
	d.text(`,"call_id":`)
	d.quoted(b.ID)
	d.text(`,"name":`)
	d.quoted(b.Name)
	d.text("}")
}

func (d *draft) textPart(text string) {
	d.text(`{"type":"output_text","annotations":[],"logprobs":[],"text":`)
	d.quoted(text)
	d.text("}")
}

func (d *draft) summaryPart(text string) {
	d.text(`{"type":"summary_text","text":`)
	d.quoted(text)
	d.text("}")
}
