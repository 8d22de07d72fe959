package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// journal is one append-only file. Everybody who appends while a sync is under
// way shares the next one.
type journal struct {
	f    *os.File
	wake chan struct{}
	done chan struct{}

	mu      sync.Mutex
	lines   []byte
	waiting []chan error
	closed  bool
}

func openJournal(dir string) (*journal, error) {
	f, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	j := &journal{f: f, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go j.loop()
	return j, nil
}

// append returns when entries are on the disk.
func (j *journal) append(entries ...any) error {
	var lines []byte
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	synced := make(chan error, 1)
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return os.ErrClosed
	}
	j.lines = append(j.lines, lines...)
	j.waiting = append(j.waiting, synced)
	j.mu.Unlock()
	j.poke()
	return <-synced
}

func (j *journal) poke() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

func (j *journal) loop() {
	defer close(j.done)
	for range j.wake {
		j.mu.Lock()
		lines, waiting, closed := j.lines, j.waiting, j.closed
		j.lines, j.waiting = nil, nil
		j.mu.Unlock()
		if len(lines) > 0 {
			_, err := j.f.Write(lines)
			if err == nil {
				err = syncData(j.f)
			}
			for _, w := range waiting {
				w <- err
			}
		}
		if closed {
			return
		}
	}
}

func (j *journal) close() error {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.poke()
	<-j.done
	return j.f.Close()
}
