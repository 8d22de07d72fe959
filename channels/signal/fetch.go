package signal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"parley/channels"
	"parley/channels/internal/transfer"
	"parley/sessionkeys"
)

var errLargeFile = errors.New("the file is larger than any that Signal takes")

// Fetch writes a file that came with a message. signal-cli has it on its disk. Where
// parley runs it, the file is read there; else, or where it is not found, signal-cli
// is asked for it. The file is never whole in memory here; in signal-cli that is asked
// it is.
func (c *Channel) Fetch(ctx context.Context, in sessionkeys.Address, a channels.Attachment, w io.Writer) error {
	const op = "getAttachment"
	to, err := recipientParams(op, in)
	if err != nil {
		return err
	}
	if !isPlainName(a.Ref) {
		return refusedError(op, "the id of the file is none of signal-cli's")
	}
	if c.daemon != nil {
		if f := openAttachment(attachmentsDir(c.o.Command, os.Getenv), a.Ref); f != nil {
			defer func() { _ = f.Close() }()
			if _, err := io.Copy(w, &contextReader{ctx, f}); err != nil {
				return &channels.Error{Kind: channels.Unsent, Op: op, Err: err}
			}
			return nil
		}
	}
	return c.requestFile(ctx, op, to, a.Ref, w)
}

// isPlainName reports whether id is a name of a file without a folder.
func isPlainName(id string) bool {
	return id != "" && len(id) <= 255 && id != "." && id != ".." && !strings.ContainsAny(id, "/\\\x00")
}

// attachmentsDir returns where a signal-cli that is started with command keeps files.
func attachmentsDir(command []string, getenv func(string) string) string {
	dir := DataDir(command, getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "attachments")
}

// DataDir returns the folder in which a signal-cli that is started with command keeps its
// accounts, with their keys, and files, as its manual says: what --config names, or its place
// among the user's data; "": not known.
func DataDir(command []string, getenv func(string) string) string {
	for i, arg := range command {
		if (arg == "--config" || arg == "-c") && i+1 < len(command) {
			return command[i+1]
		}
		if dir, ok := strings.CutPrefix(arg, "--config="); ok {
			return dir
		}
	}
	data := getenv("XDG_DATA_HOME")
	if data == "" && getenv("HOME") != "" {
		data = filepath.Join(getenv("HOME"), ".local", "share")
	}
	if data == "" {
		return ""
	}
	return filepath.Join(data, "signal-cli")
}

// openAttachment opens a plain file of a folder, and nothing that lies outside of it;
// nil: there is none that can be read.
func openAttachment(dir, name string) *os.File {
	if dir == "" {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = root.Close() }()
	is, err := root.Lstat(name)
	if err != nil || !is.Mode().IsRegular() {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return nil
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(is, now) {
		_ = f.Close()
		return nil
	}
	return f
}

// requestFile has signal-cli hand out a file.
func (c *client) requestFile(ctx context.Context, op string, to map[string]any, id string, w io.Writer) error {
	p := c.params(to)
	p["id"] = id
	if list, ok := p["recipient"].([]string); ok {
		p["recipient"] = list[0]
	}
	_, text, err := new(ids).newRequest(op, p)
	if err != nil {
		return c.queryError(op, err)
	}
	ctx, patience := transfer.NewIdleTimer(ctx, c.o.SendTimeout, errTimeout)
	defer patience.Stop()
	var said *response
	err = c.rpc.exchange(ctx, transfer.NewBody(patience, c.o.SendTimeout, int64(len(text)), bytes.NewReader(text)), func(in *bufio.Reader) (err error) {
		a := answerReader{in, int(c.o.MaxAnswer)}
		said, err = a.next(func(text io.Reader) error {
			n, reading, writing := transfer.Copy(w, io.LimitReader(base64.NewDecoder(base64.StdEncoding, text), c.o.MaxFile+1), patience)
			if n > c.o.MaxFile {
				return errLargeFile
			}
			return errors.Join(reading, writing)
		})
		return err
	})
	switch {
	case errors.Is(err, errLargeFile):
		return refusedError(op, errLargeFile.Error())
	case err != nil:
		return c.queryError(op, fmt.Errorf("read the file from signal-cli: %w", withCause(ctx, err)))
	}
	raw, err := said.outcome()
	if err == nil && string(raw) != "{}" {
		err = &lostError{true, errGarbage}
	}
	if err != nil {
		return c.queryError(op, err)
	}
	return nil
}
