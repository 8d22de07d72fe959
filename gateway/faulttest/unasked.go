package faulttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"parley/channels/telegram"
)

// readUnaskedLogs reads in the logs of all lives which messages stood as they were to stand. A
// line is written before the receipt is stored, as a call is made, so a life that was
// killed since has left it.
func readUnaskedLogs(dir string) (map[Message][]time.Time, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "process-*.log"))
	if err != nil {
		return nil, fmt.Errorf("find the logs of the processes: %w", err)
	}
	all := map[Message][]time.Time{}
	for _, path := range paths {
		log, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the log of a process: %w", err)
		}
		if err := readUnasked(log, all); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

// readUnasked adds what a log says.
func readUnasked(log []byte, all map[Message][]time.Time) error {
	for line := range bytes.Lines(log) {
		if !bytes.Contains(line, []byte(telegram.StandsAlready)) {
			continue
		}
		var l struct {
			Time    time.Time `json:"time"`
			Chat    int64     `json:"chat,string"`
			Message int64     `json:"message,string"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			if !bytes.HasSuffix(line, []byte("\n")) { // its life ended in the middle of it
				continue
			}
			return fmt.Errorf("a line that cannot be read: %w: %s", err, line)
		}
		m := Message{l.Chat, l.Message}
		all[m] = append(all[m], l.Time)
	}
	return nil
}
