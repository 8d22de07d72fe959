package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/sessions"
)

// A file on its way out is a delivery of two parts: the file, and a sentence that
// stands in its place when it could not be sent. One of the two is sent; the other
// fails. Why a file failed is noted with its part, so that the sentence is the same
// after a restart.

// Files is what files on their way out hold. What is opened gives ErrNoFile of
// package broker when it is there no more.
type Files interface {
	OpenFile(ctx context.Context, name string) (content io.ReadCloser, size int64, err error)
	DeleteFile(ctx context.Context, name string) error
}

const (
	fileRate      = 64 << 10 // bytes a second that a slow network takes at least
	forgetTimeout = 5 * time.Second
	unreadTries   = 5 // of a file whose content cannot be read
)

// refusal is the error of a file that can never be sent: why.
type refusal sessions.FailReason

func (r refusal) Error() string { return whyNot[sessions.FailReason(r)] }

// whyNot is why files are not sent, in words for people.
var whyNot = map[sessions.FailReason]string{
	sessions.NoFiles:     "files cannot be sent from here to this chat",
	sessions.FileGone:    "it is not kept any more",
	sessions.FileChanged: "it is not kept as it was",
	sessions.TooLarge:    "it is too large for the network",
	sessions.Refused:     "the network refuses it",
}

// isFile reports whether part i is the file itself.
func (a *attempt) isFile(i int) bool { return i >= 0 && i == fileIndex(a.d) }

// fileBodies returns the parts of a file as they are stored.
func (a *attempt) fileBodies() []storedBody {
	bodies := []storedBody{{Body: channels.Body{Text: "[file] " + a.d.File.Name}}, {}}
	if said := a.renderSentence(fmt.Sprintf("The file %s could not be sent.", markdownLiteral(a.d.File.Name))); len(said) > 0 {
		bodies[1].Body = said[0]
	}
	return bodies
}

// fileSubstitute returns the sentence in place of a file, which failed for a reason.
func (a *attempt) fileSubstitute() (channels.Body, bool) {
	name := answerFile
	if a.d.File != nil {
		name = a.d.File.Name
	}
	said := a.renderSentence(fmt.Sprintf("The file %s %s.", markdownLiteral(name), a.fileFailureText(a.d.Parts[fileIndex(a.d)])))
	if len(said) == 0 {
		return channels.Body{}, false
	}
	return said[0], true
}

// fileFailureText says, behind its name, what became of a file that failed.
func (a *attempt) fileFailureText(file sessions.Part) string {
	why := whyNot[file.Reason]
	switch file.Reason {
	case sessions.Unconfirmed:
		return fmt.Sprintf("was sent %d times, and not once is it known to have arrived", file.Repeats+1)
	case sessions.TooLarge:
		if fs, ok := a.ch.(channels.FileSender); ok {
			why = fmt.Sprintf("it has %d bytes, and the network takes %d", fileSize(a.d), fs.LargestFile())
		}
	}
	if why == "" {
		return "could not be sent"
	}
	return "could not be sent: " + why
}

// fileSize returns how many bytes the file of a delivery has.
func fileSize(d *sessions.Delivery) int64 {
	if d.File != nil {
		return d.File.Size
	}
	return int64(len(d.Text))
}

// markdownLiteral returns a name as Markdown that shows it as it is.
func markdownLiteral(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune("\\`*_{}[]()<>#+-.!|~&$:/@=^\"'", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// reasonOf returns why a part failed that the network, or this package before it, refuses.
func reasonOf(ce *channels.Error) sessions.FailReason {
	if r, ok := errors.AsType[refusal](ce.Err); ok {
		return sessions.FailReason(r)
	}
	return sessions.Refused
}

// newRefusal returns the error of a file that can never be sent.
func newRefusal(why sessions.FailReason) error {
	return &channels.Error{Kind: channels.Refused, Op: "send a file", Err: refusal(why)}
}

// sendFile makes the one call for the file that is part i. try says how often it was
// tried.
func (a *attempt) sendFile(ctx context.Context, i, try int) (channels.Receipt, error) {
	d := a.d
	fs, ok := a.ch.(channels.FileSender)
	if !ok {
		return channels.Receipt{}, newRefusal(sessions.NoFiles)
	}
	if d.File == nil {
		size := fileSize(d)
		ctx, cancel := withFileTimeout(ctx, size)
		defer cancel()
		return fs.SendFile(ctx, a.reply(i), channels.File{Name: answerFile, MIME: answerMIME, Size: size}, strings.NewReader(d.Text))
	}
	if d.File.Size > fs.LargestFile() {
		return channels.Receipt{}, newRefusal(sessions.TooLarge)
	}
	ctx, cancel := withFileTimeout(ctx, d.File.Size)
	defer cancel()
	if a.Files == nil {
		return channels.Receipt{}, newRefusal(sessions.FileGone)
	}
	open := func() (io.ReadCloser, int64, error) { return a.Files.OpenFile(ctx, d.File.Object) }
	opened, size, err := open()
	switch {
	case errors.Is(err, broker.ErrNoFile):
		return channels.Receipt{}, newRefusal(sessions.FileGone)
	case err != nil && isUnreadable(err, try):
		return channels.Receipt{}, newRefusal(sessions.FileChanged)
	case err != nil:
		return channels.Receipt{}, &channels.Error{Kind: channels.Unsent, Op: "open the file", Err: err}
	}
	content := &fileReader{r: opened, open: open}
	defer func() { _ = content.r.Close() }()
	if size != d.File.Size {
		return channels.Receipt{}, newRefusal(sessions.FileChanged)
	}
	r, err := fs.SendFile(ctx, a.reply(i), channels.File{Name: approvals.Defuse(d.File.Name), MIME: d.File.MIME, Size: size}, content)
	if ce, ok := asChannelError(err); ok && ce.Kind == channels.Unsent && content.err != nil && isUnreadable(content.err, try) {
		return r, newRefusal(sessions.FileChanged)
	}
	return r, err
}

// isUnreadable reports whether trying again is in vain: something else fails than the
// log being away, again and again.
func isUnreadable(err error, try int) bool {
	return try >= unreadTries && !errors.Is(err, broker.ErrUnavailable) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// fileReader is the content of a file. It remembers why reading failed, and can be read
// again from its beginning, as [io.Seeker]: an adapter may try twice.
type fileReader struct {
	r    io.ReadCloser
	open func() (io.ReadCloser, int64, error)
	at   int64
	err  error
}

var _ io.ReadSeeker = (*fileReader)(nil)

func (w *fileReader) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.at += int64(n)
	if err != nil && err != io.EOF { // one that wraps it is no end
		w.err = err
	}
	return n, err // readers compare io.EOF with ==
}

// Seek returns where it stands, or goes to the beginning.
func (w *fileReader) Seek(offset int64, whence int) (int64, error) {
	switch {
	case whence == io.SeekCurrent && offset == 0, whence == io.SeekStart && offset == w.at:
		return w.at, nil
	case whence != io.SeekStart || offset != 0:
		return w.at, errors.New("a file in the message log is read from its beginning only")
	}
	r, _, err := w.open()
	if err != nil {
		w.err = err
		return w.at, err
	}
	_ = w.r.Close()
	w.r, w.at = r, 0
	return 0, nil
}

// withFileTimeout returns how long sending a file may take: the longer, the larger it is.
// When the process has to end, no longer than a message may.
func withFileTimeout(lane context.Context, size int64) (context.Context, context.CancelFunc) {
	limit := sendTimeout + time.Duration(size/fileRate)*time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(lane), limit)
	ending := context.AfterFunc(lane, func() {
		late := time.NewTimer(min(sendTimeout, limit))
		defer late.Stop()
		select {
		case <-late.C:
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { ending(); cancel() }
}

// forgetFile deletes what the file held, when its delivery is over. What it misses
// ends by itself after some days.
func (a *attempt) forgetFile(ctx context.Context) {
	if a.d.File == nil || a.Files == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	if err := a.Files.DeleteFile(ctx, a.d.File.Object); err != nil {
		a.Logger.Warn("sent file not deleted from the message log, kept until it expires", "channel", a.name, "delivery", a.d.ID, "error", err)
	}
}

// isFinished reports whether nothing more is to be sent of the delivery, by the
// store.
func (a *attempt) isFinished(ctx context.Context) bool {
	ds, err := a.Store.Pending(ctx, a.name, a.d.Order-1, 1)
	return err == nil && (len(ds) == 0 || ds[0].ID != a.d.ID)
}

// bodyOf returns a part as it is to be sent.
func (a *attempt) bodyOf(i int) (channels.Body, error) {
	if a.isFile(i - 1) {
		if b, ok := a.fileSubstitute(); ok {
			return b, nil
		}
	}
	var body channels.Body
	if err := json.Unmarshal(a.d.Parts[i].Body, &body); err != nil {
		return body, &channels.Error{Kind: channels.Refused, Op: "read the stored message", Err: err}
	}
	return body, nil
}
