package sessionkeys_test

import (
	"testing"

	. "parley/sessionkeys"
)

var place = Address{Channel: "telegram", Account: "7012345678", Kind: Group, Peer: "-1001234567890", Thread: "42"}

func BenchmarkFor(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := For("main", place); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	s := mustFor(b, "main", place).String()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkToken(b *testing.B) {
	k := mustFor(b, "main", place)
	b.ReportAllocs()
	for b.Loop() {
		_ = k.Token()
	}
}
