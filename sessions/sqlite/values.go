package sqlite

import (
	"encoding/json"
	"fmt"
)

// jsonText is v as JSON.
func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return string(b), nil
}
