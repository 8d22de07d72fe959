package telegram

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // formats of photos
	_ "image/png"
)

// What a photo may be: Bot API, sendPhoto.
const (
	maxPhoto      = 10 << 20
	maxPhotoSides = 10_000
	maxPhotoRatio = 20
)

// sendPhoto shows a picture. The real server compresses it and drops its name; here
// it is handed out as it came.
func (c *call) sendPhoto() any {
	return c.sendFile("photo", func(f *storedFile, m *wireMessage) {
		if f.wire.FileSize > maxPhoto {
			panic(badRequest("file of size %d bytes is too big for a photo; the maximum size is %d bytes", f.wire.FileSize, maxPhoto))
		}
		about, _, err := image.DecodeConfig(bytes.NewReader(f.content))
		if err != nil {
			panic(badRequest("IMAGE_PROCESS_FAILED"))
		}
		w, h := about.Width, about.Height
		if w+h > maxPhotoSides || w > maxPhotoRatio*h || h > maxPhotoRatio*w {
			panic(badRequest("PHOTO_INVALID_DIMENSIONS"))
		}
		f.wire.FileName, f.wire.FilePath = "", fmt.Sprintf("photos/file_%s", f.wire.FileUniqueID)
		shown := f.wire
		shown.FilePath = ""
		m.Photo = []wireFile{shown}
	})
}

func (c *call) sendDocument() any {
	return c.sendFile("document", func(f *storedFile, m *wireMessage) {
		shown := f.wire
		shown.FilePath = ""
		m.Document = &shown
	})
}
