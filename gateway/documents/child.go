package documents

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// What reading one PDF may take. A process that goes beyond is ended, which is why it
// is one.
const (
	maxTime   = 20 * time.Second // by the clock
	maxWork   = 10               // seconds of a processor
	maxMemory = 512 << 20        // bytes
	maxSize   = 64 << 20         // bytes of the file
)

// extract lets the extractor read the PDF f.
func (r *Reader) extract(ctx context.Context, f *os.File, limit, pages int) (Text, error) {
	if len(r.Extractor) == 0 {
		return Text{Problem: Closed}, nil
	}
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Text{}, context.Cause(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	args := append(r.Extractor[1:len(r.Extractor):len(r.Extractor)], strconv.Itoa(limit), strconv.Itoa(pages))
	cmd := exec.CommandContext(limited, r.Extractor[0], args...) // this program, as its main says
	cmd.Dir, cmd.Stdin, cmd.WaitDelay = "/", f, time.Second
	// No secret of this process is in its environment.
	cmd.Env = []string{"GOMAXPROCS=1", "GOTRACEBACK=none"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Text{Problem: Closed}, nil
	}
	if err := cmd.Start(); err != nil {
		if ctx.Err() != nil {
			return Text{}, context.Cause(ctx)
		}
		r.Logger.Error("PDF extractor not started", "error", err)
		return Text{Problem: Closed}, nil
	}
	// JSON writes a byte as six at most.
	said, readErr := io.ReadAll(io.LimitReader(out, int64(limit)*6+4096))
	if readErr != nil {
		cancel()
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		return Text{}, context.Cause(ctx)
	}
	var t Text
	if err != nil || readErr != nil || json.Unmarshal(said, &t) != nil {
		r.Logger.Warn("PDF extraction aborted", "error", errors.Join(err, readErr))
		return Text{Problem: TooMuch}, nil
	}
	t.Content = truncate(t.Content, limit)
	return t, nil
}

// Extract reads the PDF in, a plain file, and writes what it says to out. It is what
// the process of its own does that [Reader].Extractor names; args are its last
// arguments. It bounds the process that calls it, for good. Returns its exit status.
func Extract(args []string, in *os.File, out io.Writer) int {
	if len(args) < 2 {
		return 2
	}
	args = args[len(args)-2:]
	limit, err1 := strconv.Atoi(args[0])
	pages, err2 := strconv.Atoi(args[1])
	info, err3 := in.Stat()
	if err := errors.Join(err1, err2, err3); err != nil || !info.Mode().IsRegular() || limitProcess() != nil {
		return 2
	}
	if info.Size() > maxSize {
		return writeText(out, Text{Problem: TooMuch})
	}
	return writeText(out, readPDF(in, info.Size(), limit, pages))
}

func writeText(out io.Writer, t Text) int {
	if json.NewEncoder(out).Encode(t) != nil {
		return 1
	}
	return 0
}
