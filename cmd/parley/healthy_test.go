package main

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/try"
)

// record is a line of the log.
type record struct {
	Level   string `json:"level"`
	Msg     string `json:"msg"`
	Channel string `json:"channel"`
	Network string `json:"network"`
	As      string `json:"as"`

	Workspace string `json:"workspace"` // of Slack
}

func TestAHealthyStartWarnsOfNothingAndSaysAsWhomItIsConnectedAndThatItEnded(t *testing.T) {
	t.Parallel()
	file, _ := everySim(t, "  log: {level: debug, format: json}")
	p := start(t, nil, "run", "-c", file)
	var connected []record
	for _, line := range p.err.awaitLines(t, 3, `"msg":"connected"`) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if r.Level != "INFO" && r.Level != "DEBUG" && !isOfBusyMachine(line) {
			t.Errorf("a healthy start logs %s", line)
		}
		if r.Msg == "connected" {
			connected = append(connected, r)
		}
	}
	slices.SortFunc(connected, func(a, b record) int { return strings.Compare(a.Channel, b.Channel) })
	want := []record{
		{"INFO", "connected", "phone", "signal", "+4915550000001", ""},
		{"INFO", "connected", "sim", "telegram", "@sim_bot", ""},
		{"INFO", "connected", "workspace", "slack", "@sim_bot", "Simulated"},
	}
	if !slices.Equal(connected, want) {
		t.Errorf("connected: %+v\nwant %+v", connected, want)
	}
	if status := p.end(syscall.SIGTERM); status != exitOK {
		t.Errorf("it ended with %d", status)
	}
	all := slices.Collect(strings.Lines(p.err.String()))
	var last record
	if err := json.Unmarshal([]byte(all[len(all)-1]), &last); err != nil || last.Level != "INFO" || last.Msg != "gateway ended" {
		t.Errorf("the last line is %s (%v)", all[len(all)-1], err)
	}
}

func TestAHealthyTryWarnsOfNothing(t *testing.T) {
	t.Parallel()
	for _, network := range try.Networks() {
		p := start(t, nil, "try", "-v", "--channel", strings.ToLower(network))
		for _, line := range p.err.awaitLines(t, 1, " network="+strings.ToLower(network)+" as=") {
			if !strings.Contains(line, " level=INFO ") && !isOfBusyMachine(line) {
				t.Errorf("%s: a healthy start logs %s", network, line)
			}
		}
		discard(p.in)
		for range p.lines { // to its end
		}
	}
}

// isOfBusyMachine reports whether a line warns of the machine that the test runs on, which
// may be as busy as it likes.
func isOfBusyMachine(line string) bool {
	return strings.Contains(line, "message server is slow, the disk or the machine is busy")
}
