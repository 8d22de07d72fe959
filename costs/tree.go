package costs

// Node is a place in a tree of what things cost, one below another.
type Node struct {
	Depth   int    // below the root; any number there
	Own     Amount // by itself
	Subtree Amount // with all below it
}

// Tree shows a tree of costs such that what people see adds up, see [Column]: a node's
// own and its children's subtrees are its subtree. A node's own is added behind what is
// below it, so that who goes on spending changes nothing of what is shown below.
type Tree struct {
	Column

	nodes []Node
	first []int // the column's part with which a subtree begins
	own   []int // the part that is a node by itself
}

// NewTree returns the tree of nodes, each behind its parent and before what is not below
// it, as they are drawn. What a node's subtree holds beside the nodes below it, which
// are not drawn then, counts for the node and for those above it.
func NewTree(nodes []Node) Tree {
	t := Tree{nodes: nodes, first: make([]int, len(nodes)), own: make([]int, len(nodes))}
	var parts []Amount
	left := make([]Amount, len(nodes)) // of a subtree, beside its node and the nodes below
	var open []int
	closeTo := func(depth int) {
		for len(open) > 0 && nodes[open[len(open)-1]].Depth >= depth {
			i := open[len(open)-1]
			open = open[:len(open)-1]
			t.own[i] = len(parts) + 1
			parts = append(parts, left[i], nodes[i].Own)
		}
	}
	for i, n := range nodes {
		closeTo(n.Depth)
		if len(open) > 0 {
			left[open[len(open)-1]] -= n.Subtree
		}
		open = append(open, i)
		t.first[i] = len(parts)
		left[i] = n.Subtree - n.Own
	}
	if len(nodes) > 0 {
		closeTo(nodes[0].Depth)
	}
	t.Column = NewColumn(parts...)
	return t
}

// Own shows what node i costs by itself.
func (t Tree) Own(i int) string { return t.Part(t.own[i]) }

// Subtree shows what node i costs with all below it.
func (t Tree) Subtree(i int) string { return t.Range(t.first[i], t.own[i]+1) }

// Siblings shows what the nodes from first to the one before end cost, with all below
// them; first and the others that are no deeper have one parent.
func (t Tree) Siblings(first, end int) string {
	last := first
	for i := first; i < end; i++ {
		if t.nodes[i].Depth == t.nodes[first].Depth {
			last = i
		}
	}
	return t.Range(t.first[first], t.own[last]+1)
}
