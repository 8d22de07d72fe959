package signal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/channels/internal/transfer"
)

// largestFile is what Signal takes. It says 100 MB, and not which; so it is the
// smaller one.
const largestFile = 100e6

// perMegabyte is how much longer the answer may take for each MB of a file: signal-cli
// answers after it has brought the file to Signal's service.
const perMegabyte = time.Second

var errNotRunning = errors.New("signal-cli does not run yet")

// LargestFile is what Signal takes.
func (s *sender) LargestFile() int64 { return largestFile }

// SendFile sends a file, as Send does a message. A signal-cli that parley runs reads
// it from a folder of the account's, where it is only as long as the call; to another
// one, which may be on another machine, it goes in the request. See
// channels.FileSender.
func (s *sender) SendFile(ctx context.Context, r channels.Reply, f channels.File, content io.Reader) (channels.Receipt, error) {
	const op = "send"
	to, err := recipientParams(op, r.To)
	switch {
	case err != nil:
		return channels.Receipt{}, err
	case f.Size <= 0:
		return channels.Receipt{}, refusedError(op, "the file is empty, and Signal has no empty files")
	case f.Size > s.LargestFile():
		return channels.Receipt{}, refusedError(op, fmt.Sprintf("the file is too large: it has %d bytes, and Signal takes %d", f.Size, s.LargestFile()))
	}
	p := s.params(to)
	if s.floods.mayBeRepeat(r) {
		p["message"] = repeatText
	}
	if err := s.addQuote(op, p, r); err != nil {
		return channels.Receipt{}, err
	}
	if err := s.checkSendable(ctx, op, r.To, to); err != nil {
		return channels.Receipt{}, err
	}
	file := transfer.NewContent(content, f.Size)
	send := s.sendPath
	if s.daemon == nil {
		send = s.sendData
	}
	raw, err := send(ctx, op, p, f, file)
	if broken := file.Err(); broken != nil {
		return channels.Receipt{}, &channels.Error{Kind: channels.Unsent, Op: op, Err: fmt.Errorf("read the file: %w", broken)}
	}
	return s.settleSend(op, r, raw, err)
}

// answerTimeout is how long the answer to a file may take.
func (s *sender) answerTimeout(f channels.File) time.Duration {
	return s.o.SendTimeout + perMegabyte*time.Duration(f.Size/1e6)
}

// sendPath puts the file where signal-cli reads it. Nothing is left of it there; what
// a process leaves that is killed meanwhile is removed at the next start.
func (s *sender) sendPath(ctx context.Context, op string, p map[string]any, f channels.File, content *transfer.Content) (json.RawMessage, error) {
	if !s.daemon.ownsDir() {
		return nil, &lostError{false, errNotRunning}
	}
	dir, path, err := s.writeOutgoing(ctx, f, content)
	if dir != "" {
		defer func() {
			if err := os.RemoveAll(dir); err != nil {
				s.o.Log.Error("sent file not removed", "error", err)
			}
		}()
	}
	if err != nil {
		return nil, &lostError{false, fmt.Errorf("write the file down for signal-cli: %w", err)}
	}
	p["attachments"] = []string{path}
	ctx, cancel := context.WithTimeoutCause(ctx, s.answerTimeout(f), errTimeout)
	defer cancel()
	return s.rpc.call(ctx, op, p)
}

// writeOutgoing writes a file into a folder of its own, which is there if dir is not empty.
func (s *sender) writeOutgoing(ctx context.Context, f channels.File, content io.Reader) (dir, path string, err error) {
	all, err := filepath.Abs(s.daemon.outgoingDir())
	if err == nil {
		err = os.MkdirAll(all, 0o700)
	}
	if err != nil {
		return "", "", err // it names the folder
	}
	if dir, err = os.MkdirTemp(all, ""); err != nil {
		return "", "", err // it names the folder
	}
	path = filepath.Join(dir, markup.FileName(f.Name))
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return dir, "", err // it names the file
	}
	_, err = io.Copy(out, &contextReader{ctx, content})
	return dir, path, errors.Join(err, out.Close())
}

// contextReader reads r as long as ctx lasts.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (u *contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err // the caller's own
	}
	return u.r.Read(p) // as above
}

// sendData makes a request with the file in it.
func (s *sender) sendData(ctx context.Context, op string, p map[string]any, f channels.File, content *transfer.Content) (json.RawMessage, error) {
	defer content.Stop()
	_, text, err := new(ids).newRequest(op, p)
	if err != nil {
		return nil, err
	}
	// The last key is params, which is not empty: it says for whom.
	head, ok := bytes.CutSuffix(text, []byte("}}\n"))
	if !ok {
		return nil, &lostError{false, errGarbage}
	}
	head = append(head, `,"attachments":["`+dataURIPrefix(f)...)
	tail := []byte("\"]}}\n")
	ctx, patience := transfer.NewIdleTimer(ctx, s.o.SendTimeout, errTimeout)
	defer patience.Stop()
	size := int64(len(head)) + int64(base64.StdEncoding.EncodedLen(int(f.Size))) + int64(len(tail))
	body := transfer.NewBody(patience, s.answerTimeout(f), size, bytes.NewReader(head), &base64Reader{r: content}, bytes.NewReader(tail))
	var said *response
	err = s.rpc.exchange(ctx, body, func(in *bufio.Reader) (err error) {
		a := answerReader{in, int(s.o.MaxAnswer)}
		said, err = a.next(nil)
		return err
	})
	var lost *lostError
	switch {
	case err == nil:
		return said.outcome()
	case errors.As(err, &lost):
		return nil, err
	}
	return nil, &lostError{body.MayHaveLeft(), withCause(ctx, err)}
}

// dataURIPrefix returns the beginning of a data URI. signal-cli reads the name like a
// form of the web, and mistakes one parameter for another where there are two.
func dataURIPrefix(f channels.File) string {
	kind, _, err := mime.ParseMediaType(transfer.MediaType(f.MIME))
	if err != nil {
		kind = "application/octet-stream"
	}
	name := strings.ReplaceAll(url.QueryEscape(markup.FileName(f.Name)), "+", "%20")
	return "data:" + kind + ";filename=" + name + ";base64,"
}

// base64Reader gives what r gives as base64.
type base64Reader struct {
	r     io.Reader
	plain [48 << 10]byte // a multiple of 3
	text  [64 << 10]byte
	left  []byte // of text
	err   error
}

func (e *base64Reader) Read(p []byte) (int, error) {
	if len(e.left) == 0 && e.err == nil {
		n := 0
		for n < len(e.plain) && e.err == nil {
			var more int
			more, e.err = e.r.Read(e.plain[n:])
			n += more
		}
		if e.err == nil || errors.Is(e.err, io.EOF) {
			base64.StdEncoding.Encode(e.text[:], e.plain[:n])
			e.left = e.text[:base64.StdEncoding.EncodedLen(n)]
		}
	}
	if len(e.left) == 0 {
		return 0, e.err
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}
