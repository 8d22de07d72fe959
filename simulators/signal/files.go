package signal

import (
	"fmt"
	"mime"
	"strings"
)

// fileStore is the files of both directions: what people sent, and of what accounts sent
// the latest.
type fileStore struct {
	*world
	stored   map[string]*storedFile
	contents contents
}

// storedFile is an attachment as the service keeps it.
type storedFile struct {
	id      string
	data    []byte
	missing bool
}

// store keeps a file, and gives it as an envelope names it.
func (s *fileStore) store(f Attachment, at int64) (wireAttachment, string) {
	id := fmt.Sprintf("%08x%08x%s", s.rng.Uint32(), s.id(), extension(f.ContentType, f.Filename))
	s.stored[id] = &storedFile{id: id, data: f.Data, missing: f.Missing}
	size := int64(len(f.Data))
	w := wireAttachment{
		ContentType: f.ContentType, Filename: orNull(f.Filename), ID: &id, Size: &size,
		Caption: orNull(f.Caption), UploadTimestamp: &at,
	}
	if f.Width > 0 && f.Height > 0 {
		w.Width, w.Height = &f.Width, &f.Height
	}
	return w, id
}

// extension returns what signal-cli puts behind the id in the attachments' folder.
func extension(contentType, name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.ContainsAny(name[i:], "/\\\x00") {
		return name[i:]
	}
	switch contentType {
	case longTextType:
		return ".txt"
	case "image/jpeg":
		return ".jpg"
	}
	if known, err := mime.ExtensionsByType(contentType); err == nil && len(known) > 0 {
		return known[0]
	}
	return ""
}
