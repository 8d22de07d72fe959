package broker

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"
)

// A server that finds a damaged message in a file cuts the file off there, and
// with it all messages behind, and says nothing. So the files are looked
// through before it starts. A damaged stretch is cut out, so that only what was
// in it is gone; the file as it was is kept beside; and Report tells.
//
// This reads a format of the server's because the server's own report comes too late:
// with 2.15.2 one flipped bit in the middle of 50 messages costs 25 of them, which are
// gone from the disk before StreamState.Lost counts them; and after a regular end one
// in the first message is not reported, and the message is passed over. A file of
// which nothing is understood, as of another version of the server, is left alone.
//
// A file is a row of records (nats-server, server/filestore.go), little endian:
//
//	4 length, top bit: has headers · 8 sequence · 8 time · 2 length of the next
//	the subject itself · [4 length of headers] · headers · payload · 8 checksum
const (
	recordHead  = 22
	recordSum   = 8
	headersBit  = 1 << 31
	sequenceMax = 1<<62 - 1 // above are marks of deletion
	recordMax   = 32 << 20

	damagedDir = "damaged"
)

// streamSurvey is what the files of one stream said.
type streamSurvey struct {
	last       uint64 // highest sequence
	missing    uint64 // sequences between the neighbours of damaged stretches
	unreadable bool   // there is a file of which nothing was understood: last says nothing
	problems   []string
}

// surveyStream looks through a stream's files, and repairs them. clean: the
// files were closed regularly, so not even the last may end in half a record.
func surveyStream(dir, stream string, clean bool) (streamSurvey, error) {
	var s streamSurvey
	msgs := filepath.Join(dir, "jetstream", "$G", "streams", stream, "msgs")
	files, err := filepath.Glob(filepath.Join(msgs, "*.blk"))
	if err != nil {
		return s, fmt.Errorf("look through the log's files: %w", err)
	}
	indexes := make([]int, 0, len(files))
	for _, f := range files {
		if n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(f), ".blk")); err == nil {
			indexes = append(indexes, n)
		}
	}
	slices.Sort(indexes)
	for i, index := range indexes {
		name := filepath.Join(msgs, strconv.Itoa(index)+".blk")
		data, err := os.ReadFile(name)
		if err != nil {
			return s, fmt.Errorf("look through the log's files: %w", err)
		}
		b := readBlock(data, stream, index, s.last)
		s.last = max(s.last, b.last)
		torn := i == len(indexes)-1 && len(b.bad) == 1 && b.bad[0].to == len(data)
		if len(b.bad) == 0 || torn && !clean { // half a record at the very end: a write that was never confirmed
			continue
		}
		if len(bytes.Join(b.good, nil)) == 0 {
			s.unreadable = true
			s.problems = append(s.problems, fmt.Sprintf("stream %s, file %d.blk: nothing in it is understood; it is left to the message server as it is", stream, index))
			continue
		}
		s.missing += b.missing
		for _, r := range b.bad {
			s.problems = append(s.problems, fmt.Sprintf("stream %s, file %d.blk: bytes %d to %d are damaged, between messages %d and %d; the file as it was is kept in %s",
				stream, index, r.from, r.to, r.before, r.after, damagedDir))
		}
		if err := b.repair(dir, stream, name, data); err != nil {
			return s, err
		}
	}
	return s, nil
}

// block is one file's content.
type block struct {
	good    [][]byte
	bad     []damagedRange
	last    uint64
	missing uint64
}

// damagedRange is damaged; the sequences are those of its neighbours, 0 at the end.
type damagedRange struct {
	from, to      int
	before, after uint64
}

func readBlock(data []byte, stream string, index int, last uint64) block {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", stream, index))
	digest, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // not with a key of this length
	}
	sum := &recordDigest{Hash: digest}
	b := block{last: last}
	begin := 0 // of what is good
	for at := 0; at < len(data); {
		n, seq := parseRecord(data[at:], sum)
		if n > 0 {
			b.last = max(b.last, seq)
			at += n
			continue
		}
		r := damagedRange{from: at, before: b.last}
		b.good = append(b.good, data[begin:at])
		for at++; at < len(data); at++ {
			if n, seq = parseRecord(data[at:], sum); n > 0 {
				r.after = seq
				break
			}
		}
		r.to, begin = at, at
		if r.after > r.before {
			b.missing += r.after - r.before - 1
		}
		b.bad = append(b.bad, r)
	}
	b.good = append(b.good, data[begin:])
	return b
}

// recordDigest is what records of a file are checked with, and room for what it says.
type recordDigest struct {
	hash.Hash
	is [recordSum]byte
}

// parseRecord returns the length and the sequence of the record at the beginning of data,
// 0 when there is no sound one.
func parseRecord(data []byte, sum *recordDigest) (length int, seq uint64) {
	if len(data) < recordHead+recordSum {
		return 0, 0
	}
	le := binary.LittleEndian
	size, subject := le.Uint32(data), int(le.Uint16(data[20:]))
	headers := size&headersBit != 0
	size &^= headersBit
	if size > recordMax || int(size) > len(data) || int(size) < recordHead+recordSum+subject {
		return 0, 0
	}
	body := data[recordHead : int(size)-recordSum]
	rest := body[subject:]
	if headers {
		if len(rest) < 4 {
			return 0, 0
		}
		rest = rest[4:]
	}
	sum.Reset()
	_, _ = sum.Write(data[4:20])
	_, _ = sum.Write(body[:subject])
	_, _ = sum.Write(rest)
	if !bytes.Equal(sum.Sum(sum.is[:0]), data[int(size)-recordSum:size]) {
		return 0, 0
	}
	return int(size), le.Uint64(data[4:]) & sequenceMax
}

// repair keeps the file as it was and replaces it by what is sound of it. The
// server's index, which speaks of the old one, goes; it is made anew.
func (b block) repair(dir, stream, name string, data []byte) error {
	kept := filepath.Join(dir, damagedDir)
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return fmt.Errorf("keep a damaged file: %w", err)
	}
	sum := sha256.Sum256(data)
	if err := writeFile(filepath.Join(kept, fmt.Sprintf("%s-%s-%x", stream, filepath.Base(name), sum[:4])), data); err != nil {
		return fmt.Errorf("keep a damaged file: %w", err)
	}
	if err := os.Remove(filepath.Join(filepath.Dir(name), "index.db")); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("repair a damaged file: %w", err)
	}
	if err := writeFile(name, bytes.Join(b.good, nil)); err != nil {
		return fmt.Errorf("repair a damaged file: %w", err)
	}
	return nil
}
