package costs_test

import (
	"bytes"
	"os"
	"testing"

	. "parley/costs"
)

func BenchmarkPriceCost(b *testing.B) {
	p, _ := prices(b).Price("anthropic", "claude-haiku-5-5")
	u := Usage{Input: 6, CacheWrite5m: 3337, CacheRead: 6289, Output: 198, Tier: "standard", Geo: "not_available"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Cost(u); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCatalogueCostOfADatedName(b *testing.B) {
	c := prices(b)
	u := Usage{Input: 6, CacheWrite5m: 3337, CacheRead: 6289, Output: 198, Tier: "batch"}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Cost("anthropic", "claude-sonnet-4-5-20250929", u); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWorst(b *testing.B) {
	p, _ := prices(b).Price("anthropic", "claude-sonnet-5-5")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.WorstCase(100_000, 8_000); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallID(b *testing.B) {
	id := CallID{Turn: "01JDXK5V7Q0000000000000000", Purpose: RootTurn, Step: 3, Attempt: 1}
	b.ReportAllocs()
	for b.Loop() {
		_ = id.String()
	}
}

func BenchmarkLoad(b *testing.B) {
	text, err := os.ReadFile("prices.json")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(bytes.NewReader(text), "prices.json"); err != nil {
			b.Fatal(err)
		}
	}
}
