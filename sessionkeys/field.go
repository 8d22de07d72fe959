package sessionkeys

import (
	"fmt"
	"strings"
)

const upperHex = "0123456789ABCDEF"

// isLiteral reports whether c stands as it is in a field.
func isLiteral(c byte) bool { return c >= 0x21 && c <= 0x7E && c != ':' && c != '%' }

// escape writes s as one field of a key. It refuses rather than shortens: two
// ids that differ past the limit would share a key.
func escape(b *strings.Builder, name, s string) error {
	if s == "" {
		return fmt.Errorf("%w: %s is empty", ErrInvalid, name)
	}
	if len(s) > MaxField {
		return fmt.Errorf("%w: %s has %d bytes, at most %d are allowed", ErrInvalid, name, len(s), MaxField)
	}
	for i := range len(s) {
		if c := s[i]; isLiteral(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return nil
}

// unescape reads one field. It accepts only what escape writes, so that a key
// has exactly one text.
func unescape(name, s string) (string, error) {
	if len(s) > 3*MaxField {
		return "", fmt.Errorf("%w: %s has %d bytes even escaped, at most %d are allowed", ErrInvalid, name, len(s), 3*MaxField)
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if isLiteral(c) {
			b.WriteByte(c)
			continue
		}
		if c != '%' || i+2 >= len(s) {
			return "", fmt.Errorf("%w: %s holds a byte that must be escaped: %s", ErrInvalid, name, quote(s))
		}
		hi, lo := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
		if hi < 0 || lo < 0 || isLiteral(byte(hi<<4|lo)) {
			return "", fmt.Errorf("%w: %s holds an escape that no key has: %s", ErrInvalid, name, quote(s))
		}
		b.WriteByte(byte(hi<<4 | lo))
		i += 2
	}
	if b.Len() == 0 || b.Len() > MaxField {
		return "", fmt.Errorf("%w: %s has %d bytes, 1 to %d are allowed", ErrInvalid, name, b.Len(), MaxField)
	}
	return b.String(), nil
}
