package attachments

import (
	"context"
	"fmt"
	"strings"

	"parley/channels"
	"parley/gateway/documents"
	"parley/tools"
)

// TextReader makes text of files. *documents.Reader is one.
type TextReader interface {
	// Read makes text of the file at path in a workspace, at most so many bytes and
	// pages. The error is ctx's cause.
	Read(ctx context.Context, workspace, path string, limit, pages int) (documents.Text, error)
}

// addTexts adds to files that were saved what they say, one after the other, as long as
// there is room in the message.
func (b *Importer) addTexts(ctx context.Context, r Request, said [][]Result) error {
	b.markSounds(r, said)
	b.markPictures(r, said)
	if b.Texts == nil || b.Config.TextBytes < 0 {
		return nil
	}
	left := b.Config.TextBytes
	for i, fs := range said {
		for k := range fs {
			f := &fs[k]
			if f.Path == "" || f.Sound != nil || strings.HasPrefix(f.MIME, "image/") {
				continue
			}
			if left <= 0 {
				f.addNote("its text is not shown here: there is too much text in the other files")
				continue
			}
			t, err := b.Texts.Read(ctx, r.Workspace, f.Path, left, max(0, b.Config.PDFPages))
			if err != nil {
				return err // Bring does
			}
			if t.Problem == documents.Other && isSound(r.Files[i][k], f.MIME) {
				f.addNote("which nobody here can hear: say so")
				continue
			}
			left -= len(t.Content)
			f.setText(t)
		}
	}
	return nil
}

// isSound reports whether f, whose content is of the type mime, is something to hear.
func isSound(f File, mime string) bool {
	return f.Kind == channels.Voice || f.Kind == "audio" || mime == "application/ogg" ||
		strings.HasPrefix(mime, "audio/") || strings.HasPrefix(f.MIME, "audio/")
}

// setText adds what the file says, or why that cannot be read.
func (f *Result) setText(t documents.Text) {
	switch why := unread[t.Problem]; {
	case why != "":
		f.addNote(why)
		return
	case t.Content == "":
		f.addNote("it is empty")
		return
	}
	f.Text = tools.FrameUntrusted(TextHead(f.Path), t.Content)
	switch {
	case t.Cut && t.Of > 0:
		f.Text += fmt.Sprintf("\n[that is the beginning, up to page %d of %d; the whole file is %s]", t.Pages, t.Of, f.Path)
	case t.Cut:
		f.Text += fmt.Sprintf("\n[that is the beginning, %s of %s; the whole file is %s]", formatSize(int64(len(t.Content))), formatSize(f.Size), f.Path)
	}
}

// unread is what a model is told of a file that is not read as text.
var unread = map[documents.Problem]string{
	documents.Other:     "not read as text: it is of a kind that is shown to nobody here",
	documents.Encrypted: "not read as text: the PDF is encrypted and wants a password",
	documents.Scanned:   "not read as text: the PDF holds none, as one that was scanned",
	documents.Broken:    "not read as text: the PDF is damaged",
	documents.TooMuch:   "not read as text: the PDF takes too much to read",
	documents.Closed:    "not read as text: that cannot be done at present",
}

// addNote says one more thing of the file.
func (f *Result) addNote(why string) { f.Line = strings.TrimSuffix(f.Line, ")") + ", " + why + ")" }

// TextHead names the file at path as the one whose words are in a frame.
func TextHead(path string) string { return "the file " + path }
