package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"parley/gateway/settings"
)

// A terminal shows the time of day, how serious it is and what happened, then the rest; in
// colours, unless its owner wants none.
func TestOnATerminalALineIsForPeople(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	at := time.Date(2026, 11, 26, 9, 5, 7, 250e6, time.UTC)
	write := func(colour bool, l slog.Level, message string, about ...any) string {
		out.Reset()
		h := newTerminalHandler(&out, slog.LevelInfo, colour).WithAttrs([]slog.Attr{slog.String("channel", "main")})
		r := slog.NewRecord(at, l, message, 0)
		r.Add(about...)
		if h.Enabled(t.Context(), l) {
			if err := h.Handle(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		return out.String()
	}
	for want, got := range map[string]string{
		"09:05:07.250 INFO  turn finished channel=main tools=2 duration=1.5s\n":                                write(false, slog.LevelInfo, "turn finished", "tools", 2, "duration", 1500*time.Millisecond),
		"\x1b[2m09:05:07.250\x1b[0m \x1b[31mERROR\x1b[0m lost\x1b[2m channel=main name=\"two words\"\x1b[0m\n": write(true, slog.LevelError, "lost", "name", "two words"),
		"09:05:07.250 WARN  refused channel=main name=\"\\x1b[31mred\\nnext\"\n":                               write(false, slog.LevelWarn, "refused", "name", "\x1b[31mred\nnext"),
		"09:05:07.250 INFO  \"of a library \\x1b[2J\" channel=main\n":                                          write(false, slog.LevelInfo, "of a library \x1b[2J"),
		"": write(false, slog.LevelDebug, "for developers"),
	} {
		if got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestNoColourWhereItsOwnerWantsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env  map[string]string
		want bool
	}{
		{nil, true},
		{map[string]string{"NO_COLOR": ""}, true},
		{map[string]string{"NO_COLOR": "1"}, false},
		{map[string]string{"TERM": "dumb"}, false},
		{map[string]string{"TERM": "xterm"}, true},
	} {
		p := program{getenv: func(key string) (string, bool) { v, ok := c.env[key]; return v, ok }}
		if got := p.wantsColour(); got != c.want {
			t.Errorf("%v: %v", c.env, got)
		}
	}
}

// A program that reads the log finds durations in seconds, as in the metrics.
func TestInJSONADurationIsSeconds(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := program{err: &out, getenv: os.LookupEnv}
	newLogger(p, settings.LogConfig{}, slog.LevelInfo).Info("turn finished", "duration", 1500*time.Millisecond)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["duration"] != 1.5 {
		t.Errorf("%s: %v", out.String(), err)
	}
	out.Reset()
	newLogger(p, settings.LogConfig{Format: "text"}, slog.LevelInfo).Info("turn finished", "duration", 1500*time.Millisecond)
	if !strings.Contains(out.String(), `level=INFO msg="turn finished" duration=1.5s`) {
		t.Errorf("not as key=value: %s", out.String())
	}
}
