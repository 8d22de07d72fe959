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
func (c *call) sendFile(field string, put func(f *storedFile, m *wireMessage)) any {
	said := formatField(c.args, "caption", "caption_entities")
	markup := markupOf(c)
	r := c.target()
	if utf16Len(said.text) > maxCaption {
		panic(badRequest("message caption is too long"))
	}
	f, sum := c.fileOf(field)
	m, name := &wireMessage{Caption: said.text, CaptionEntities: said.entities, ReplyMarkup: markup}, f.wire.FileName
	put(f, m)
	result := c.placeAndPost(r, m, &DocumentEntry{Photo: m.Photo != nil, FileID: f.wire.FileID, Name: name, MIME: f.mime, Size: f.wire.FileSize, SHA256: sum})
	c.stored[f.wire.FileID] = f
	return result
}

// fileOf returns the file of a call, one that it brings or one that the server has, and
// its digest. The caller holds the lock.
func (c *call) fileOf(field string) (*storedFile, string) {
	given := c.args[field]
	u := c.sent[field]
	if named, ok := strings.CutPrefix(given, "attach://"); ok {
		u = c.sent[named]
	}
	if u == nil {
		f := c.stored[given]
		switch {
		case given == "":
			panic(badRequest("there is no %s in the request", field))
		case f == nil:
			panic(badRequest("wrong file identifier/HTTP URL specified"))
		}
		again := *f
		return &again, f.sum
	}
	if u.size == 0 {
		panic(badRequest("file must be non-empty"))
	}
	id, sum := c.id(), hex.EncodeToString(u.sum[:])
	return &storedFile{content: u.content, mime: u.mime, sum: sum, wire: wireFile{
		FileID: fmt.Sprintf("SIM%08d", id), FileUniqueID: fmt.Sprintf("U%d", id), FileSize: u.size,
		FilePath: fmt.Sprintf("documents/file_%d", id), FileName: u.name, MIMEType: u.mime,
	}}, sum
}
