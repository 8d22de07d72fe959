package telegram

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strconv"
)

type storedFile struct {
	wire    wireFile
	mime    string
	content []byte // of one that is never handed out: nil
	sum     string // SHA-256 in hex
}

// maxDownload is the largest file that getFile hands out.
const maxDownload = 20 << 20

// attach stores the file of o and hangs it on m.
func (s *Server) attach(m *wireMessage, o SayOptions) {
	id := s.id()
	name := path.Base(cmp.Or(o.FileName, fmt.Sprintf("file_%d", id)))
	f := &storedFile{
		content: o.File, sum: digest(o.File), mime: cmp.Or(o.MIME, "application/octet-stream"),
		wire: wireFile{
			FileID: fmt.Sprintf("SIM%08d", id), FileUniqueID: fmt.Sprintf("U%d", id),
			FileSize: int64(len(o.File)), FilePath: fmt.Sprintf("%s/%d_%s", o.Media, id, name),
		},
	}
	s.files[f.wire.FileID] = f
	w := f.wire
	w.FilePath = ""
	length, no := max(o.Seconds, 1), false
	switch o.Media {
	case "photo":
		w.Width, w.Height = 640, 480
		m.Photo = []wireFile{w}
	case "voice":
		w.Duration, w.MIMEType = &length, cmp.Or(o.MIME, "audio/ogg")
		m.Voice = &w
	case "audio":
		w.Duration, w.MIMEType, w.FileName = &length, cmp.Or(o.MIME, "audio/mpeg"), name
		m.Audio = &w
	case "video":
		w.Width, w.Height, w.Duration, w.MIMEType = 640, 480, &length, cmp.Or(o.MIME, "video/mp4")
		m.Video = &w
	case "sticker":
		w.Width, w.Height, w.Type, w.IsAnimated, w.IsVideo = 512, 512, "regular", &no, &no
		m.Sticker = &w
	default:
		w.FileName, w.MIMEType = name, o.MIME
		m.Document = &w
	}
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Content is the content of a file that somebody sent, and nil where there is none
// or it is too large to be handed out.
func (s *Server) Content(fileID string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[fileID]; f != nil {
		return f.content
	}
	return nil
}

func (s *Server) getFile(_ context.Context, c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[c.args["file_id"]]
	switch {
	case f == nil:
		return nil, badRequest("wrong file_id or the file is temporarily unavailable")
	case f.wire.FileSize > maxDownload:
		return nil, badRequest("file is too big")
	}
	return f.wire, nil
}

func (s *Server) serveFile(w http.ResponseWriter, rest string) {
	_, name, refused := s.authorize(rest)
	if refused != nil {
		refuse(w, refused)
		return
	}
	s.mu.Lock()
	var found *storedFile
	for _, f := range s.files {
		if f.wire.FilePath == name {
			found = f
		}
	}
	s.mu.Unlock()
	if found == nil {
		refuse(w, &refusal{code: http.StatusNotFound, text: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(found.content)))
	_, _ = w.Write(found.content)
}
