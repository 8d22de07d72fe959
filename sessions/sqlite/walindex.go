package sqlite

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
)

// The index of the log begins with two copies of a head (sqlite3, wal.c,
// WalIndexHdr), in the machine's byte order:
//
//	4 version · 4 · 4 · 1 initialised · 1 · 2 · 4 frames of the log that are
//	committed · 4 · 8 · 8 salts, as the log's own · 8 checksum
//
// and behind them stands how many of the frames are in the database by now. It is
// written through memory: it survives the end of the process, not a power cut,
// after which it may be older than the log but never newer.
const (
	indexHead = 48
	indexSize = 2*indexHead + 4
)

// answeredFrames is how many frames of the log were committed and answered, as
// far as its index knows. With salts it must be the index of that log; without,
// only frames count that are not in the database itself.
func answeredFrames(path string, salts []byte) int {
	f, err := os.Open(path + "-shm")
	if err != nil {
		return 0
	}
	defer f.Close() //nolint:errcheck // it was only read
	b := make([]byte, indexSize)
	if _, err := io.ReadFull(f, b); err != nil {
		return 0
	}
	head := b[:indexHead]
	if !soundHead(head) {
		head = b[indexHead : 2*indexHead] // one of them may have been being written
	}
	switch {
	case !soundHead(head), salts != nil && !bytes.Equal(head[32:40], salts):
		return 0
	}
	frames := int(binary.NativeEndian.Uint32(head[16:]))
	if salts == nil && frames <= int(binary.NativeEndian.Uint32(b[2*indexHead:])) {
		return 0
	}
	return frames
}

func soundHead(head []byte) bool {
	c := checksum{order: binary.NativeEndian}
	c.add(head[:40])
	return head[12] == 1 && binary.NativeEndian.Uint32(head[40:]) == c.s0 && binary.NativeEndian.Uint32(head[44:]) == c.s1
}
