package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"parley/channels/internal/transfer"
)

var (
	errDisk = errors.New("the disk is gone")
	errLine = fmt.Errorf("the line broke off: %w", io.EOF)
)

func TestAContentIsWholeOrAnErrorBeforeItsLastByte(t *testing.T) {
	t.Parallel()
	const text = "0123456789"
	for name, c := range map[string]struct {
		r    io.Reader
		size int64
		want error
	}{
		"whole":                         {strings.NewReader(text), 10, nil},
		"whole, end with the last byte": {iotest.DataErrReader(strings.NewReader(text)), 10, nil},
		"byte by byte":                  {iotest.OneByteReader(strings.NewReader(text)), 10, nil},
		"too short":                     {strings.NewReader(text), 11, transfer.ErrShort},
		"too short, end with the last":  {iotest.DataErrReader(strings.NewReader(text)), 11, transfer.ErrShort},
		"nothing":                       {strings.NewReader(""), 1, transfer.ErrShort},
		"too long":                      {strings.NewReader(text), 9, transfer.ErrLong},
		"too long, byte by byte":        {iotest.OneByteReader(strings.NewReader(text)), 9, transfer.ErrLong},
		"an error in the middle":        {io.MultiReader(strings.NewReader(text), iotest.ErrReader(errDisk)), 20, errDisk},
		"an error that wraps the end":   {io.MultiReader(strings.NewReader(text), iotest.ErrReader(errLine)), 10, errLine},
		"an error at the end":           {io.MultiReader(strings.NewReader(text), iotest.ErrReader(errDisk)), 10, errDisk},
	} {
		content := transfer.NewContent(c.r, c.size)
		got, err := io.ReadAll(content)
		if !errors.Is(err, c.want) || !errors.Is(content.Err(), c.want) {
			t.Errorf("%s: %v, %v", name, err, content.Err())
		}
		if whole := int64(len(got)) >= c.size; whole != (c.want == nil) {
			t.Errorf("%s: %d bytes of %d came, with %v", name, len(got), c.size, err)
		}
		if _, again := content.Read(make([]byte, 1)); c.want != nil && !errors.Is(again, c.want) {
			t.Errorf("%s: afterwards %v", name, again)
		}
	}
}

func TestAStoppedContentIsNotRead(t *testing.T) {
	t.Parallel()
	content := transfer.NewContent(iotest.ErrReader(errDisk), 10)
	content.Stop()
	if _, err := content.Read(make([]byte, 1)); !errors.Is(err, transfer.ErrStopped) || content.Err() != nil {
		t.Errorf("%v, %v", err, content.Err())
	}
}

func TestPatienceEndsWhenNothingMovesAndNotBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := transfer.NewIdleTimer(t.Context(), time.Minute, errDisk)
		defer p.Stop()
		for range 10 {
			time.Sleep(59 * time.Second)
			p.Reset()
		}
		if ctx.Err() != nil {
			t.Error("it ended although something moved")
		}
		p.ResetTo(time.Hour)
		time.Sleep(59 * time.Minute)
		if ctx.Err() != nil {
			t.Error("it ended before its new time")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !errors.Is(context.Cause(ctx), errDisk) {
			t.Errorf("ended with %v", context.Cause(ctx))
		}
	})
}

// slow takes its time for each write.
type slow struct{ bytes.Buffer }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(time.Hour)
	return s.Buffer.Write(p)
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errDisk }

func TestCopyTellsWhoFailedAndWaitsForTheWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := transfer.NewIdleTimer(t.Context(), time.Minute, errDisk)
		defer p.Stop()
		var w slow
		n, reading, writing := transfer.Copy(&w, iotest.OneByteReader(strings.NewReader("abc")), p)
		if n != 3 || reading != nil || writing != nil || w.String() != "abc" || ctx.Err() != nil {
			t.Errorf("%d, %v, %v, %q, %v", n, reading, writing, w.String(), ctx.Err())
		}
		if _, reading, writing := transfer.Copy(full{}, strings.NewReader("abc"), p); reading != nil || !errors.Is(writing, errDisk) {
			t.Errorf("a full disk: %v, %v", reading, writing)
		}
		if _, reading, writing := transfer.Copy(io.Discard, iotest.ErrReader(errDisk), p); writing != nil || !errors.Is(reading, errDisk) {
			t.Errorf("a network that fails: %v, %v", reading, writing)
		}
	})
}
