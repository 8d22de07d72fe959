package signal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
)

// lastEvent is the last event of an attached daemon that was taken, by its id. Since
// 0.14.6 signal-cli gives ids to the events of its HTTP stream and keeps the last 1,000
// in memory: asked for those behind one, it brings what came while nobody listened
// (man/signal-cli-jsonrpc.5). One that was restarted does not know the id and brings all
// that it has; what was taken before is known by its own id. Older ones give none.
type lastEvent struct {
	dir      string // "": it is forgotten with the process
	log      *slog.Logger
	reported bool // that it could not be stored
	at       storedEvent
}

// storedEvent is it in a file. At another address, or for another account, it means
// nothing.
type storedEvent struct {
	URL     string `json:"url"`
	Account string `json:"account"`
	ID      string `json:"id"`
}

const eventFile = "event.json"

// newLastEvent recalls what an earlier process stored.
func newLastEvent(o Options) *lastEvent {
	l := &lastEvent{dir: o.Dir, log: o.Log, at: storedEvent{URL: o.URL, Account: o.Account}}
	if l.dir == "" {
		return l
	}
	var was storedEvent
	err := readJSON(filepath.Join(l.dir, eventFile), &was)
	switch {
	case err == nil && was.URL == o.URL && was.Account == o.Account:
		l.at.ID = was.ID
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		l.log.Error("position in signal-cli's events unreadable: messages sent while parley was not listening are lost", "error", err)
	}
	return l
}

// advance notes that all up to the event were taken.
func (l *lastEvent) advance(id string) {
	if id == "" || id == l.at.ID {
		return
	}
	l.at.ID = id
	if l.dir == "" {
		return
	}
	err := os.MkdirAll(l.dir, 0o700)
	if err == nil {
		err = writeJSON(filepath.Join(l.dir, eventFile), l.at)
	}
	if err != nil && !l.reported {
		l.log.Error("position in signal-cli's events not stored: messages sent while parley is stopped may be lost", "error", fmt.Errorf("store it: %w", err))
	}
	l.reported = err != nil
}
