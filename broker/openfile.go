package broker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/nats-io/nats.go/jetstream"
)

// errDamagedFile: the bytes are not those that were put.
var errDamagedFile = errors.New("the file in the message log is damaged, or was replaced or deleted while it was read")

// OpenFile returns a file that was put, and its size; ErrNoFile when there is none. Reading
// ends with io.EOF only when all bytes came as they were put: otherwise, also when the
// file is replaced or deleted meanwhile, it ends in an error. One piece of it is in
// memory at a time. Reading survives a server that goes and comes back, and ends with
// ctx. The reader is for one goroutine; Close never fails.
func (b *fileStore) OpenFile(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	f, err := b.openFile(ctx, name)
	if err != nil {
		return nil, 0, fmt.Errorf("open the file %s: %w", name, err)
	}
	return f, f.left, nil
}

func (b *fileStore) openFile(ctx context.Context, name string) (*fileReader, error) {
	info, err := b.fileInfo(ctx, name)
	if err != nil {
		return nil, err
	}
	digest, err := jetstream.DecodeObjectDigest(info.Digest)
	if err != nil || info.Size > 1<<60 {
		return nil, errDamagedFile
	}
	f := &fileReader{b: b.conn, ctx: ctx, name: name, subject: chunkSubject(info.NUID), left: int64(info.Size), digest: digest, sum: sha256.New()} // see above
	err = b.retry(ctx, "look for the stream", func(ctx context.Context) error {
		f.stream, err = b.js.Stream(ctx, streamFiles)
		return err
	})
	return f, err
}

// fileReader is a file that is being read.
type fileReader struct {
	b       *conn
	ctx     context.Context // a Read has none
	stream  jetstream.Stream
	name    string
	subject string
	digest  []byte // the digest

	at   uint64 // place of the last piece
	rest []byte // of it
	left int64  // behind rest
	sum  hash.Hash
	err  error
}

func (f *fileReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if f.err == nil && len(f.rest) == 0 {
		f.err = f.next()
	}
	if f.err != nil {
		if errors.Is(f.err, io.EOF) {
			return 0, io.EOF
		}
		return 0, fmt.Errorf("read the file %s: %w", f.name, f.err)
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// next takes the next piece, or ends the file.
func (f *fileReader) next() error {
	if f.left == 0 {
		if !bytes.Equal(f.sum.Sum(nil), f.digest) {
			return errDamagedFile
		}
		return io.EOF
	}
	m, err := f.nextChunk()
	if errors.Is(err, ErrNone) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return errDamagedFile
	}
	if err != nil {
		return err
	}
	if len(m.Data) == 0 || int64(len(m.Data)) > f.left || m.Sequence <= f.at {
		return errDamagedFile
	}
	_, _ = f.sum.Write(m.Data)
	f.rest, f.at, f.left = m.Data, m.Sequence, f.left-int64(len(m.Data))
	return nil
}

// nextChunk returns the first one behind the last, from whatever server; where that one has
// none it may be behind, and the leader is asked.
func (f *fileReader) nextChunk() (m *jetstream.RawStreamMsg, err error) {
	err = f.b.retry(f.ctx, "read a piece", func(ctx context.Context) error {
		m, err = f.stream.GetMsg(ctx, f.at+1, jetstream.WithGetMsgSubject(f.subject))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			m, err = nil, nil
		}
		return err
	})
	if err == nil && m == nil {
		return f.b.askLeaderOf(f.ctx, streamFiles, leaderRequest{Seq: f.at + 1, NextFor: f.subject})
	}
	return m, err
}

// Close ends the reading.
func (f *fileReader) Close() error {
	if f.err == nil {
		f.err = errors.New("file reader closed")
	}
	f.rest = nil
	return nil
}
