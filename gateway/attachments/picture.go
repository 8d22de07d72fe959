package attachments

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"syscall"
)

// maxSide is how many points a picture may be wide and high: no provider takes more.
const maxSide = 8000

// What a model reads of a picture that no model takes.
const (
	pictureDamaged = "a picture that cannot be shown, because it is damaged: say so"
	pictureLarge   = "a picture that cannot be shown, because it is more than %d points wide or high: say so"
)

// decoders read the size of a picture, by its type. There is none for WebP, of which the
// model's provider finds out.
var decoders = map[string]func(io.Reader) (image.Config, error){
	"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig,
}

// markPictures marks the pictures that no model takes. A provider refuses every request that
// shows one, and a picture is shown with each later question.
func (b *Importer) markPictures(r Request, said [][]Result) {
	for i := range said {
		for k := range said[i] {
			f := &said[i][k]
			decode := decoders[f.MIME]
			if f.Path == "" || decode == nil {
				continue
			}
			why, err := checkPicture(r.Workspace, f.Path, decode)
			if err != nil {
				b.Logger.Warn("picture unreadable", "workspace", r.Workspace, "path", f.Path, "error", err)
			}
			if why != "" {
				f.Unseen = true
				f.addNote(why)
			}
		}
	}
}

// checkPicture returns why no model takes a picture of the workspace; "": one may.
func checkPicture(workspace, place string, decode func(io.Reader) (image.Config, error)) (why string, err error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err // it names the file
	}
	defer func() { _ = file.Close() }()
	size, err := decode(bufio.NewReader(file))
	if isUnsupported(err) {
		return "", nil // by the decoder, which says nothing of providers
	}
	if err != nil {
		return pictureDamaged, fmt.Errorf("decode %s: %w", place, err)
	}
	if max(size.Width, size.Height) > maxSide {
		return fmt.Sprintf(pictureLarge, maxSide), nil
	}
	return "", nil
}

// isUnsupported reports whether a picture is of a variant that the decoder does not know.
func isUnsupported(err error) bool {
	_, isJPEG := errors.AsType[jpeg.UnsupportedError](err)
	_, isPNG := errors.AsType[png.UnsupportedError](err)
	return isJPEG || isPNG
}
