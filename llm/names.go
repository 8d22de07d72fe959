package llm

import (
	"bytes"
	"slices"
	"sync"
)

// maxNames is how many frames a TemplateNames knows: of the agents of a gateway, on each network,
// and of titles and summaries.
const maxNames = 32

// TemplateNames knows the names of the frames that were asked for last. Nearly every call has the
// frame of another one, and its name is a digest of all that stands in it. The zero value knows
// none. It is safe for concurrent use.
type TemplateNames struct {
	mu    sync.Mutex
	known []namedTemplate // newest first
}

type namedTemplate struct {
	template RequestTemplate
	name     string
}

// Name returns f.Name(). Nobody may change what f holds afterwards. A nil n knows nothing.
func (n *TemplateNames) Name(f RequestTemplate) string {
	if n == nil {
		return f.Name()
	}
	if name, ok := n.find(f); ok {
		return name
	}
	name := f.Name()
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) == maxNames {
		n.known = n.known[:maxNames-1]
	}
	n.known = slices.Insert(n.known, 0, namedTemplate{f, name})
	return name
}

func (n *TemplateNames) find(f RequestTemplate) (name string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, k := range n.known {
		if k.template.equals(f) {
			copy(n.known[1:i+1], n.known[:i])
			n.known[0] = k
			return k.name, true
		}
	}
	return "", false
}

func (f RequestTemplate) equals(g RequestTemplate) bool {
	return f.Provider == g.Provider && f.Model == g.Model && f.Choice == g.Choice && f.Parameters.equals(g.Parameters) &&
		slices.Equal(f.System, g.System) &&
		slices.EqualFunc(f.Tools, g.Tools, func(a, b Definition) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
		})
}

func (p Parameters) equals(q Parameters) bool {
	same := sameNumber(p.Temperature, q.Temperature) && sameNumber(p.TopP, q.TopP)
	p.Temperature, p.TopP, q.Temperature, q.TopP = nil, nil, nil, nil
	return same && p == q
}

func sameNumber(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }
