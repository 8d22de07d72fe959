package telegram

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// maxCaption is the length of a caption in UTF-16 code units.
const maxCaption = 1024

// sendFile posts the file of a field, which put makes a part of the message or
// refuses.
func (s *Server) sendFile(c *call, field string, put func(f *storedFile, m *wireMessage) *refusal) (any, *refusal) {
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
	if utf16Len(said.text) > maxCaption {
		return nil, badRequest("message caption is too long")
	}
	f, sum, refused := s.fileOf(c, field)
	if refused != nil {
		return nil, refused
	}
	m, name := &wireMessage{Caption: said.text, CaptionEntities: said.entities, ReplyMarkup: markup}, f.wire.FileName
	if refused := put(f, m); refused != nil {
		return nil, refused
	}
	result, refused := s.placeAndPost(c, r, m, &DocumentEntry{Photo: m.Photo != nil, FileID: f.wire.FileID, Name: name, MIME: f.mime, Size: f.wire.FileSize, SHA256: sum})
	if refused == nil {
		s.files[f.wire.FileID] = f
	}
	return result, refused
}

// fileOf is the file of a call, one that it brings or one that the server has, and
// its digest. The caller holds the lock.
func (s *Server) fileOf(c *call, field string) (*storedFile, string, *refusal) {
	given := c.args[field]
	u := c.files[field]
	if named, ok := strings.CutPrefix(given, "attach://"); ok {
		u = c.files[named]
	}
	if u == nil {
		f := s.files[given]
		switch {
		case given == "":
			return nil, "", badRequest("there is no %s in the request", field)
		case f == nil:
			return nil, "", badRequest("wrong file identifier/HTTP URL specified")
		}
		again := *f
		return &again, f.sum, nil
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
