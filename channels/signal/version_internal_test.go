package signal

import (
	"errors"
	"testing"
)

// firstday G1.
func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{
		"0.13.19": true, "0.14": true, "0.14.4.1": true, "0.14.4": true, "0.9.99": true,
		"0.14.5": false, "0.14.5-SNAPSHOT": false, "0.14.10": false, "0.14.8.1": false, "0.15": false, "1.0.0": false,
		"": false, "unspecified": false, "main-5c3fc44": false,
	} {
		if err := checkVersion(version, "+4915550000001"); errors.Is(err, errTooOld) != old {
			t.Errorf("%q: %v, want too old: %v", version, err, old)
		}
	}
}
