package broker

import (
	"fmt"
	"log/slog"
	"slices"
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
	if isDamage(line) && len(l.damaged) < maxDamaged {
		l.damaged = append(l.damaged, line)
	}
}

// meanings say what a line of the server means to who runs parley: the first whose words are in it.
var meanings = []struct{ words, meaning string }{
	{"took too long", "message server is slow, the disk or the machine is busy"}, // what it asked itself; nothing is lost by it
	{"Readloop processing time", "message server is slow, the disk or the machine is busy"},
	{"no space left", "message server has no room on its disk, nothing is accepted"},
	{"out of space", "message server has no room on its disk, nothing is accepted"},
	{"out of resources", "message server has no room on its disk, nothing is accepted"},
	{"resources, will be DISABLED", "message server has no room left, nothing is accepted"},
	{"resource limits exceeded", "message server has reached its limits, nothing is accepted"},
	{"permission denied", "message server may not write its files: look at the owner of the folder log in the state folder"},
	{"critical write error", "message server cannot write its files, nothing is accepted"},
	{"failed to store a msg", "message server did not store a message; its network will bring it again"},
	{"high message lag", "message server falls behind, the disk or the machine is busy"},
	{"Slow Consumer", "message server dropped what a slow process did not read; what was accepted is kept"},
	{"too many open files", "too many open files: raise the limit of this process (ulimit -n)"},
}

// describeLine returns what a line of the server means, else a sentence that fits any.
func describeLine(line, other string) string {
	for _, m := range meanings {
		if strings.Contains(line, m.words) {
			return m.meaning
		}
	}
	if isDamage(line) {
		return "message server found damaged files; parley says below what it does about them"
	}
	return other
}

func isDamage(line string) bool {
	return slices.ContainsFunc(damageWords, func(w string) bool { return strings.Contains(line, w) })
}

// Noticef and the other methods are what the server calls.
func (l *serverLog) Noticef(format string, v ...any) {
	l.log.Debug("message server reports", "line", strings.TrimSpace(fmt.Sprintf(format, v...)))
}

func (l *serverLog) Warnf(format string, v ...any) {
	line := strings.TrimSpace(fmt.Sprintf(format, v...))
	l.note(line, false)
	l.log.Warn(describeLine(line, "message server warns"), "line", line)
}

func (l *serverLog) Errorf(format string, v ...any) {
	line := strings.TrimSpace(fmt.Sprintf(format, v...))
	l.note(line, true)
	l.log.Error(describeLine(line, "message server reports an error"), "line", line)
}

// Fatalf does not end the process: the caller that started the server looks whether it
// runs.
func (l *serverLog) Fatalf(format string, v ...any) { l.Errorf(format, v...) }
func (l *serverLog) Debugf(string, ...any)          {}
func (l *serverLog) Tracef(string, ...any)          {}
