package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"parley/llm"
	"parley/transcript"
)

// What pictures a request carries: the newest ones of the history, so many and of so
// many bytes together. Of the others a model reads the names, as of files.
const (
	maxPictures     = 10
	maxPictureBytes = 12 << 20
)

// MaxPicture is how many bytes a picture may have that a model is shown: 5 MB when it
// is written in base64, the least that any supported provider takes.
const MaxPicture = 3_750_000

var errOtherFile = errors.New("the file is not the one that came with the message")

// ReadPicture reads the picture b, which was saved in the workspace. One that is gone,
// is another now, or has more than MaxPicture bytes is an error.
func ReadPicture(workspace string, b transcript.Binary) ([]byte, error) {
	return readSaved(workspace, b, "picture", MaxPicture)
}

// readSaved reads a file that was saved in a workspace, of at most so many bytes.
func readSaved(workspace string, b transcript.Binary, what string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("read a %s: %w", what, err)
	}
	defer func() { _ = root.Close() }()
	f, err := root.Open(b.Path)
	if err != nil {
		return nil, fmt.Errorf("read a %s: %w", what, err)
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the %s %s: %w", what, b.Path, errors.Join(errOtherFile, err))
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read the %s %s: %w", what, b.Path, err)
	}
	sum := sha256.Sum256(data)
	if int64(len(data)) > limit || hex.EncodeToString(sum[:]) != b.Sum {
		return nil, fmt.Errorf("read the %s %s: %w", what, b.Path, errOtherFile)
	}
	return data, nil
}

// attachPictures puts the content of pictures into ms, which is to be sent, for a model that
// sees. What was read is kept for the turn, so that each request of it begins as the
// one before. ms itself is not changed.
func (r *requester) attachPictures(ms []transcript.Message) []transcript.Message {
	if !r.turn.Vision || r.hidden {
		return ms
	}
	n, bytes, cloned := 0, 0, false
	for i, m := range slices.Backward(ms) {
		var parts []transcript.Part
		for k, p := range slices.Backward(m.Parts) {
			b, ok := p.(transcript.Binary)
			if !ok || b.Sum == "" || len(b.Data) > 0 || !strings.HasPrefix(b.MIMEType, "image/") || n >= maxPictures {
				continue
			}
			data := r.readPicture(b)
			if len(data) == 0 || bytes+len(data) > maxPictureBytes {
				continue
			}
			n, bytes = n+1, bytes+len(data)
			if parts == nil {
				parts = slices.Clone(m.Parts)
			}
			b.Data = data
			parts[k] = b
		}
		if parts == nil {
			continue
		}
		if !cloned {
			ms, cloned = slices.Clone(ms), true
		}
		m.Parts = parts
		ms[i] = m
	}
	return ms
}

// readPicture reads b once for the turn; nil: it cannot be shown.
func (r *requester) readPicture(b transcript.Binary) []byte {
	if data, ok := r.pictures[b.Sum]; ok {
		return data
	}
	data, err := r.ReadPicture(r.turn.Workspace, b)
	if err != nil {
		r.log.Warn("picture not shown to the model", "error", err)
	}
	if r.pictures == nil {
		r.pictures = map[string][]byte{}
	}
	r.pictures[b.Sum] = data
	return data
}

// isPictureRefused reports whether the provider refused a request that shows a picture. It
// says in words alone which part it does not take, so any picture may be the reason.
func isPictureRefused(req llm.Request, err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || e.Kind != llm.InvalidRequest || e.IsProviders() || e.Visible {
		return false
	}
	return slices.ContainsFunc(req.Messages, func(m transcript.Message) bool {
		return slices.ContainsFunc(m.Parts, func(p transcript.Part) bool {
			b, ok := p.(transcript.Binary)
			return ok && len(b.Data) > 0
		})
	})
}

// hidePictures books the attempt a, which was refused for a picture, and goes on without
// pictures until the take ends: each request of it would be refused again. The model reads
// that it cannot see them.
func (r *requester) hidePictures(ctx context.Context, a *attempt) error {
	if err := r.settle(ctx, a); err != nil {
		return err
	}
	r.report(a)
	r.log.Warn("request with pictures refused, the turn goes on without them", "error", a.err)
	r.hidden, r.uncounted, r.system = true, r.tries, 0
	r.turn.System = append(slices.Clip(r.turn.System), llm.SystemBlock{Text: instructionHidden})
	return nil
}
