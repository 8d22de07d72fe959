package costs_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "parley/costs"
)

func TestTree(t *testing.T) {
	t.Parallel()
	t.Run("shows each node's own and its children's subtrees such that they are its subtree", func(t *testing.T) {
		t.Parallel()
		for seed := range uint64(500) {
			nodes, parents := grow(rand.New(rand.NewPCG(seed, 5)))
			tree := NewTree(nodes)
			if tree.Subtree(0) != tree.Total() {
				t.Fatalf("seed %d: the root is %s of %s", seed, tree.Subtree(0), tree.Total())
			}
			left := make([]Amount, len(nodes))
			for i, n := range nodes {
				own, all := read(t, tree.Own(i)), read(t, tree.Subtree(i))
				if d, e := own-n.Own, all-n.Subtree; d >= USD/100 || -d >= USD/100 || e >= USD/100 || -e >= USD/100 {
					t.Fatalf("seed %d: %s and %s are shown as %s and %s", seed, n.Own, n.Subtree, tree.Own(i), tree.Subtree(i))
				}
				if (tree.Own(i) == "$0.00") != (n.Own == 0) || (tree.Subtree(i) == "$0.00") != (n.Subtree == 0) {
					t.Fatalf("seed %d: %s and %s are shown as %s and %s", seed, n.Own, n.Subtree, tree.Own(i), tree.Subtree(i))
				}
				left[i] += all - own
				if i > 0 {
					left[parents[i]] -= all
				}
			}
			for i, l := range left {
				if l != 0 {
					t.Fatalf("seed %d: of the subtree of node %d, shown as %s, nobody shows %s", seed, i, tree.Subtree(i), l)
				}
			}
		}
	})
	t.Run("shows siblings together as their subtrees add up", func(t *testing.T) {
		t.Parallel()
		for seed := range uint64(200) {
			nodes, parents := grow(rand.New(rand.NewPCG(seed, 11)))
			tree := NewTree(nodes)
			for first := 1; first < len(nodes); first++ {
				var sum Amount
				end := first
				for ; end < len(nodes) && nodes[end].Depth >= nodes[first].Depth; end++ {
					if parents[end] == parents[first] {
						sum += read(t, tree.Subtree(end))
					}
				}
				if got := tree.Siblings(first, end); read(t, got) != sum {
					t.Fatalf("seed %d: nodes %d to %d are %s, shown as %s", seed, first, end, sum, got)
				}
			}
		}
	})
	t.Run("counts what is not drawn for the node that holds it", func(t *testing.T) {
		t.Parallel()
		tree := NewTree([]Node{{0, USD, 10 * USD}, {1, USD, 4 * USD}, {1, USD, USD}})
		if got := tree.Own(0) + " " + tree.Subtree(0) + " " + tree.Own(1) + " " + tree.Subtree(1) + " " + tree.Subtree(2); got != "$1.00 $10.00 $1.00 $4.00 $1.00" {
			t.Error(got)
		}
	})
	t.Run("shows below a node what it did before, when the node goes on", func(t *testing.T) {
		t.Parallel()
		for seed := range uint64(200) {
			nodes, _ := grow(rand.New(rand.NewPCG(seed, 13)))
			before := NewTree(nodes)
			nodes = slices.Clone(nodes)
			nodes[0].Own += 12_345_678
			nodes[0].Subtree += 12_345_678
			after := NewTree(nodes)
			if before.WithParts(1).Total() != after.WithParts(1).Total() {
				continue // it passed a dollar, and has other decimals
			}
			for i := 1; i < len(nodes); i++ {
				if before.Own(i) != after.Own(i) || before.Subtree(i) != after.Subtree(i) {
					t.Fatalf("seed %d: node %d was %s, %s and is %s, %s", seed, i, before.Own(i), before.Subtree(i), after.Own(i), after.Subtree(i))
				}
			}
		}
	})
	t.Run("may be empty", func(t *testing.T) {
		t.Parallel()
		if got := NewTree(nil).Total(); got != "$0.00" {
			t.Error(got)
		}
	})
}

// grow returns a random tree as it is drawn, and the parent of each node.
func grow(r *rand.Rand) (nodes []Node, parents []int) {
	amount := func() Amount {
		if r.IntN(4) == 0 {
			return 0
		}
		return Amount(r.Int64N(int64(10) << r.IntN(40)))
	}
	nodes, parents = []Node{{Depth: 2, Own: amount()}}, []int{-1}
	for range r.IntN(20) {
		parent := len(nodes) - 1
		for parent > 0 && r.IntN(2) == 0 {
			parent = parents[parent]
		}
		nodes, parents = append(nodes, Node{Depth: nodes[parent].Depth + 1, Own: amount()}), append(parents, parent)
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		nodes[i].Subtree += nodes[i].Own
		if i > 0 {
			nodes[parents[i]].Subtree += nodes[i].Subtree
		}
	}
	return nodes, parents
}
