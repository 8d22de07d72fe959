package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// SQLite takes the log as ending before the first frame whose checksum is
// wrong. After a power cut that is right: the frames behind it were never
// synced. After damage it would be a silently shorter history. The two can be
// told apart: each commit is synced before the next one begins, so a frame that
// was written after the broken frame's own commit means that this commit was
// synced, and answered. The last commits tell nothing of that kind; but the index
// beside the log (walindex.go) is brought up to date after each commit was synced,
// and is found again after everything but a power cut.

const (
	logHeader   = 32
	frameHeader = 24
)

// checkLog returns ErrDamaged when the log of an unclean end is broken before
// its last commit.
func checkLog(path string) error {
	f, err := os.Open(path + "-wal")
	if err != nil {
		return fmt.Errorf("read its log: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	r := bufio.NewReaderSize(f, 1<<16)
	head := make([]byte, logHeader)
	if _, err := io.ReadFull(r, head); err != nil {
		// An empty log, or one whose first header was being written.
		if answeredFrames(path, nil) > 0 {
			return damaged(path, "its log %s-wal, which holds the newest writes, was cut off", path)
		}
		return nil
	}
	order, ok := logOrder(head)
	if !ok {
		return damaged(path, "the header of its log %s-wal, which holds the newest writes, is broken", path)
	}
	c := checksum{order: order}
	c.add(head[:24])
	if !c.is(head[24:]) {
		return damaged(path, "the header of its log %s-wal, which holds the newest writes, is broken", path)
	}
	whole, broken, err := scanLog(r, head, c)
	if err != nil {
		return fmt.Errorf("read its log: %w", err)
	}
	if answered := answeredFrames(path, head[16:24]); broken || whole < answered {
		return damaged(path, "its log %s-wal is broken or cut off at frame %d, before writes that were answered", path, whole)
	}
	return nil
}

func logOrder(head []byte) (binary.ByteOrder, bool) {
	switch binary.BigEndian.Uint32(head) {
	case 0x377f0682:
		return binary.LittleEndian, true
	case 0x377f0683:
		return binary.BigEndian, true
	}
	return nil, false
}

// scanLog counts the whole frames before the first broken one. broken says that
// an answered commit follows it.
func scanLog(r io.Reader, head []byte, c checksum) (whole int, broken bool, err error) {
	frame := make([]byte, frameHeader+int(binary.BigEndian.Uint32(head[8:])))
	ended := false // whole is final
	over := false  // the broken frame's commit has ended
	for {
		switch _, err := io.ReadFull(r, frame); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return whole, false, nil
		case err != nil:
			return whole, false, err
		}
		ours := string(frame[8:16]) == string(head[16:24]) // else it is left from before the log began anew
		commits := binary.BigEndian.Uint32(frame[4:]) != 0
		switch {
		case !ended:
			c.add(frame[:8])
			c.add(frame[frameHeader:])
			if ours && c.is(frame[16:]) {
				whole++
				continue
			}
			// Whether a frame that is not ours ended a commit, it does not say.
			ended, over = true, ours && commits
		case ours && over:
			return whole, true, nil
		case ours && commits:
			over = true
		}
	}
}

// checksum is the log's: two running sums over pairs of words.
type checksum struct {
	order  binary.ByteOrder
	s0, s1 uint32
}

func (c *checksum) add(b []byte) {
	for i := 0; i+8 <= len(b); i += 8 {
		c.s0 += c.order.Uint32(b[i:]) + c.s1
		c.s1 += c.order.Uint32(b[i+4:]) + c.s0
	}
}

// is compares with a stored sum, which is big-endian always.
func (c *checksum) is(b []byte) bool {
	return binary.BigEndian.Uint32(b) == c.s0 && binary.BigEndian.Uint32(b[4:]) == c.s1
}
