package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"

	"parley/disks"
	"parley/sessions"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// advice ends every report of damage.
const advice = "nothing was changed; move the file and those beside it (-wal, -shm, .lock) away, and restore a backup or start with none"

func damaged(path, format string, a ...any) error {
	return fmt.Errorf("%w: %s: %w; %s", sessions.ErrDamaged, path, fmt.Errorf(format, a...), advice)
}

// readError is an error of reading the database at its opening. Only what means
// damage is said to be some: a disk that is full, or does not answer, is none.
func readError(path, what string, err error) error {
	if known := explain(err); !errors.Is(known, sessions.ErrDamaged) {
		return fmt.Errorf("%s: %w", what, known)
	}
	return damaged(path, "%s: %w", what, err)
}

// explain gives an error of SQLite that means damage, or a full disk, its kind.
func explain(err error) error {
	var e *driver.Error
	if !errors.As(err, &e) || errors.Is(err, sessions.ErrDamaged) {
		return err
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w; %s", sessions.ErrDamaged, err, advice)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", disks.ErrFull, err)
	}
	return err
}

const headerSize = 100

// checkFile looks at the file before SQLite does. fresh says that there is
// none yet.
func checkFile(path, left string) (fresh bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		if wasUsed(left) {
			return false, damaged(path, "it is missing although it was used before")
		}
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read it: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	st, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("look at it: %w", err)
	}
	if st.Size() == 0 {
		if wasUsed(left) {
			return false, damaged(path, "it is empty although it was used before")
		}
		return true, nil
	}
	h := make([]byte, headerSize)
	if _, err := io.ReadFull(f, h); err != nil {
		return false, damaged(path, "it is too short for a database (%d bytes)", st.Size())
	}
	if string(h[:16]) != "SQLite format 3\x00" {
		return false, damaged(path, "it is not a SQLite database")
	}
	log, err := os.Stat(path + "-wal")
	if left == leftRunning && errors.Is(err, os.ErrNotExist) {
		return false, damaged(path, "it was not closed at its last use, and its log %s-wal, which holds the newest writes, is missing", path)
	}
	if err == nil && log.Size() > 0 {
		return false, nil // its size is settled when the log is merged
	}
	return false, checkSize(path, h, st.Size())
}

// checkSize compares the file with the length that its header names.
func checkSize(path string, header []byte, size int64) error {
	page := int64(binary.BigEndian.Uint16(header[16:]))
	if page == 1 {
		page = 65536
	}
	pages := int64(binary.BigEndian.Uint32(header[28:]))
	valid := binary.BigEndian.Uint32(header[24:]) == binary.BigEndian.Uint32(header[92:])
	if valid && pages*page > size {
		return damaged(path, "it was cut off: %d of %d bytes are there", size, pages*page)
	}
	return nil
}

// checkAnswered compares the commits that the database has with those that were
// answered, as its lock file says. SQLite takes its log as ending at the first frame
// that is broken, and says nothing, since after a power cut that is right: what is
// behind was never synced. Here a commit that was answered had been synced. It only
// reads, so that what is left of the log stays for who wants to save it.
func checkAnswered(ctx context.Context, path, answered string) (err error) {
	want, err := strconv.ParseInt(answered, 10, 64)
	if err != nil {
		return nil // a crash of the system left half of the note, which then says nothing
	}
	c, err := connect(path, url.Values{"mode": {"ro"}}, nil)
	if err != nil {
		return readError(path, "open it", err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	var made bool
	if _, err := c.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'generation')", nil, &made); err != nil {
		return readError(path, "read its tables", err)
	}
	var have int64
	if made {
		if _, err := c.queryRow(ctx, "SELECT commits FROM generation", nil, &have); err != nil {
			return readError(path, "read how often it was committed", err)
		}
	}
	if have < want {
		return damaged(path, "the last %d of %d writes that were answered are missing: its log %s-wal is broken or was cut off, or the file is an older one", want-have, want, path)
	}
	return nil
}

// application marks our databases: "prly".
const application = 0x70726c79

// checkIdentity reports whether the database is ours, or empty.
func checkIdentity(ctx context.Context, conn *conn, path string) error {
	var id, tables int64
	if _, err := conn.queryRow(ctx, "PRAGMA application_id", nil, &id); err != nil {
		return readError(path, "read its identity", err)
	}
	if _, err := conn.queryRow(ctx, "SELECT count(*) FROM sqlite_schema", nil, &tables); err != nil {
		return readError(path, "read its tables", err)
	}
	if id != application && (id != 0 || tables > 0) {
		return damaged(path, "it belongs to another program")
	}
	return nil
}

// checkStructure merges the log into the file and reads its structure, unless
// it is larger than most.
func checkStructure(ctx context.Context, conn *conn, path string, limit int64) error {
	if err := conn.execScript(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return readError(path, "merge its log", err)
	}
	if _, err := checkFile(path, leftUnknown); err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("look at it: %w", err)
	}
	if st.Size() > limit {
		return nil
	}
	problems, err := quickCheck(ctx, conn)
	if err != nil {
		return readError(path, "check its structure", err)
	}
	if len(problems) > 0 {
		return damaged(path, "its structure is broken: %s", strings.Join(problems, "; "))
	}
	return nil
}

func quickCheck(ctx context.Context, c *conn) (problems []string, err error) {
	err = c.queryRows(ctx, "PRAGMA quick_check(5)", nil, func(r scanner) error {
		var p string
		if err := r.Scan(&p); err != nil {
			return err
		}
		if p != "ok" {
			problems = append(problems, p)
		}
		return nil
	})
	return problems, err
}
