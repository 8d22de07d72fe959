package broker

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// serverLog hands the server's lines on and remembers, from each start, those
// that speak of damage.
type serverLog struct {
	log *slog.Logger

	mu      sync.Mutex
	last    string   // the last error; guarded by mu, like what follows
	damaged []string // at most maxDamaged
}

const maxDamaged = 20

// The server has no codes for these; the texts are those of 2.15.
var damageWords = []string{
	"checksum", "corrupt", "Missing stream", "Missing consumer", "Error reading", "Error unmarshalling",
	"bad msg", "Error recreating", "Error loading", "inconsistency", "could not locate", "decrypting",
}

func (l *serverLog) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.damaged = "", nil
}

func (l *serverLog) lastError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == "" {
		return "it did not become ready"
	}
	return l.last
}

func (l *serverLog) damageLines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.damaged...)
}

func (l *serverLog) note(line string, isError bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if isError {
		l.last = line
	}
	for _, w := range damageWords {
		if strings.Contains(line, w) && len(l.damaged) < maxDamaged {
			l.damaged = append(l.damaged, line)
			return
		}
	}
}

// Noticef and the other methods are what the server calls.
func (l *serverLog) Noticef(format string, v ...any) {
	l.log.Debug("message server", "line", strings.TrimSpace(fmt.Sprintf(format, v...)))
}

func (l *serverLog) Warnf(format string, v ...any) {
	line := strings.TrimSpace(fmt.Sprintf(format, v...))
	l.note(line, false)
	if strings.Contains(line, "took too long") { // of what it asks itself; nothing is lost by it
		l.log.Warn("message server is slow, the disk or the machine is busy", "line", line)
		return
	}
	l.log.Warn("message server", "line", line)
}

func (l *serverLog) Errorf(format string, v ...any) {
	line := strings.TrimSpace(fmt.Sprintf(format, v...))
	l.note(line, true)
	l.log.Error("message server", "line", line)
}

// Fatalf does not end the process: the caller that started the server looks whether it
// runs.
func (l *serverLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
