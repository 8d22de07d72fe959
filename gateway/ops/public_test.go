package ops_test

import (
	"strings"
	"testing"

	"parley/gateway/ops"
)

// abuse L3: an address for everybody was taken without a password and without a word.
func TestAnAddressForEverybodyNeedsAWord(t *testing.T) {
	t.Parallel()
	for listen, own := range map[string]bool{
		"127.0.0.1:9464": true, "127.8.9.1:0": true, "[::1]:9464": true, "localhost:9464": true, "off": true,
		"0.0.0.0:9464": false, ":9464": false, "[::]:9464": false, "10.0.0.7:9464": false, "metrics.internal:9464": false,
		"127.0.0.1.example.org:9464": false, "localhost.example.org:1": false,
	} {
		err := ops.Config{Listen: listen}.Validate()
		if own != (err == nil) || err != nil && !strings.Contains(err.Error(), "public: true") {
			t.Errorf("%s: %v", listen, err)
		}
		if err := (ops.Config{Listen: listen, Public: true}).Validate(); err != nil {
			t.Errorf("%s, with the word: %v", listen, err)
		}
	}
}
