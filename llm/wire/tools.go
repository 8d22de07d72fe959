package wire

import (
	"bytes"
	"slices"
	"sync"

	"parley/llm"
)

// maxToolLists is how many lists of tools are kept as they are written: the agents of a gateway,
// each also without some tools.
const maxToolLists = 16

// toolLists keeps lists of tools as they were written for a model: they are the larger part of a
// short request, and the same in nearly all.
type toolLists struct {
	mu   sync.Mutex
	kept []toolList // newest first
}

type toolList struct {
	tools []llm.Definition
	json  []byte
}

// ToolsJSON returns what encode writes of ds, which is a function of ds and of nothing else that
// changes. Nobody may change a byte of it.
func (c *Client) ToolsJSON(ds []llm.Definition, encode func([]llm.Definition) ([]byte, error)) ([]byte, error) {
	if found := c.tools.find(ds); found != nil {
		return found, nil
	}
	b, err := encode(ds)
	if err != nil {
		return nil, err
	}
	c.tools.keep(toolList{slices.Clone(ds), b})
	return b, nil
}

func (l *toolLists) find(ds []llm.Definition) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, k := range l.kept {
		if slices.EqualFunc(k.tools, ds, sameTool) {
			copy(l.kept[1:i+1], l.kept[:i])
			l.kept[0] = k
			return k.json
		}
	}
	return nil
}

func (l *toolLists) keep(k toolList) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = slices.Insert(l.kept, 0, k)
	if len(l.kept) > maxToolLists {
		l.kept = l.kept[:maxToolLists]
	}
}

func sameTool(a, b llm.Definition) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}
