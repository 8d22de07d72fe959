package main

import (
	"bytes"
	"strings"
	"testing"

	"parley/gateway/admin"
)

func TestPrintStatus(t *testing.T) {
	t.Parallel()
	t.Run("counts that the store did not say are not printed as none", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		st := admin.Status{Uncounted: true, DeadLetters: 3, Channels: []admin.ChannelStatus{{Name: "tg", Up: true}}}
		printStatus(&out, st)
		for _, want := range []string{"tg: up", "not known", "dead letters   3 (parley"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, &out)
			}
		}
		for _, wrong := range []string{"$", "0 turns running", "0 to send"} {
			if strings.Contains(out.String(), wrong) {
				t.Errorf("nobody knows %q in\n%s", wrong, &out)
			}
		}
	})
}
