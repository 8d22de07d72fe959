package attachments

import (
	"errors"
	"sync"
	"time"

	"parley/disks"
	"parley/folders"
	"parley/gateway/outcomes"
)

// Space is how much may lie in one workspace before no further file of a message is
// saved there. Zero: any number.
type Space struct {
	MaxBytes int64
	MaxFiles int
}

// spare is how much of the disk is left to what must go on when people send files:
// the message log and the database.
const spare = 64 << 20

// checkRoom returns why a file of size bytes, 0 when nobody knows, is not to be saved in
// the workspace; "" when it may be. What cannot be counted has room: saving it tells.
func (b *Importer) checkRoom(workspace string, size int64) outcomes.File {
	if free, err := disks.FreeBytes(workspace); err == nil && free < spare+size {
		return outcomes.FileNoRoom
	}
	if b.Space == (Space{}) {
		return ""
	}
	files, bytes := 0, size
	err := folders.Walk(workspace, func(f folders.File) error {
		if f.Info.IsDir() {
			return nil
		}
		files++
		if bytes += f.Info.Size(); b.Space.MaxFiles > 0 && files >= b.Space.MaxFiles || b.Space.MaxBytes > 0 && bytes > b.Space.MaxBytes {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) || errors.Is(err, folders.ErrDeep) { // which is not counted to its end
		return outcomes.FullWorkspace
	}
	return ""
}

var errFull = errors.New("workspace full")

// Quota counts what people send in a day, for this process. The zero value has counted
// nothing; it may be used by several importers at once.
type Quota struct {
	mu     sync.Mutex
	day    time.Time
	people map[string]dailyUse
}

type dailyUse struct {
	files int
	bytes int64
}

// reserve counts a file of size bytes, 0 when nobody knows, as sent by the person, unless
// that were more than c lets one send in a day (UTC).
func (q *Quota) reserve(c Config, person string, size int64, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if day := now.UTC().Truncate(24 * time.Hour); !day.Equal(q.day) {
		q.day, q.people = day, map[string]dailyUse{}
	}
	s := q.people[person]
	if c.PersonFiles > 0 && s.files >= c.PersonFiles || c.PersonBytes > 0 && s.bytes+size > c.PersonBytes {
		return false
	}
	q.people[person] = dailyUse{s.files + 1, s.bytes + size}
	return true
}

// addBytes counts bytes that were not known when the file was taken.
func (q *Quota) addBytes(person string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s, ok := q.people[person]; ok && bytes > 0 {
		s.bytes += bytes
		q.people[person] = s
	}
}
