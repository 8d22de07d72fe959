package faulttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"parley/channels/telegram"
	"parley/gateway/outcomes"
	"parley/gateway/schedule"
)

// logged is what the checker takes from the logs of the processes, because no counterpart sees it.
type logged struct {
	// unasked is which messages stood as they were to stand, and when.
	unasked map[Message][]time.Time
	// passed are the slots of jobs that were passed over because a run was at work still.
	passed map[string]map[time.Time]bool
}

func newLogged() *logged {
	return &logged{map[Message][]time.Time{}, map[string]map[time.Time]bool{}}
}

// readLogs reads the logs of all lives. A line is written before what it says is stored, so a
// life that was killed since has left it.
func readLogs(dir string) (*logged, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "process-*.log"))
	if err != nil {
		return nil, fmt.Errorf("find the logs of the processes: %w", err)
	}
	all := newLogged()
	for _, path := range paths {
		log, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the log of a process: %w", err)
		}
		if err := all.read(log); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

// read adds what a log says.
func (all *logged) read(log []byte) error {
	for line := range bytes.Lines(log) {
		if !bytes.Contains(line, []byte(telegram.StandsAlready)) && !bytes.Contains(line, []byte(schedule.SlotsPassed)) {
			continue
		}
		var l struct {
			Msg     string    `json:"msg"`
			Time    time.Time `json:"time"`
			Chat    int64     `json:"chat,string"`
			Message int64     `json:"message,string"`
			Job     string    `json:"job"`
			Slots   int       `json:"slots"`
			Because string    `json:"because"`
			Through time.Time `json:"through"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) { // its life ended in the middle of it
				continue
			}
			return fmt.Errorf("a line that cannot be read: %w: %s", err, line)
		}
		switch {
		case l.Msg == telegram.StandsAlready:
			m := Message{l.Chat, l.Message}
			all.unasked[m] = append(all.unasked[m], l.Time)
		case l.Msg == schedule.SlotsPassed && l.Because == outcomes.SlotBusy:
			if all.passed[l.Job] == nil {
				all.passed[l.Job] = map[time.Time]bool{}
			}
			for i := range l.Slots {
				all.passed[l.Job][l.Through.UTC().Add(-time.Duration(i)*jobEvery)] = true
			}
		}
	}
	return nil
}
