package broker

import (
	"bytes"
	"encoding/json"
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

// What the server says means something to who runs parley; its own line stands beside it.
func TestLinesOfTheServerAreToldInWordsOfOurOwn(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"JetStream out of space, will be DISABLED":                                                   "message server has no room on its disk, nothing is accepted",
		"JetStream failed to store a msg on stream 'A > INBOUND': write /x: no space left on device": "message server has no room on its disk, nothing is accepted",
		"File system permission denied while writing, disabling JetStream":                           "message server may not write its files: look at the owner of the folder log in the state folder",
		"JetStream stream '$G > INBOUND' critical write error: input/output error":                   "message server cannot write its files, nothing is accepted",
		"Slow Consumer Detected: WriteDeadline of 10s exceeded with 1 chunks":                        "message server dropped what a slow process did not read; what was accepted is kept",
		"Filestore [INBOUND] Stream state encountered internal inconsistency on load":                "message server found damaged files; parley says below what it does about them",
		"Something that no release has said yet":                                                     "message server reports an error",
	} {
		var out bytes.Buffer
		l := &serverLog{log: slog.New(slog.NewJSONHandler(&out, nil))}
		l.Errorf("%s", line)
		var got struct{ Level, Msg, Line string }
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got.Level != "ERROR" || got.Msg != want || got.Line != line {
			t.Errorf("%q is told as %+v, want %q", line, got, want)
		}
	}
}
