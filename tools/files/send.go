package files

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"unicode"

	"parley/tools"
)

// SendName is the name of the tool that sends a file.
const SendName = "send_file"

//go:embed send_file.md
var sendDoc string

// Outfile is what is said of a file on its way out.
type Outfile struct {
	Name string // without a folder
	MIME string
	Size int64
}

// Chat is where the files of one turn go: always the chat that the turn answers.
type Chat interface {
	// SizeLimit returns how many bytes a file may have there; known is false when that
	// cannot be told here. 0 and known: no files can be sent there.
	SizeLimit() (limit int64, known bool)
	// FindSent returns what a call sent when it came before; false: nothing. Its errors,
	// and those of Send, say that the turn cannot go on when they wrap
	// tools.ErrUnfinished.
	FindSent(ctx context.Context, c tools.Call) (f Outfile, ok bool, err error)
	// Send takes the file of a call on its way and says what is sent. It is
	// [ErrTooLarge] when content gives more than most bytes.
	Send(ctx context.Context, c tools.Call, f Outfile, content io.Reader, limit int64) (Outfile, error)
}

// ErrTooLarge means that a file has more bytes than it may.
var ErrTooLarge = errors.New("the file is too large")

// ErrEmpty is the refusal of a file without content: not every network takes one.
var ErrEmpty = tools.Errorf(tools.Permanent, "the file is empty, and an empty file cannot be sent; write something into it first")

// Sender makes the tool send_file, of category Write. It obeys what is said of
// those that read: a path that they do not open is not sent.
//
// A call is known again by its Chat, so it may run again after a crash.
type Sender struct {
	// Screen, if set, returns the content of a file that may be sent, and fails with
	// [ErrSecret] where it may not. It is set before the first call.
	Screen func(content io.Reader) io.Reader

	typed tools.Tool // that sends nothing
	r     reader
	limit int64
	max   int
}

type sendInput struct {
	Path string `json:"path"`
}

// NewSender makes a Sender.
func NewSender(c Config) (*Sender, error) {
	b, err := c.boundary()
	if err != nil {
		return nil, err
	}
	s := &Sender{r: reader{boundary: b}, limit: cmp.Or(c.MaxSend, DefaultMaxSend), max: cmp.Or(c.MaxSends, DefaultMaxSends)}
	s.typed, err = tools.New(SendName, sendDoc, func(sendInput) tools.Category { return tools.Write }, func(context.Context, sendInput, tools.Call) (tools.Result, error) {
		return tools.Result{}, errNoChat
	}, announceSend)
	return s, err
}

// Tool returns the tool as a model sees it. It sends nothing until For binds it to a
// turn.
func (s *Sender) Tool() tools.Tool { return sendTool{s.typed} }

// Bind returns the tool for one turn, which has sent some files already. One goroutine
// uses it at a time.
func (s *Sender) Bind(chat Chat, sent int) tools.Tool {
	return sendTool{tools.WithRun(s.typed, func(ctx context.Context, in sendInput, c tools.Call) (tools.Result, error) {
		f, again, err := chat.FindSent(ctx, c)
		if err != nil {
			return tools.Result{}, err
		}
		if again { // whatever has become of the file since
			sent++
			return sentResult(f), nil
		}
		if sent >= s.max {
			return tools.Result{}, tools.Errorf(tools.Permanent, "%d files were sent for this message, and more are not possible; put several into one, or let the person ask again", sent)
		}
		res, err := s.send(ctx, chat, in, c)
		if err == nil {
			sent++
		}
		return res, err
	})}
}

// sendTool is the tool, whose calls are known again.
type sendTool struct{ tools.Tool }

var (
	_ tools.Resumable = sendTool{}
	_ tools.Checker   = sendTool{}
	_ tools.Announcer = sendTool{}
)

func (sendTool) Resumable() bool { return true }

var announceSend = tools.Announcement{Doing: "Sending", Of: "path"}

func (sendTool) Announcement() tools.Announcement { return announceSend }

// Check implements [tools.Checker].
func (s sendTool) Check(a tools.Arguments) error {
	if c, ok := s.Tool.(tools.Checker); ok {
		return c.Check(a)
	}
	return nil
}

var (
	errNoChat = tools.Errorf(tools.Permanent, "no file can be sent from here")
	// ErrSecret is the refusal of a file that holds what nobody may read.
	ErrSecret  = tools.Errorf(tools.Permanent, "the file holds a password or key of the gateway itself, and is not sent; take it out of the file, or send another one")
	errNoFiles = tools.Errorf(tools.Permanent, "files cannot be sent into this chat; give what matters of it as text")
)

func (s *Sender) send(ctx context.Context, chat Chat, in sendInput, c tools.Call) (tools.Result, error) {
	limit := s.limit
	if takes, known := chat.SizeLimit(); known {
		if takes <= 0 {
			return tools.Result{}, errNoFiles
		}
		limit = min(limit, takes)
	}
	if strings.HasSuffix(in.Path, "/") {
		return tools.Result{}, errNotAllowed
	}
	p, err := s.r.locate(c.Workspace, in.Path)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = p.root.Close() }()
	f, info, err := s.r.openRegular(p)
	if err != nil {
		return tools.Result{}, err
	}
	defer func() { _ = f.Close() }()
	switch size := info.Size(); {
	case size == 0:
		return tools.Result{}, ErrEmpty
	case size > limit:
		return tools.Result{}, tooLarge(limit)
	}
	head, err := sniff(f)
	if err != nil {
		return tools.Result{}, errUnreadable
	}
	out := Outfile{Name: displayName(p.rel), MIME: mimeType(p.rel, head), Size: info.Size()}
	content := &errorReader{r: f}
	if s.Screen != nil {
		content.r = s.Screen(f)
	}
	sent, err := chat.Send(ctx, c, out, content, limit)
	switch {
	case errors.Is(err, ErrTooLarge):
		return tools.Result{}, tooLarge(limit)
	case errors.Is(content.err, ErrSecret):
		return tools.Result{}, ErrSecret
	case content.err != nil && !errors.Is(err, tools.ErrUnfinished):
		return tools.Result{}, errUnreadable
	case err != nil:
		return tools.Result{}, err
	}
	return sentResult(sent), nil
}

func sentResult(f Outfile) tools.Result {
	return tools.Result{Content: fmt.Sprintf("%s (%d bytes) is on its way into the chat; it comes before your answer.", f.Name, f.Size)}
}

func tooLarge(limit int64) error {
	return tools.Errorf(tools.Permanent, "the file is too large: at most %d bytes can be sent here; make it smaller, or send it in pieces", limit)
}

// displayName returns the last name of a path as people see it: without what is not
// seen, by which one name can look like another.
func displayName(rel string) string {
	name := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return -1
		}
		return r
	}, filepath.Base(rel))
	return cmp.Or(strings.TrimSpace(name), "file")
}

// mimeType returns the MIME type of a file, by its name or else by how it begins.
func mimeType(rel string, head []byte) string {
	if t := mime.TypeByExtension(filepath.Ext(rel)); t != "" {
		return t
	}
	return http.DetectContentType(head)
}

// errorReader knows why reading failed.
type errorReader struct {
	r   io.Reader
	err error // nil: it has not
}

func (w *errorReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && err != io.EOF { // one that wraps it is no end
		w.err = err
	}
	return n, err // readers compare io.EOF with ==
}
