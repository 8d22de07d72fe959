package broker

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Files lie in the log as JetStream's object stores keep them, so that its tools read
// them: a row of messages with the bytes, and one more that says what they are. They
// are written and read one message at a time, each confirmed before the next, and not
// with the client library's Put and Get. Put repeats a message that no server took with
// the bytes of a later one, and lets the server hold a whole file in memory until its
// disk has followed; Get waits for a message that is gone until its context ends; and
// both may ask a server that is behind.

const (
	filesTTL  = 7 * 24 * time.Hour
	fileChunk = 256 << 10
)

// ErrNoFile means that there is no file of that name.
var ErrNoFile = errors.New("no such file in the message log")

// fileStore is the bucket of files that go from one machine to another.
type fileStore struct {
	*conn
}

// PutFile stores what r gives, until io.EOF itself, under name ([a-z0-9_.-]+, at most 200
// bytes), for seven days at most. Nil means stored, as durably as an envelope; a file
// that was there under the name is replaced. More than most bytes are ErrTooLarge, no
// room is ErrFull, and an error of r is in the chain. After an error the earlier file
// is still there and nothing of the new one, except that after ErrUnavailable or ctx's
// error all of it may be. No more than a piece of the file is in memory. A Read of r
// that does not return is waited for, also when ctx has ended.
func (b *fileStore) PutFile(ctx context.Context, name string, r io.Reader, limit int64) (size int64, err error) {
	if !isFileName(name) {
		return 0, errors.New("put a file: a name is [a-z0-9_.-]+")
	}
	size, err = b.putFile(ctx, name, r, limit)
	if err != nil {
		return 0, fmt.Errorf("put the file %s: %w", name, err)
	}
	return size, nil
}

func (b *fileStore) putFile(ctx context.Context, name string, r io.Reader, limit int64) (size int64, err error) {
	err = b.retry(ctx, "prepare the stream", func(ctx context.Context) error {
		return b.o.ensureStream(ctx, b.js, b.o.filesConfig())
	})
	if err != nil {
		return 0, err
	}
	info := jetstream.ObjectInfo{Bucket: bucketFiles, NUID: rand.Text()}
	info.Name, info.Opts = name, &jetstream.ObjectMetaOptions{ChunkSize: b.fileChunk()}
	size, err = b.putChunks(ctx, &info, r, limit)
	var old jetstream.ObjectInfo
	if err == nil {
		if old, err = b.fileInfo(ctx, name); errors.Is(err, ErrNoFile) {
			err = nil
		}
	}
	if err != nil {
		b.dropChunks(ctx, info.NUID)
		return 0, err
	}
	meta, err := json.Marshal(info)
	if err != nil {
		return 0, err
	}
	header := nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}
	if err := b.putPart(ctx, metaSubject(name), info.NUID, meta, header); err != nil {
		if errors.Is(err, ErrFull) {
			b.dropChunks(ctx, info.NUID)
		}
		return 0, err
	}
	if old.NUID != "" {
		b.dropChunks(ctx, old.NUID)
	}
	return size, nil
}

// putChunks stores the bytes, and fills in what info says of them.
func (b *fileStore) putChunks(ctx context.Context, info *jetstream.ObjectInfo, r io.Reader, limit int64) (size int64, err error) {
	sum := sha256.New()
	chunk := make([]byte, info.Opts.ChunkSize)
	for more := true; more; {
		n, err := fillPiece(r, chunk)
		if err != nil && err != io.EOF { //nolint:errorlint // one that wraps io.EOF is a line that broke off, not the end
			return 0, err
		}
		more = err == nil
		if size += int64(n); size > limit {
			return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, limit)
		}
		if n == 0 {
			break
		}
		_, _ = sum.Write(chunk[:n])
		info.Chunks++
		id := info.NUID + "." + strconv.FormatUint(uint64(info.Chunks), 10)
		if err := b.putPart(ctx, chunkSubject(info.NUID), id, chunk[:n], nil); err != nil {
			return 0, err
		}
	}
	info.Size = uint64(size) // a sum of lengths
	info.Digest = jetstream.GetObjectDigestValue(sum)
	return size, nil
}

// fillPiece reads until p is full. Its error is r's own: io.ReadFull has the same one for
// an end in the middle and for a connection that broke off.
func fillPiece(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

// putPart stores one message of a file. It is repeated with the same id, and stored
// once.
func (b *fileStore) putPart(ctx context.Context, subject, id string, data []byte, header nats.Header) error {
	return b.retry(ctx, "store a piece", func(attempt context.Context) error {
		m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{}}
		for k, v := range header {
			m.Header[k] = v
		}
		_, err := b.js.PublishMsg(attempt, m, jetstream.WithExpectStream(streamFiles), jetstream.WithRetryAttempts(0), jetstream.WithMsgID(id))
		err = translateError(err)
		if ctx.Err() == nil { // else it is the caller who did not wait
			b.stuck.note(streamFiles, err != nil && isTransient(err))
		}
		return err
	})
}

// dropChunks deletes the bytes of a file, also when ctx has ended. What it does not
// reach ends by itself.
func (b *fileStore) dropChunks(ctx context.Context, nuid string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attemptTimeout)
	defer cancel()
	if err := b.purgeFiles(ctx, chunkSubject(nuid)); err != nil && !b.isClosed() {
		b.o.Log.Warn("unneeded file chunks not deleted, kept until they expire", "error", err)
	}
}

func (b *fileStore) purgeFiles(ctx context.Context, subject string) error {
	return b.retry(ctx, "delete pieces of a file", func(ctx context.Context) error {
		s, err := b.js.Stream(ctx, streamFiles)
		if err == nil {
			err = s.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		return err
	})
}

// DeleteFile deletes a file. A missing one is deleted already.
func (b *fileStore) DeleteFile(ctx context.Context, name string) error {
	info, err := b.fileInfo(ctx, name)
	if errors.Is(err, ErrNoFile) {
		return nil
	}
	if err == nil {
		err = b.purgeFiles(ctx, metaSubject(name))
	}
	if err == nil {
		err = b.purgeFiles(ctx, chunkSubject(info.NUID))
	}
	if err != nil {
		return fmt.Errorf("delete the file %s: %w", name, err)
	}
	return nil
}

// fileInfo returns what is stored about a file, or ErrNoFile. The leader answers.
func (b *fileStore) fileInfo(ctx context.Context, name string) (info jetstream.ObjectInfo, err error) {
	if !isFileName(name) {
		return info, errors.New("file name is not [a-z0-9_.-]+")
	}
	m, err := b.askLeaderOf(ctx, streamFiles, leaderRequest{LastFor: metaSubject(name)})
	if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == jetstream.JSErrCodeStreamNotFound || errors.Is(err, ErrNone) {
		return info, ErrNoFile
	}
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(m.Data, &info); err != nil || !info.Deleted && info.NUID == "" {
		return info, errDamagedFile
	}
	if info.Deleted {
		return info, ErrNoFile
	}
	return info, nil
}

// filesConfig returns the stream of files, which is made when the first one is put.
func (o Options) filesConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        streamFiles,
		Description: "files on their way between processes",
		Subjects:    []string{prefixFile + "C.>", prefixFile + "M.>"},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		MaxBytes:    o.filesBytes(),
		MaxAge:      filesTTL,
		MaxMsgs:     -1, MaxConsumers: -1, MaxMsgSize: -1, MaxMsgsPerSubject: -1,
		Replicas:    o.Replicas,
		Duplicates:  2 * time.Minute,
		AllowDirect: true,
		AllowRollup: true,
	}
}

func (o Options) filesBytes() int64 { return max(o.MaxBytes/2, 64<<10) }

// fileChunk returns how large a message of a file may be here.
func (b *fileStore) fileChunk() uint32 {
	return uint32(max(1<<10, min(fileChunk, b.nc.MaxPayload()-frameSpare))) // small
}

func chunkSubject(nuid string) string { return prefixFile + "C." + nuid }

func metaSubject(name string) string {
	return prefixFile + "M." + base64.URLEncoding.EncodeToString([]byte(name))
}
