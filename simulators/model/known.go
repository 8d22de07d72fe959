package model

import (
	"bytes"
	"encoding/json"
	"sync"
)

// knownTools are the definitions that were read and found well-formed. A client sends the same
// ones with every request; they are read once.
type knownTools struct {
	mu     sync.Mutex
	byText map[toolText]knownTool // guarded by mu
}

// toolText is a definition as it was sent.
type toolText struct {
	protocol Protocol
	text     string
}

// knownTool is a tool, and whether the prefix that ends with it is cached.
type knownTool struct {
	Tool

	cache ttl
	text  []byte // what counts of it in a prefix; set by read
}

// What is kept of the definitions: so many, none of which is longer.
const (
	mostKnown    = 1 << 10
	longestKnown = 16 << 10
)

// read returns what parse makes of raw, which panics if a rule refuses it.
func (k *knownTools) read(protocol Protocol, raw json.RawMessage, parse func(json.RawMessage) knownTool) knownTool {
	k.mu.Lock()
	t, ok := k.byText[toolText{protocol, string(raw)}]
	k.mu.Unlock()
	if ok {
		return t
	}
	t = parse(bytes.Clone(raw)) // does not hold the rest of the request
	// Without cache_control: a moved breakpoint does not change the prefix.
	t.text = []byte(t.Name + t.Description + string(t.Schema))
	if len(raw) > longestKnown {
		return t
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byText) >= mostKnown {
		clear(k.byText)
	}
	k.byText[toolText{protocol, string(raw)}] = t
	return t
}

// tool takes over a tool.
func (p *Prompt) tool(t knownTool) {
	p.Tools = append(p.Tools, t.Tool)
	p.segment("tool", t.text, t.cache)
}
