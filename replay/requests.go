package replay

import (
	"fmt"
	"strings"

	"parley/gateway/recording"
	"parley/llm"
	"parley/transcript"
)

// compareRequests holds what a model is asked to what it was asked.
func (c *comparison) compareRequests(q *recording.Request, f llm.RequestTemplate, was llm.Request, nf llm.RequestTemplate, is llm.Request) {
	if !llm.IsDigest(q.Digest, f.Name(), was.Messages) {
		c.mu.Lock()
		c.inexact++
		c.mu.Unlock()
	}
	if f.Name() == nf.Name() && llm.Digest("", was.Messages) == llm.Digest("", is.Messages) && was.MaxTokens == is.MaxTokens {
		return
	}
	where := "request " + q.ID
	for _, d := range diffTemplate(f, nf) {
		c.addDifference(Requests, where, d)
	}
	if d := diffMessages(was.Messages, is.Messages); d != "" {
		c.addDifference(Requests, where, d)
	}
	if d := diffValue("most output tokens", was.MaxTokens, is.MaxTokens); d != "" {
		c.addDifference(Requests, where, d)
	}
}

// diffTemplate returns what differs beside the messages, one text for each thing.
func diffTemplate(was, is llm.RequestTemplate) (ds []string) {
	add := func(d string) {
		if d != "" {
			ds = append(ds, d)
		}
	}
	add(diffValue("model", was.Provider+"/"+was.Model, is.Provider+"/"+is.Model))
	for i := range max(len(was.System), len(is.System)) {
		var a, b llm.SystemBlock
		if i < len(was.System) {
			a = was.System[i]
		}
		if i < len(is.System) {
			b = is.System[i]
		}
		what := fmt.Sprintf("system message, block %d", i+1)
		add(diffText(what, a.Text, b.Text))
		add(diffValue(what+", cached", a.Cache, b.Cache))
	}
	add(diffTools(was.Tools, is.Tools))
	add(diffValue("tool choice", or(string(was.Choice), "auto"), or(string(is.Choice), "auto")))
	add(diffValue("temperature", formatNumber(was.Temperature), formatNumber(is.Temperature)))
	add(diffValue("top p", formatNumber(was.TopP), formatNumber(is.TopP)))
	add(diffValue("effort", was.Effort, is.Effort))
	add(diffValue("thinking", was.Thinking, is.Thinking))
	add(diffValue("thinking tokens", was.Budget, is.Budget))
	add(diffValue("summary of the thinking", was.Summary, is.Summary))
	return ds
}

func or(s, empty string) string {
	if s == "" {
		return empty
	}
	return s
}

func formatNumber(f *float64) string {
	if f == nil {
		return "the provider's"
	}
	return fmt.Sprint(*f)
}

func diffTools(was, is []llm.Definition) string {
	old, now := map[string]llm.Definition{}, map[string]llm.Definition{}
	var names, nowNames []string
	for _, t := range was {
		old[t.Name] = t
		names = append(names, t.Name)
	}
	for _, t := range is {
		now[t.Name] = t
		nowNames = append(nowNames, t.Name)
	}
	var b strings.Builder
	for _, t := range was {
		n, ok := now[t.Name]
		if !ok {
			fmt.Fprintf(&b, "tool %s:\n- is offered\n+ is not\n", t.Name)
			continue
		}
		b.WriteString(diffText("description of tool "+t.Name, t.Description, n.Description))
		b.WriteString(diffText("schema of tool "+t.Name, string(t.Schema), string(n.Schema)))
	}
	for _, t := range is {
		if _, ok := old[t.Name]; !ok {
			fmt.Fprintf(&b, "tool %s:\n- is not offered\n+ is\n", t.Name)
		}
	}
	if b.Len() == 0 {
		b.WriteString(diffValue("order of tools", strings.Join(names, " "), strings.Join(nowNames, " ")))
	}
	return b.String()
}

// diffMessages shows the first message that differs.
func diffMessages(was, is []transcript.Message) string {
	for i := range max(len(was), len(is)) {
		what := fmt.Sprintf("message %d of %d", i+1, len(was))
		switch {
		case i >= len(is):
			return diffValue(what, messageDump(was[i]), "(none)")
		case i >= len(was):
			return diffValue(what, "(none)", messageDump(is[i]))
		case llm.Digest("", was[i:i+1]) != llm.Digest("", is[i:i+1]):
			if d := diffText(what, messageDump(was[i]), messageDump(is[i])); d != "" {
				return d
			}
			return diffValue(what+", in the provider's own form", nativeText(was[i]), nativeText(is[i]))
		}
	}
	return ""
}

// messageDump returns a message as text, a line for each part.
func messageDump(m transcript.Message) string {
	lines := []string{string(m.Role)}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case transcript.Text:
			lines = append(lines, p.Text)
		case transcript.Reasoning:
			lines = append(lines, "(thinks) "+p.Thinking)
		case transcript.ToolCall:
			lines = append(lines, fmt.Sprintf("(calls %s as %s) %s", p.Name, p.ID, p.Input))
		case transcript.ToolResult:
			kind := "result"
			if p.IsError {
				kind = "error"
			}
			lines = append(lines, fmt.Sprintf("(%s of %s as %s) %s", kind, p.Name, p.ToolCallID, p.Content))
		case transcript.Finish:
			lines = append(lines, "(ends: "+string(p.Reason)+")")
		default:
			lines = append(lines, fmt.Sprintf("(%T)", p))
		}
	}
	return strings.Join(lines, "\n")
}

func nativeText(m transcript.Message) string {
	if m.Native == nil {
		return "(none)"
	}
	b, err := m.Native.Bytes()
	if err != nil {
		return err.Error()
	}
	return string(b)
}
