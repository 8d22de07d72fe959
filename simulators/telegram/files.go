package telegram

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"

	"parley/simulators/internal/stage"
)

// fileStore is the files that people and bots sent.
type fileStore struct {
	*world
	stored map[string]*storedFile
}

type storedFile struct {
	wire    wireFile
	mime    string
	content []byte // of one that is never handed out: nil
	sum     string // SHA-256 in hex
}

// maxDownload is the largest file that getFile hands out.
const maxDownload = 20 << 20

// attach stores the file of o and hangs it on m.
func (s *fileStore) attach(m *wireMessage, o SayOptions) {
	id := s.id()
	name := path.Base(cmp.Or(o.FileName, fmt.Sprintf("file_%d", id)))
	f := &storedFile{
		content: o.File, sum: digest(o.File), mime: cmp.Or(o.MIME, "application/octet-stream"),
		wire: wireFile{
			FileID: fmt.Sprintf("SIM%08d", id), FileUniqueID: fmt.Sprintf("U%d", id),
			FileSize: int64(len(o.File)), FilePath: fmt.Sprintf("%s/%d_%s", o.Media, id, name),
		},
	}
	s.stored[f.wire.FileID] = f
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

// Content returns the content of a file that somebody sent, and nil where there is none
// or it is too large to be handed out.
func (s *fileStore) Content(fileID string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.stored[fileID]; f != nil {
		return f.content
	}
	return nil
}

func (c *call) getFile() any {
	f := c.stored[c.args["file_id"]]
	switch {
	case f == nil:
		panic(badRequest("wrong file_id or the file is temporarily unavailable"))
	case f.wire.FileSize > maxDownload:
		panic(badRequest("file is too big"))
	}
	return f.wire
}

func (s *Server) serveFile(w http.ResponseWriter, rest string) {
	_, name := s.authorize(rest)
	s.mu.Lock()
	var found *storedFile
	for _, f := range s.stored {
		if f.wire.FilePath == name {
			found = f
		}
	}
	s.mu.Unlock()
	if found == nil {
		panic(notFound())
	}
	stage.WriteBody(w, http.StatusOK, "application/octet-stream", found.content)
}
