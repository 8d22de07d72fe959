package broker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestASlowServerIsToldInWordsOfOurOwn(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &serverLog{log: slog.New(slog.NewTextHandler(&out, nil))}
	l.Warnf("Internal subscription on %q took too long: %v", "$JS.API.STREAM.INFO.INBOUND", "2.5s")
	for _, want := range []string{"level=WARN", "message server is slow, the disk or the machine is busy", "2.5s"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %s", want, out.String())
		}
	}
	if got := l.damageLines(); len(got) != 0 {
		t.Errorf("taken for damage: %q", got)
	}
}
