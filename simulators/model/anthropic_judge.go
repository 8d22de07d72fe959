package model

// judgeAnthropic refuses conversations that Anthropic refuses. The blocks of
// message i are all[i].
func (s *Server) judgeAnthropic(p *Prompt, all [][]anthropicBlock) {
	if p.Messages[0].Role != User {
		panic(invalid(`messages: first message must use the "user" role`))
	}
	checkBreakpoints(p)
	checkPairs(p, all)
	s.checkUnaltered(p, all)
	if p.Messages[len(p.Messages)-1].Role == Assistant {
		panic(invalid("This model does not support assistant message prefill. The conversation must end with a user message."))
	}
}

// checkBreakpoints holds cache_control to its rules: four at most, and longer
// lives before shorter ones.
func checkBreakpoints(p *Prompt) {
	n, short := 0, false
	for i := range p.segments {
		switch p.segments[i].cache {
		case noCache:
			continue
		case fiveMinutes:
			short = true
		case oneHour:
			if short {
				panic(invalid("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."))
			}
		}
		n++
	}
	if n > 4 {
		panic(invalid(pathf("A maximum of 4 blocks with cache_control may be provided. Found %d.", n)))
	}
}

// checkPairs holds every call to exactly one result at the beginning of the next
// message, and every result to a call in the message before.
func checkPairs(p *Prompt, all [][]anthropicBlock) {
	seen := map[string]bool{}
	var asked map[string]string // call of the message before: its tool
	for i, blocks := range all {
		answered := map[string]bool{}
		leading := true
		for j := range blocks {
			b := &blocks[j]
			if b.Type != "tool_result" {
				leading = false
				continue
			}
			name, ok := asked[b.ToolUseID]
			switch {
			case !ok:
				panic(invalid(pathf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)))
			case answered[b.ToolUseID]:
				panic(invalid(pathf("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, b.ToolUseID)))
			}
			if leading { // behind other blocks it does not count as an answer
				answered[b.ToolUseID] = true
			}
			p.nameResult(i, b.ToolUseID, name)
		}
		if i > 0 {
			unanswered(i-1, all[i-1], answered)
		}
		asked = map[string]string{}
		for j := range blocks {
			b := &blocks[j]
			if b.Type != "tool_use" {
				continue
			}
			if seen[b.ID] {
				panic(invalid(pathf("messages.%d.content.%d: `tool_use` ids must be unique", i, j)))
			}
			seen[b.ID], asked[b.ID] = true, b.Name
		}
	}
	unanswered(len(all)-1, all[len(all)-1], nil)
}

// unanswered refuses calls of message i that have no result in the next.
func unanswered(i int, blocks []anthropicBlock, answered map[string]bool) {
	var missing []string
	for j := range blocks {
		if b := &blocks[j]; b.Type == "tool_use" && !answered[b.ID] {
			missing = append(missing, b.ID)
		}
	}
	if missing == nil {
		return
	}
	panic(invalid(pathf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, joinIDs(missing))))
}

// nameResult tells a result the name of its tool.
func (p *Prompt) nameResult(i int, id, name string) {
	for k := range p.Messages[i].Results {
		if r := &p.Messages[i].Results[k]; r.CallID == id {
			r.Name = name
		}
	}
}

// checkUnaltered holds thinking to what was issued, byte for byte, and, where the model
// binds it, to what it was issued behind; and, while thinking is on, the last message of the
// model to the thinking that came before its calls: with a budget to some thinking there, and
// else to what it was issued with.
func (s *Server) checkUnaltered(p *Prompt, all [][]anthropicBlock) {
	last, before := -1, "" // the signature of the thinking before
	for i, blocks := range all {
		if p.Messages[i].Role == Assistant {
			last = i
		}
		at := p.starts[i]
		for j := range blocks {
			b := &blocks[j]
			signature := b.Signature
			switch b.Type {
			case "thinking":
				if b.Signature == "" {
					panic(invalid(pathf("messages.%d.content.%d.thinking.signature: Field required", i, j)))
				}
				if !s.seals.validThinking(b.Thinking, b.Signature) {
					panic(invalid(pathf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)))
				}
			case "redacted_thinking":
				if !s.seals.validRedacted(b.Data) {
					panic(invalid(pathf("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block", i, j)))
				}
				signature = b.Data
			default:
				continue
			}
			if p.bound && b.Type == "thinking" {
				p.checkBinding(i, j, at+j, b.Signature, before)
			}
			before = signature
		}
	}
	if last < 0 || !p.strict {
		return
	}
	first := all[last][0].Type
	for j := range all[last] {
		b := &all[last][j]
		if b.Type == "tool_use" && first != "thinking" && first != "redacted_thinking" && (p.manual || s.seals.after.has(b.ID)) {
			panic(invalid(pathf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks). We recommend you include thinking blocks from previous turns. To avoid this requirement, disable `thinking`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking", last, first))) //nolint:misspell // the provider's own words
		}
	}
}
