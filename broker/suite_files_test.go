package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// noise is n bytes that no two seeds share.
func noise(seed, n int) []byte {
	src := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	p := make([]byte, n)
	_, _ = src.Read(p)
	return p
}

func put(t *testing.T, b *Broker, name string, data []byte) {
	t.Helper()
	size, err := b.PutFile(t.Context(), name, iotest.HalfReader(bytes.NewReader(data)), int64(len(data)))
	if err != nil || size != int64(len(data)) {
		t.Fatalf("put %s: %d of %d bytes, %v", name, size, len(data), err)
	}
}

// content reads a file; an error of reading is returned, not one of opening.
func content(t *testing.T, b *Broker, name string) ([]byte, error) {
	t.Helper()
	f, size, err := b.OpenFile(t.Context(), name)
	if err != nil {
		t.Fatalf("open %s: %v", name, err)
	}
	defer f.Close() //nolint:errcheck // never fails
	data, err := io.ReadAll(f)
	if err == nil && int64(len(data)) != size || int64(len(data)) > size {
		t.Errorf("%s has %d bytes, and %d came", name, size, len(data))
	}
	return data, err
}

func wantFile(t *testing.T, b *Broker, name string, want []byte) {
	t.Helper()
	if got, err := content(t, b, name); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d of %d bytes, the same: %v, %v", name, len(got), len(want), bytes.Equal(got, want), err)
	}
}

func wantNoFile(t *testing.T, b *Broker, name string) {
	t.Helper()
	if f, _, err := b.OpenFile(t.Context(), name); !errors.Is(err, ErrNoFile) {
		t.Errorf("open %s: %v, %v", name, f, err)
	}
}

// pieces is how many messages the files have.
func pieces(t *testing.T, b *Broker) uint64 {
	t.Helper()
	s, err := b.js.Stream(t.Context(), streamFiles)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func testFiles(t *testing.T, open opener) {
	b := open(t)
	wantNoFile(t, b, "a")
	if err := b.DeleteFile(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	if _, err := b.js.Stream(t.Context(), streamFiles); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("the stream is there before the first file: %v", err)
	}
	for i, size := range []int{0, 1, fileChunk - 1, fileChunk, fileChunk + 1, 2*fileChunk + 7} {
		name := fmt.Sprintf("in-%d_a.b", i)
		put(t, b, name, noise(i, size))
		wantFile(t, b, name, noise(i, size))
	}
	put(t, b, "in-5_a.b", noise(50, 10)) // replaces it
	wantFile(t, b, "in-5_a.b", noise(50, 10))
	wantFile(t, b, "in-4_a.b", noise(4, fileChunk+1))
	for i := range 6 {
		name := fmt.Sprintf("in-%d_a.b", i)
		for range 2 {
			if err := b.DeleteFile(t.Context(), name); err != nil {
				t.Error(err)
			}
		}
		wantNoFile(t, b, name)
	}
	if n := pieces(t, b); n != 0 {
		t.Errorf("%d pieces of deleted files are left", n)
	}
	for _, name := range []string{"", "A", "a/b", "a b", "*", ">", "ä", strings.Repeat("a", 201)} {
		_, err1 := b.PutFile(t.Context(), name, strings.NewReader("x"), 10)
		_, _, err2 := b.OpenFile(t.Context(), name)
		err3 := b.DeleteFile(t.Context(), name)
		if err1 == nil || err2 == nil || errors.Is(err2, ErrNoFile) || err3 == nil {
			t.Errorf("the name %.20q: %v, %v, %v", name, err1, err2, err3)
		}
	}
}

// What fails leaves the file that was there, and nothing of itself.
func testFilesRefused(t *testing.T, open opener) {
	b := open(t, func(o *Options) { o.MaxBytes = 4 << 20 }) // 2 MiB of it for files
	put(t, b, "old", []byte("the old one"))
	broken := errors.New("the line broke")
	cases := []struct {
		name string
		r    io.Reader
		most int64
		want error
	}{
		{"one byte too many", bytes.NewReader(noise(1, 11)), 10, ErrTooLarge},
		{"far too many", bytes.NewReader(noise(1, 3*fileChunk)), 2 * fileChunk, ErrTooLarge},
		{"no room", bytes.NewReader(noise(1, 3<<20)), 4 << 20, ErrFull},
		{"an error", io.MultiReader(bytes.NewReader(noise(1, fileChunk+5)), iotest.ErrReader(broken)), 1 << 20, broken},
		{"a connection that broke off", io.MultiReader(bytes.NewReader(noise(1, 5)), iotest.ErrReader(io.ErrUnexpectedEOF)), 1 << 20, io.ErrUnexpectedEOF},
		{"one whose error wraps the end (abuse M9)", io.MultiReader(bytes.NewReader(noise(1, 5)), iotest.ErrReader(fmt.Errorf("%w: %w", broken, io.EOF))), 1 << 20, broken},
	}
	for _, c := range cases {
		for _, name := range []string{"old", "new"} {
			if n, err := b.PutFile(t.Context(), name, c.r, c.most); !errors.Is(err, c.want) || n != 0 {
				t.Errorf("%s: %d, %v", c.name, n, err)
			}
			if s, ok := c.r.(*bytes.Reader); ok {
				_, _ = s.Seek(0, io.SeekStart)
			} else {
				break
			}
		}
	}
	wantFile(t, b, "old", []byte("the old one"))
	wantNoFile(t, b, "new")
	if n := pieces(t, b); n != 2 {
		t.Errorf("%d pieces are left, want 2", n)
	}
	put(t, b, "new", noise(2, 1<<20))
	wantFile(t, b, "new", noise(2, 1<<20))
}

func testFilesCancelled(t *testing.T, open opener) {
	b := open(t)
	stopped := errors.New("somebody said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	r := readerFunc(func(p []byte) (int, error) {
		if n++; n == 3 {
			cancel(stopped)
		}
		return copy(p, noise(n, fileChunk)), nil
	})
	if _, err := b.PutFile(ctx, "a", r, 1<<30); !errors.Is(err, stopped) {
		t.Errorf("put: %v", err)
	}
	wantNoFile(t, b, "a")
	if n := pieces(t, b); n != 0 {
		t.Errorf("%d pieces are left", n)
	}
	put(t, b, "b", noise(1, 3*fileChunk))
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	f, _, err := b.OpenFile(ctx, "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(f, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	cancel(stopped)
	if _, err := io.ReadAll(f); !errors.Is(err, stopped) {
		t.Errorf("read: %v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A piece is asked of the reader when all before it are stored, so that none waits
// in anybody's memory.
func testFilesBounded(t *testing.T, open opener) {
	b := open(t)
	put(t, b, "a", nil) // and the stream is there
	data := bytes.NewReader(noise(1, 5*fileChunk))
	var read int
	r := readerFunc(func(p []byte) (int, error) {
		if read%fileChunk == 0 {
			if have := pieces(t, b); have != uint64(1+read/fileChunk) {
				t.Errorf("%d bytes were taken, and %d pieces are stored", read, have)
			}
		}
		n, err := data.Read(p)
		read += n
		return n, err
	})
	if _, err := b.PutFile(t.Context(), "b", r, 1<<30); err != nil {
		t.Fatal(err)
	}
	wantFile(t, b, "b", noise(1, 5*fileChunk))
}

// What is not as it was put is never taken for whole.
func testFilesDamaged(t *testing.T, open opener) {
	b := open(t)
	put(t, b, "other", noise(9, 10))
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, info *jetstream.ObjectInfo, s jetstream.Stream, seqs []uint64)
	}{
		{"the first piece is gone", func(t *testing.T, _ *jetstream.ObjectInfo, s jetstream.Stream, seqs []uint64) {
			t.Helper()
			remove(t, s, seqs[0])
		}},
		{"one in the middle is gone", func(t *testing.T, _ *jetstream.ObjectInfo, s jetstream.Stream, seqs []uint64) {
			t.Helper()
			remove(t, s, seqs[1])
		}},
		{"the last piece is gone", func(t *testing.T, _ *jetstream.ObjectInfo, s jetstream.Stream, seqs []uint64) {
			t.Helper()
			remove(t, s, seqs[2])
		}},
		{"all pieces are gone", func(t *testing.T, _ *jetstream.ObjectInfo, s jetstream.Stream, seqs []uint64) {
			t.Helper()
			remove(t, s, seqs...)
		}},
		{"another piece in place of the last", func(t *testing.T, info *jetstream.ObjectInfo, s jetstream.Stream, seqs []uint64) {
			t.Helper()
			remove(t, s, seqs[2])
			if _, err := b.js.Publish(t.Context(), chunkSubject(info.NUID), noise(77, 5)); err != nil {
				t.Fatal(err)
			}
		}},
		{"said to be shorter", func(_ *testing.T, info *jetstream.ObjectInfo, _ jetstream.Stream, _ []uint64) {
			info.Size -= 5
		}},
		{"said to be shorter by a piece", func(_ *testing.T, info *jetstream.ObjectInfo, _ jetstream.Stream, _ []uint64) {
			info.Size -= fileChunk
		}},
		{"another digest", func(_ *testing.T, info *jetstream.ObjectInfo, _ jetstream.Stream, _ []uint64) {
			info.Digest = "SHA-256=" + strings.Repeat("A", 43) + "="
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			put(t, b, "a", noise(1, 2*fileChunk+5))
			info, err := b.fileInfo(t.Context(), "a")
			if err != nil {
				t.Fatal(err)
			}
			s, err := b.js.Stream(t.Context(), streamFiles)
			if err != nil {
				t.Fatal(err)
			}
			last := s.CachedInfo().State.LastSeq // what says what it is
			c.damage(t, &info, s, []uint64{last - 3, last - 2, last - 1})
			meta, err := json.Marshal(info)
			if err != nil {
				t.Fatal(err)
			}
			m := &nats.Msg{Subject: metaSubject("a"), Data: meta, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}}
			if _, err := b.js.PublishMsg(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if got, err := content(t, b, "a"); !errors.Is(err, errDamagedFile) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
		})
	}
	wantFile(t, b, "other", noise(9, 10))
}

func remove(t *testing.T, s jetstream.Stream, seqs ...uint64) {
	t.Helper()
	for _, seq := range seqs {
		if err := s.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
}

// Tools that look at object stores read the files, and what they put is read.
func testFilesForTools(t *testing.T, open opener) {
	b := open(t)
	put(t, b, "ours", noise(1, fileChunk+5))
	store, err := b.js.ObjectStore(t.Context(), bucketFiles)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := store.GetBytes(t.Context(), "ours"); err != nil || !bytes.Equal(got, noise(1, fileChunk+5)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, err := store.PutBytes(t.Context(), "theirs", noise(2, fileChunk+5)); err != nil {
		t.Fatal(err)
	}
	wantFile(t, b, "theirs", noise(2, fileChunk+5))
	if err := store.Delete(t.Context(), "theirs"); err != nil {
		t.Fatal(err)
	}
	wantNoFile(t, b, "theirs")
	status, err := store.Status(t.Context())
	if err != nil || status.TTL() != filesTTL || status.Replicas() != max(1, b.o.Replicas) || status.Storage() != jetstream.FileStorage {
		t.Errorf("%+v, %v", status, err)
	}
}
