package signal

import (
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
)

// maxAttachment is what the service takes.
const maxAttachment = 100 << 20

// attachments reads the files of a send: paths on the daemon's machine, and data
// URIs. Only what they are is kept, not their content.
func attachments(c *call) ([]AttachmentSent, *rpcError) {
	var sent []AttachmentSent
	for _, spec := range c.args.list("attachment") {
		f, size, sum, err := attachment(c, spec)
		if err != nil {
			name := spec
			if strings.HasPrefix(spec, "data:") {
				name = "data:…"
			}
			return nil, &rpcError{Code: codeInternal, Message: "Failed to send message: " + name + ": " + err.Error() + " (AttachmentInvalidException)"}
		}
		sent = append(sent, AttachmentSent{ContentType: f.ContentType, Filename: f.Filename, Size: size, SHA256: sum})
	}
	return sent, nil
}

var (
	errTooLarge = errors.New("file is too large")
	errDataURI  = errors.New("data URI is not well-formed")
)

func attachment(c *call, spec string) (f Attachment, size int64, sum string, err error) {
	var from io.Reader
	if rest, ok := strings.CutPrefix(spec, "data:"); ok {
		head, data, ok := strings.Cut(rest, ",")
		if !ok {
			return f, 0, "", errDataURI
		}
		from = strings.NewReader(data)
		for i, part := range strings.Split(head, ";") {
			switch name, isName := strings.CutPrefix(part, "filename="); {
			case i == 0:
				f.ContentType = part
			case part == "base64":
				from = base64.NewDecoder(base64.StdEncoding, from)
			case isName:
				f.Filename = name
				if plain, err := url.PathUnescape(name); err == nil {
					f.Filename = plain
				}
			}
		}
	} else {
		if !filepath.IsAbs(spec) {
			spec = filepath.Join(c.dir, spec)
		}
		file, err := os.Open(spec)
		if err != nil {
			return f, 0, "", err
		}
		defer func() { _ = file.Close() }()
		from, f.Filename = file, filepath.Base(spec)
		f.ContentType = mime.TypeByExtension(filepath.Ext(spec))
	}
	h := sha256.New()
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
	return f, size, hex.EncodeToString(h.Sum(nil)), nil
}
