package redaction_test

import (
	"encoding/json"
	"strings"
	"testing"

	"parley/gateway/redaction"
)

func TestSecretsAreTakenOutOfTextsAndNothingElseChanges(t *testing.T) {
	t.Parallel()
	redact := strings.NewReplacer(`a"b<é`, "[secret]", "7", "[seven]").Replace
	for in, want := range map[string]string{
		`{"n": 7, "s":"plain \u003c \"x\" \\"}`: `{"n": 7, "s":"plain \u003c \"x\" \\"}`,
		`{"s":"x a\"b<é y","t":"\u003c"}`:       `{"s":"x [secret] y","t":"\u003c"}`,
		`{"s":"a\"b\u003c\u00e9"}`:              `{"s":"[secret]"}`,
		`{"a\"b<é":["77"]}`:                     `{"[secret]":["[seven][seven]"]}`,
		`{"s":"{\"k\": \"a\\\"b\\u003cé\"}"}`:   `{"s":"{\"k\": \"[secret]\"}"}`,
	} {
		got, err := redaction.CleanJSON([]byte(in), redact)
		if err != nil || string(got) != want || !json.Valid(got) {
			t.Errorf("%s became %s, want %s (%v)", in, got, want, err)
		}
	}
	for _, bad := range []string{`{"s":"x`, `{"s":"\`, `{"s":"\x"}`} {
		if _, err := redaction.CleanJSON([]byte(bad), redact); err == nil {
			t.Errorf("%s is no JSON and was taken", bad)
		}
	}
}
