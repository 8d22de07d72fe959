package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"parley/broker"
	"parley/faultpoint"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
	"parley/tools/files"
	"parley/transcript"
)

// FileStore keeps what files on their way out hold, until they are sent.
type FileStore interface {
	PutFile(ctx context.Context, name string, r io.Reader, limit int64) (size int64, err error)
}

// Files is how turns send files. All fields are required.
type Files struct {
	Sender *files.Sender
	Store  FileStore
	// Largest returns how many bytes a file may have that is sent by a channel instance;
	// 0: it sends none. known is false for one that is not of this process.
	Largest func(channel string) (limit int64, known bool)
}

// chatFiles is the chat that a turn answers, as files go there.
type chatFiles struct{ j *journal }

var _ files.Chat = chatFiles{}

// sendTool returns the tool that sends files, for the turn.
func (j *journal) sendTool(ctx context.Context) (tools.Tool, error) {
	if j.a.settings.Files == nil {
		return nil, nil // without files there is no tool, which is no error
	}
	sent := 0
	if j.t.Steps > 0 {
		ms, err := j.Messages(ctx)
		if err != nil {
			return nil, fmt.Errorf("count the files that a turn sent: %w", err)
		}
		sent = countSentFiles(ms, j.t.ID)
	}
	return j.a.settings.Files.Sender.Bind(chatFiles{j}, sent), nil
}

// countSentFiles counts the files that a turn sent, by the results of its calls.
func countSentFiles(ms []transcript.Message, turn string) (n int) {
	opening := openingID(turn)
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].ID == opening {
			break
		}
		for _, r := range ms[i].Results() {
			if r.Name == files.SendName && !r.IsError {
				n++
			}
		}
	}
	return n
}

// SizeLimit implements [files.Chat].
func (c chatFiles) SizeLimit() (limit int64, known bool) {
	return c.j.a.settings.Files.Largest(c.j.t.Channel)
}

// postGrace is how long it may take to queue a file, also when the turn is ended
// meanwhile.
const postGrace = 10 * time.Second

// FindSent implements [files.Chat]: an earlier take of the turn may have queued it.
func (c chatFiles) FindSent(ctx context.Context, call tools.Call) (f files.Outfile, ok bool, err error) {
	d, err := c.j.a.w.Store.Delivery(ctx, c.id(call))
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return f, false, nil
	case err != nil:
		return f, false, turnError("look for a file that was sent", err)
	case d.File == nil:
		return f, false, nil
	}
	return files.Outfile{Name: d.File.Name, MIME: d.File.MIME, Size: d.File.Size}, true, nil
}

func (c chatFiles) id(call tools.Call) string {
	return sessionkeys.FileID(c.j.t.Session, c.j.t.ID, call.Step, call.ID)
}

// Send implements [files.Chat]: the content goes into the log, and then the file
// into the outbox, by an id that the call makes. The content that one owner of the
// mailbox kept is never another's, so that a late one changes nothing that is
// queued.
func (c chatFiles) Send(ctx context.Context, call tools.Call, f files.Outfile, content io.Reader, limit int64) (_ files.Outfile, err error) {
	t, w := c.j.t, c.j.a.w
	id := c.id(call)
	object := sessionkeys.FileObject(id, c.j.Fence.Epoch, c.j.Fence.Nonce)
	f.Size, err = c.j.a.settings.Files.Store.PutFile(ctx, object, content, limit)
	switch {
	case errors.Is(err, broker.ErrTooLarge):
		return f, fmt.Errorf("keep the file: %w", files.ErrTooLarge)
	case ctx.Err() != nil:
		return f, context.Cause(ctx)
	case err != nil:
		w.Logger.Warn("outgoing file not stored", "session", t.Session, "turn", t.ID, "error", err)
		return f, tools.Errorf(tools.Transient, "the file could not be taken on its way; try again")
	case f.Size == 0: // it was emptied meanwhile
		return f, files.ErrEmpty
	}
	faultpoint.HitOn("worker.file.kept", f.Name)
	commit, done := context.WithTimeout(context.WithoutCancel(ctx), postGrace)
	defer done()
	err = w.Store.Post(commit, c.j.Fence, t.ID, sessions.Outgoing{
		ID: id, Channel: t.Channel, Session: t.Session, Turn: t.ID, To: t.From, ReplyTo: t.ReplyTo, At: w.Now(), MaybeDuplicate: t.Seq <= w.AmbiguousThrough,
		File: &sessions.File{Name: f.Name, MIME: f.MIME, Size: f.Size, Object: object},
	})
	if err != nil {
		return f, turnError("queue a file", err)
	}
	faultpoint.HitOn("worker.file.posted", f.Name)
	w.signalOutbox(t.Channel)
	return f, nil
}

// turnError reports that the turn cannot go on, not that the tool failed.
func turnError(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, tools.ErrUnfinished, err)
}
