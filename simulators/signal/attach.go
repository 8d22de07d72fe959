package signal

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// maxAttachment is what the service takes.
const maxAttachment = 100 << 20

// maxContents is how many bytes of what accounts sent are kept: the latest ones.
const maxContents = 64 << 20

// contents are files that accounts sent, by their digest.
type contents struct {
	mu    sync.Mutex // guards what is below
	data  map[string][]byte
	order []string
	size  int
}

func (c *contents) keep(sum string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.data[sum]; there {
		return
	}
	if c.data == nil {
		c.data = map[string][]byte{}
	}
	c.data[sum] = data
	c.order = append(c.order, sum)
	for c.size += len(data); c.size > maxContents; c.order = c.order[1:] {
		c.size -= len(c.data[c.order[0]])
		delete(c.data, c.order[0])
	}
}

// Content returns a file that an account sent, by its digest in the books, and nil when it
// is forgotten: the latest 64 MiB are kept.
func (s *fileStore) Content(sha256 string) []byte {
	s.contents.mu.Lock()
	defer s.contents.mu.Unlock()
	return s.contents.data[sha256]
}

// attachments reads the files of a send: paths on the daemon's machine, and data
// URIs.
func (c *call) attachments() []AttachmentSent {
	var sent []AttachmentSent
	for _, spec := range c.args.list("attachment") {
		var data bytes.Buffer
		f, size, sum, err := attachment(c, spec, &data)
		if err != nil {
			name := spec
			if strings.HasPrefix(spec, "data:") {
				name = "data:…"
			}
			panic(internalError("Failed to send message: " + name + ": " + err.Error() + " (AttachmentInvalidException)"))
		}
		c.contents.keep(sum, data.Bytes())
		sent = append(sent, AttachmentSent{ContentType: f.ContentType, Filename: f.Filename, Size: size, SHA256: sum})
	}
	return sent
}

var (
	errTooLarge = errors.New("file is too large")
	errDataURI  = errors.New("data URI is not well-formed")
)

// attachment reads one file, whose content it writes into kept.
func attachment(c *call, spec string, kept io.Writer) (f Attachment, size int64, sum string, err error) {
	var from io.Reader
	if rest, ok := strings.CutPrefix(spec, "data:"); ok {
		head, data, ok := strings.Cut(rest, ",")
		if !ok {
			return f, 0, "", errDataURI
		}
		from = strings.NewReader(data)
		if plain, ok := strings.CutSuffix(head, ";base64"); ok {
			head, from = plain, base64.NewDecoder(base64.StdEncoding, from)
		}
		var args string
		f.ContentType, args, _ = strings.Cut(head, ";")
		// As signal-cli reads it: of several parameters it takes all but the last
		// value for one key.
		if i := strings.LastIndexByte(args, '='); i >= 0 && args[:i] == "filename" {
			if f.Filename, err = url.QueryUnescape(args[i+1:]); err != nil {
				return f, 0, "", errDataURI
			}
		}
	} else {
		if !filepath.IsAbs(spec) {
			spec = filepath.Join(c.Dir, spec)
		}
		file, err := os.Open(spec)
		if err != nil {
			return f, 0, "", err
		}
		defer func() { _ = file.Close() }()
		from, f.Filename = file, filepath.Base(spec)
		f.ContentType = mime.TypeByExtension(filepath.Ext(spec))
	}
	sums := sha256.New()
	h := io.MultiWriter(sums, kept)
	var first [512]byte
	n, err := io.ReadFull(from, first[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return f, 0, "", err
	}
	_, _ = h.Write(first[:n])
	rest, err := io.Copy(h, io.LimitReader(from, maxAttachment+1))
	if err != nil {
		return f, 0, "", err
	}
	if f.ContentType == "" {
		f.ContentType = http.DetectContentType(first[:n])
	}
	if size = int64(n) + rest; size > maxAttachment {
		return f, 0, "", errTooLarge
	}
	return f, size, hex.EncodeToString(sums.Sum(nil)), nil
}
