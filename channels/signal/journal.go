package signal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// journal is the output of each daemon that ran for an account, in a file of its
// own, and how far it was taken. Files are numbered as the daemons were started;
// the one before the newest is complete, since no daemon is started while another
// lives. What was taken is given back to the disk.
//
// One goroutine reads it. Only begin is another's.
type journal struct {
	dir     string
	reclaim int64
	maxLine int64
	log     *slog.Logger
	newest  atomic.Int64 // the number of the newest file; 0: there is none

	committed position // behind which nothing is taken, as it is stored
	read      position // up to which lines were given by next
	file      *os.File // the one that is read, or nil
	freed     int64    // bytes of the file of at that were given back
	noHoles   bool
}

// position is how far the journal was taken, as it is stored.
type position struct {
	File   int64        `json:"file"`
	Offset int64        `json:"offset"`
	Lines  uint64       `json:"lines"` // taken in all, of all files
	Edits  []storedEdit `json:"edits,omitempty"`
}

// journalLine is one line of the journal.
type journalLine struct {
	text    []byte
	problem error    // why it cannot be an event
	after   position // when it is taken; without Edits
}

const (
	positionFile = "position.json"
	journalName  = "journal-"
	journalEnd   = ".ndjson"

	batchLines = 100     // at most in one batch
	batchBytes = 1 << 20 // at most in one batch, but for a single longer line
)

func (j *journal) path(n int64) string {
	return filepath.Join(j.dir, fmt.Sprintf("%s%08d%s", journalName, n, journalEnd))
}

// files are the numbers of the files that are there, ascending.
func (j *journal) files() ([]int64, error) {
	all, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, fmt.Errorf("look for the journal: %w", err)
	}
	var out []int64
	for _, f := range all {
		s, ok := strings.CutPrefix(f.Name(), journalName)
		s, ok2 := strings.CutSuffix(s, journalEnd)
		if n, err := strconv.ParseInt(s, 10, 64); ok && ok2 && err == nil && n > 0 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out, nil
}

// open reads the stored position. Without one all that is there is taken.
func (j *journal) open() error {
	j.close()
	j.committed, j.freed = position{}, 0
	err := readJSON(filepath.Join(j.dir, positionFile), &j.committed)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// Taken again, what was taken before adds nothing.
		j.log.Error("journal position unreadable, the rest of the journal is processed again", "error", err)
		j.committed = position{}
	}
	j.read = j.committed
	j.read.Edits = nil
	files, err := j.files()
	if err != nil {
		return err
	}
	if len(files) > 0 {
		j.newest.Store(max(j.newest.Load(), files[len(files)-1]))
	}
	return nil
}

// createFile makes the file for the output of the next daemon. Nobody may write to
// an earlier one any more.
func (j *journal) createFile() (*os.File, error) {
	files, err := j.files()
	if err != nil {
		return nil, err
	}
	n := j.newest.Load()
	if len(files) > 0 {
		n = max(n, files[len(files)-1])
	}
	var at position // numbers must go on although all files are gone
	if err := readJSON(filepath.Join(j.dir, positionFile), &at); err == nil {
		n = max(n, at.File)
	}
	n++
	f, err := os.OpenFile(j.path(n), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin a journal: %w", err)
	}
	if err := syncDir(j.dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	j.newest.Store(n)
	return f, nil
}

// removeEmpty removes the file of a daemon that ended and had written nothing, so that
// one which ends at once again and again leaves no heap of them.
func (j *journal) removeEmpty(path string) {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		_ = os.Remove(path)
	}
}

// next gives the lines behind those that it gave before, some at a time; none, when
// there are none yet. They come in their order.
func (j *journal) next() ([]journalLine, error) {
	for {
		if j.file == nil {
			if ok, err := j.openNext(); !ok || err != nil {
				return nil, err
			}
		}
		closed := j.read.File < j.newest.Load() // asked before its size
		before := j.read.Offset
		lines, err := j.readBatch(closed)
		if len(lines) > 0 || err != nil {
			return lines, err
		}
		if j.read.Offset > before {
			continue // over nothing; there may be more
		}
		if !closed {
			return nil, nil
		}
		j.close()
		j.read.File, j.read.Offset = j.read.File+1, 0
	}
}

// openNext opens the file that is to be read, or the next one that is there.
func (j *journal) openNext() (bool, error) {
	files, err := j.files()
	if err != nil {
		return false, err
	}
	i, found := slices.BinarySearch(files, j.read.File)
	if i == len(files) {
		return false, nil
	}
	if !found {
		j.read.File, j.read.Offset = files[i], 0
	}
	f, err := os.Open(j.path(j.read.File))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // nothing was in it
	}
	if err != nil {
		return false, fmt.Errorf("open the journal: %w", err)
	}
	j.file = f
	return true, nil
}

// readBatch gives the whole lines that were not given yet; in a file to which nobody
// writes any more also a last one without its end.
func (j *journal) readBatch(closed bool) ([]journalLine, error) {
	info, err := j.file.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the journal: %w", err)
	}
	if j.read.Offset >= info.Size() {
		return nil, nil // also of a file that lost its end with the power
	}
	r := bufio.NewReaderSize(io.NewSectionReader(j.file, j.read.Offset, info.Size()-j.read.Offset), 64<<10)
	var out []journalLine
	at := j.read
	for size := int64(0); len(out) < batchLines && size < batchBytes; {
		text, n, err := readLine(r, j.maxLine)
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended && !errors.Is(err, errTooLarge) {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
		if ended && (n == 0 || !closed) {
			break
		}
		size += n
		at.Offset += n
		if len(bytes.Trim(text, "\x00")) == 0 && !ended {
			continue // signal-cli writes none; zeros are what was given back
		}
		at.Lines++
		line := journalLine{text: text, after: at}
		if errors.Is(err, errTooLarge) {
			line.problem = errTooLong
		}
		out = append(out, line)
		if ended {
			break
		}
	}
	j.read = at
	return out, nil
}

// commit stores that all up to and with line was taken. When it returned nil no
// crash brings the line again.
func (j *journal) commit(line journalLine, edits []storedEdit) error {
	at := line.after
	at.Edits = edits
	if err := writeJSON(filepath.Join(j.dir, positionFile), at); err != nil {
		return fmt.Errorf("store the position in the journal: %w", err)
	}
	if at.File != j.committed.File {
		j.freed = 0
	}
	j.committed = at
	j.reclaimSpace()
	return nil
}

// reclaimSpace gives back what was taken: files before the current one, and the
// beginning of that.
func (j *journal) reclaimSpace() {
	files, err := j.files()
	for _, n := range files {
		if n < j.committed.File {
			err = errors.Join(err, os.Remove(j.path(n)))
		}
	}
	if err != nil {
		j.log.Warn("processed journal not deleted", "error", err)
	}
	// The end of the last line stays, so that who reads from the beginning, because
	// the position is gone, finds the next one.
	end := j.committed.Offset - 1
	if j.noHoles || end-j.freed < j.reclaim {
		return
	}
	if err := punchHole(j.path(j.committed.File), end); err != nil {
		j.noHoles = true
		j.log.Warn("journal not truncated: it keeps its size until signal-cli restarts", "error", err)
		return
	}
	j.freed = end
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
}
