package telegram

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxCaption is the length of a caption in UTF-16 code units.
const maxCaption = 1024

func (s *Server) sendDocument(_ context.Context, c *call) (any, *refusal) {
	said, refused := formatField(c.args, "caption", "caption_entities")
	if refused != nil {
		return nil, refused
	}
	markup, refused := markupOf(c)
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c)
	if refused != nil {
		return nil, refused
	}
	if units(said.text) > maxCaption {
		return nil, badRequest("message caption is too long")
	}
	f, sum, refused := s.document(c)
	if refused != nil {
		return nil, refused
	}
	shown := f.wire
	shown.FilePath = ""
	result, refused := s.lay(c, r, &wireMessage{
		Document: &shown, Caption: said.text, CaptionEntities: said.entities, ReplyMarkup: markup,
	}, &DocumentEntry{FileID: f.wire.FileID, Name: f.wire.FileName, MIME: f.mime, Size: f.wire.FileSize, SHA256: sum})
	if refused == nil {
		s.files[f.wire.FileID] = f
	}
	return result, refused
}

// document is the file of a call, one that it brings or one that the server has, and
// its digest. The caller holds the lock.
func (s *Server) document(c *call) (*storedFile, string, *refusal) {
	given := c.args["document"]
	u := c.files["document"]
	if named, ok := strings.CutPrefix(given, "attach://"); ok {
		u = c.files[named]
	}
	if u == nil {
		f := s.files[given]
		switch {
		case given == "":
			return nil, "", badRequest("there is no document in the request")
		case f == nil:
			return nil, "", badRequest("wrong file identifier/HTTP URL specified")
		}
		return f, f.sum, nil
	}
	if u.size == 0 {
		return nil, "", badRequest("file must be non-empty")
	}
	id, sum := s.id(), hex.EncodeToString(u.sum[:])
	return &storedFile{content: u.content, mime: u.mime, sum: sum, wire: wireFile{
		FileID: fmt.Sprintf("SIM%08d", id), FileUniqueID: fmt.Sprintf("U%d", id), FileSize: u.size,
		FilePath: fmt.Sprintf("documents/file_%d", id), FileName: u.name, MIMEType: u.mime,
	}}, sum, nil
}
