package broker

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/minio/highwayhash"
)

// BenchmarkReadBlock looks through a file of 10,000 messages of 600 bytes, as a start does.
func BenchmarkReadBlock(b *testing.B) {
	key := sha256.Sum256(fmt.Appendf(nil, "%s-%d", "S", 1))
	sum, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		b.Fatal(err)
	}
	subject, payload := []byte(mailboxSubject(token(1))), make([]byte, 600)
	var data []byte
	for seq := range uint64(10_000) {
		size := recordHead + len(subject) + len(payload) + recordSum
		head := make([]byte, recordHead)
		binary.LittleEndian.PutUint32(head, uint32(size))
		binary.LittleEndian.PutUint64(head[4:], seq+1)
		binary.LittleEndian.PutUint16(head[20:], uint16(len(subject)))
		sum.Reset()
		for _, part := range [][]byte{head[4:20], subject, payload} {
			_, _ = sum.Write(part)
		}
		data = append(append(append(append(data, head...), subject...), payload...), sum.Sum(nil)...)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if found := readBlock(data, "S", 1, 0); found.last != 10_000 || len(found.bad) > 0 {
			b.Fatalf("%d, %d damaged", found.last, len(found.bad))
		}
	}
}
