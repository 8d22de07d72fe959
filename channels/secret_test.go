package channels_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"parley/channels"
)

func TestASecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	type holder struct {
		Open   channels.Secret
		hidden channels.Secret
	}
	s := channels.NewSecret("canary")
	h := holder{s, s}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "s", s, "h", h)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "s", s, "h", h)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		_, _ = fmt.Fprintf(&log, verb, s)
		_, _ = fmt.Fprintf(&log, verb, &h)
		_, _ = fmt.Fprintf(&log, verb, []any{h, &s})
	}
	out, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	all := log.String() + string(out)
	if strings.Contains(all, "canary") || strings.Contains(all, "63616e617279") {
		t.Errorf("it shows: %s", all)
	}
	if s.Reveal() != "canary" || s.IsZero() || h.hidden.IsZero() {
		t.Error("it was lost")
	}
	if z := channels.NewSecret(""); !z.IsZero() || z.Reveal() != "" || z.String() != "" {
		t.Error("an empty secret is none")
	}
	var back channels.Secret
	if err := json.Unmarshal([]byte(`"canary"`), &back); err != nil || back.Reveal() != "canary" {
		t.Errorf("read back: %v", err)
	}
}

func TestAnErrorSaysWhatWasAttempted(t *testing.T) {
	t.Parallel()
	cause := errors.New("reset by peer")
	err := error(&channels.Error{Kind: channels.Ambiguous, Op: "sendMessage", Err: cause})
	if err.Error() != "sendMessage: ambiguous: reset by peer" || !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	err = &channels.Error{Kind: channels.Refused, Op: "sendMessage", Status: 400, Message: "too long", Err: cause}
	if err.Error() != "sendMessage: refused (400): too long" {
		t.Errorf("%v", err)
	}
}
