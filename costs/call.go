package costs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrCallID is the kind of every error of ParseCallID and CallID.Validate.
var ErrCallID = errors.New("invalid call id")

// String returns "<turn>/<purpose>/<step>/<attempt>", as in
// "01JD…/root/3/1". In turn and purpose every byte but the letters, digits and
// "-", "_", "." stands as %XX, so that different ids always have different
// texts, even ids that Validate refuses.
func (c CallID) String() string {
	b := make([]byte, 0, len(c.Turn)+len(c.Purpose)+8)
	b = appendPlain(b, c.Turn)
	b = appendPlain(append(b, '/'), string(c.Purpose))
	b = strconv.AppendInt(append(b, '/'), int64(c.Step), 10)
	b = strconv.AppendInt(append(b, '/'), int64(c.Attempt), 10)
	return string(b)
}

// Validate reports whether c names a call: it has a turn and a purpose, and step
// and attempt count from 1. Of a tool the step may be 0: a person permitted the call with
// which the turn begins.
func (c CallID) Validate() error {
	switch {
	case c.Turn == "":
		return fmt.Errorf("%w: no turn", ErrCallID)
	case c.Purpose == "":
		return fmt.Errorf("%w: no purpose", ErrCallID)
	case c.Step < 1 && (c.Purpose != Tool || c.Step < 0):
		return fmt.Errorf("%w: step %d is not from 1", ErrCallID, c.Step)
	case c.Attempt < 1:
		return fmt.Errorf("%w: attempt %d is not from 1", ErrCallID, c.Attempt)
	}
	return nil
}

// ParseCallID reads what String gives for a valid id, and nothing else.
func ParseCallID(s string) (CallID, error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 {
		return CallID{}, fmt.Errorf("%w: %s has %d parts, not turn/purpose/step/attempt", ErrCallID, quote(s), len(parts))
	}
	turn, okTurn := parsePlain(parts[0])
	purpose, okPurpose := parsePlain(parts[1])
	step, errStep := strconv.Atoi(parts[2])
	attempt, errAttempt := strconv.Atoi(parts[3])
	c := CallID{Turn: turn, Purpose: Purpose(purpose), Step: step, Attempt: attempt}
	if !okTurn || !okPurpose || errStep != nil || errAttempt != nil || c.String() != s {
		return CallID{}, fmt.Errorf("%w: %s", ErrCallID, quote(s))
	}
	if err := c.Validate(); err != nil {
		return CallID{}, fmt.Errorf("%s: %w", quote(s), err)
	}
	return c, nil
}

const upperHex = "0123456789ABCDEF"

func appendPlain(b []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.", c) >= 0 {
			b = append(b, c)
			continue
		}
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
	}
	return b
}

// parsePlain undoes appendPlain; that nothing else was read is checked by writing
// it again.
func parsePlain(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		n, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
		if err != nil {
			return "", false
		}
		b = append(b, byte(n))
		i += 2
	}
	return string(b), true
}
