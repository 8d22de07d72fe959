package broker

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// logMark is what is known of the log outside the log: a small file beside it,
// so that a log that comes back shorter is not taken for a short one.
type logMark struct {
	Generation string `json:"generation"`
	LastSeq    uint64 `json:"last_seq"` // at least this many were stored
	Clean      bool   `json:"clean"`    // written at a regular end, and nothing came after
	Messages   uint64 `json:"messages"` // how many there were, when Clean
	// Store is a number that a store beside the log has reached; see [Broker.NoteStore].
	Store uint64 `json:"store,omitempty"`
}

const markFile = "mark.json"

// NoteStore keeps a number beside the log, of a server in this process, that a store
// beside it has reached and which only grows. Opened has it when the log is opened
// again: a store that says less by then is an older copy of itself. It is written
// down with the watchdog's next look, and by Close; a lower one changes nothing.
func (b *Broker) NoteStore(n uint64) {
	for was := b.storeAt.Load(); n > was && !b.storeAt.CompareAndSwap(was, n); was = b.storeAt.Load() {
	}
}

// readMark returns the zero mark when there is none yet.
func readMark(dir string) (logMark, error) {
	b, err := os.ReadFile(filepath.Join(dir, markFile))
	if errors.Is(err, os.ErrNotExist) {
		return logMark{}, nil
	}
	if err != nil {
		return logMark{}, fmt.Errorf("read the log's mark: %w", err)
	}
	var m logMark
	if err := json.Unmarshal(b, &m); err != nil {
		return logMark{}, fmt.Errorf("read the log's mark: %w", err)
	}
	return m, nil
}

// write replaces the mark as a whole, durably.
func (m logMark) write(dir string) error {
	b, err := json.Marshal(m)
	if err == nil {
		err = writeFile(filepath.Join(dir, markFile), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the log's mark: %w", err)
	}
	return nil
}

// writeFile replaces a file as a whole, durably.
func writeFile(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", filepath.Base(dir), err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync %s: %w", filepath.Base(dir), err)
	}
	return nil
}
