package channels

// Secret holds a token so that nothing prints it: not fmt with any verb, not
// encoding/json, not log/slog, also not when it stands in an unexported field
// of a value that is printed. The zero Secret is empty.
type Secret struct{ reveal func() string }

// redacted is what stands wherever a secret would have stood.
const redacted = "[redacted]"

// NewSecret takes s into keeping.
func NewSecret(s string) Secret {
	if s == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return s }}
}

// Reveal gives the secret itself, for the one place that sends it.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.reveal == nil }

// String returns "[redacted]", or empty for the zero Secret.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return redacted
}

// GoString returns String.
func (s Secret) GoString() string { return s.String() }

// MarshalText returns String: a secret is never written out.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes b as the secret.
func (s *Secret) UnmarshalText(b []byte) error {
	*s = NewSecret(string(b))
	return nil
}
