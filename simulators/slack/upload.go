package slack

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
)

const (
	// uploading is the method under which faults and books have what is posted to
	// an upload URL.
	uploading = "upload"

	completion = "files.completeUploadExternal"

	largestFile = 1 << 30
)

// uploadURL gives the URL to which a file of a length is posted, by whoever has
// it.
func (c *call) uploadURL() any {
	size := c.args.int("length", 0)
	switch {
	case c.args["filename"] == "":
		panic(refuse("invalid_arguments", "[ERROR] missing required field: filename"))
	case size < 1:
		panic(refuse("invalid_arguments", "[ERROR] must be greater than 0 [json-pointer:/length]"))
	case size > largestFile:
		panic(refuse("file_upload_size_restricted"))
	}
	id := c.makeID("F")
	w := c.describeFile(id, c.args["filename"], mime.TypeByExtension(path.Ext(c.args["filename"])), size)
	w.User, w.Username = c.app.UserID, c.app.Name
	c.uploads[id] = &storedFile{wire: w, app: c.app}
	return map[string]any{"upload_url": c.URL() + "/upload/v1/" + id, "file_id": id}
}

// serveUpload takes the bytes of a file: as they are, or as the first file of a
// form. Status 200 means that it has them.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request, id string) {
	c := &call{Server: s, method: uploading, request: r, began: s.opts.Now(), token: bearer(r) != ""}
	c.serve(w, "text/plain; charset=utf-8", func() []byte {
		c.beginUpload(id)
		c.applyFault()
		return fmt.Appendf(nil, "OK - %d", c.takeUpload(w, id))
	})
}

// announced finds a file that is to be uploaded. The caller holds the lock.
func (s *fileStore) announced(id string) *storedFile {
	f := s.uploads[id]
	if f == nil {
		panic(&refusal{status: http.StatusNotFound, code: "file_not_found"})
	}
	return f
}

func (c *call) beginUpload(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.announced(id)
	if c.request.Method != http.MethodPost {
		panic(&refusal{status: http.StatusMethodNotAllowed, code: "method_not_allowed"})
	}
	c.app = f.app
	c.checkHold()
	c.fault = c.draw(faultSubject{app: c.app.Name, method: uploading})
}

// takeUpload reads a file, which must have the length that was announced.
func (c *call) takeUpload(w http.ResponseWriter, id string) int {
	r := c.request
	body := io.Reader(http.MaxBytesReader(w, r.Body, largestFile+maxRequest))
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "multipart/form-data" {
		m, err := r.MultipartReader()
		for err == nil {
			part, e := m.NextPart()
			if err = e; e == nil && part.FileName() != "" {
				body = part
				break
			}
		}
		if err != nil {
			panic(refuse("no_file_data"))
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		panic(http.ErrAbortHandler) // it never came to its end
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.announced(id)
	if len(data) != f.wire.Size {
		panic(refuse("length_mismatch", fmt.Sprintf("%d bytes came of %d", len(data), f.wire.Size)))
	}
	f.data = data
	return len(data)
}

// completeUpload shares what was uploaded, once.
func (c *call) completeUpload() any {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(c.args["files"]), &list) != nil || len(list) == 0 {
		panic(refuse("invalid_arguments", "[ERROR] missing required field: files"))
	}
	var files []*storedFile
	answer := []map[string]string{}
	for _, x := range list {
		f := c.uploads[x.ID]
		switch {
		case f == nil || f.data == nil:
			panic(refuse("file_not_found"))
		case f.app != c.app:
			panic(refuse("access_denied"))
		}
		if x.Title != "" {
			f.wire.Title = x.Title
		}
		files = append(files, f)
		answer = append(answer, map[string]string{"id": x.ID, "title": f.wire.Title})
	}
	if c.channel() != "" {
		share := c.prepareShare(files)
		switch f := c.fault; {
		case f == nil || f.Trouble != LateShare:
			share()
		case f.Delay > 0:
			c.agenda.after(f.Delay, c.locked(share))
		}
	}
	for _, f := range files {
		c.stored[f.wire.ID] = f
		delete(c.uploads, f.wire.ID)
	}
	return map[string]any{"files": answer}
}

// prepareShare checks the message that shows files of an app, and gives what posts it.
// The caller holds the lock, then too.
func (c *call) prepareShare(files []*storedFile) (share func()) {
	r := c.target(true)
	p := post{text: c.args["initial_comment"], shown: c.args["initial_comment"]}
	p.pings = pingedUsers(p.text)
	if raw := c.args["blocks"]; raw != "" && p.text == "" {
		p.blocks = json.RawMessage(raw)
		p.shown = readBlocks(p.blocks)
	}
	m := c.compose(r, p)
	return func() {
		m.TS, m.Subtype, m.Upload, m.DisplayAsBot = c.stamp(), "file_share", new(true), new(false)
		for _, f := range files {
			m.Files = append(m.Files, f.wire)
		}
		for _, f := range files {
			f.wire.shareIn(r, m)
			c.books.files.Add(FileEntry{
				ID: f.wire.ID, App: c.app.Name, Channel: r.channel.ID, TS: m.TS, ThreadTS: m.ThreadTS, Name: f.wire.Name, Title: f.wire.Title,
				Mimetype: f.wire.Mimetype, Text: p.text, Data: f.data, At: c.opts.Now(),
			})
		}
		c.put(r, m, p, nil)
	}
}

// shareIn notes where a file is shown.
func (w *wireFile) shareIn(r *room, m *wireMessage) {
	id, who := r.channel.ID, "private"
	switch r.channel.Kind {
	case Public:
		w.Channels, who = []string{id}, "public"
	case IM:
		w.IMs = []string{id}
	default:
		w.Groups = []string{id}
	}
	w.Shares = shares{who: {id: {{
		ReplyUsers: []string{}, TS: m.TS, ThreadTS: m.ThreadTS, ChannelName: r.channel.Name, TeamID: m.Team, ShareUserID: m.User, Source: "UNKNOWN",
	}}}}
}
