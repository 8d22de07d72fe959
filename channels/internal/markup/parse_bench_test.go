package markup_test

import (
	"testing"

	"parley/channels/internal/markup"
)

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"sentence": "It is *so*, because `it` is.",
		"answer":   "# It is so\n\nBecause **it** is:\n\n- one\n- [two](https://example.com)\n\n```go\nx := 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				markup.Parse(text)
			}
		})
	}
}
