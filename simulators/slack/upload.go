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
func (s *Server) uploadURL(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := c.args.int("length", 0)
	switch {
	case c.args["filename"] == "":
		return nil, refuse("invalid_arguments", "[ERROR] missing required field: filename")
	case size < 1:
		return nil, refuse("invalid_arguments", "[ERROR] must be greater than 0 [json-pointer:/length]")
	case size > largestFile:
		return nil, refuse("file_upload_size_restricted")
	}
	id := s.makeID("F")
	w := s.describeFile(id, c.args["filename"], mime.TypeByExtension(path.Ext(c.args["filename"])), size)
	w.User, w.Username = c.app.UserID, c.app.Name
	s.uploads[id] = &storedFile{wire: w, app: c.app}
	return map[string]any{"upload_url": s.URL() + "/upload/v1/" + id, "file_id": id}, nil
}

// serveUpload takes the bytes of a file: as they are, or as the first file of a
// form. Status 200 means that it has them.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request, id string) {
	c := &call{method: uploading, remote: r.RemoteAddr, began: s.opts.Now(), args: params{}, token: bearer(r) != ""}
	refused := s.beginUpload(c, r, id)
	if refused == nil && c.fault != nil {
		refused = s.applyFault(r, c)
	}
	size := 0
	if refused == nil && !c.cut {
		size, refused = s.takeUpload(w, r, c, id)
	}
	switch {
	case c.cut:
		s.finish(c, 0, nil)
		panic(http.ErrAbortHandler)
	case refused != nil:
		if refused.status == 0 {
			refused.status = http.StatusBadRequest // 200 would say that it is here
		}
		s.finish(c, refused.status, refused)
		refused.write(w)
	default:
		s.reply(w, c, "text/plain; charset=utf-8", fmt.Appendf(nil, "OK - %d", size))
	}
}

func (s *Server) beginUpload(c *call, r *http.Request, id string) *refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.uploads[id]
	switch {
	case f == nil:
		return &refusal{status: http.StatusNotFound, code: "file_not_found"}
	case r.Method != http.MethodPost:
		return &refusal{status: http.StatusMethodNotAllowed, code: "method_not_allowed"}
	}
	c.app = f.app
	if refused := s.checkHold(c); refused != nil {
		return refused
	}
	c.fault = s.draw(faultSubject{app: c.app.Name, method: uploading})
	return nil
}

// takeUpload reads a file, which must have the length that was announced.
func (s *Server) takeUpload(w http.ResponseWriter, r *http.Request, c *call, id string) (int, *refusal) {
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
			return 0, refuse("no_file_data")
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		c.cut = true // it never came to its end
		return 0, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.uploads[id]
	switch {
	case f == nil:
		return 0, &refusal{status: http.StatusNotFound, code: "file_not_found"}
	case len(data) != f.wire.Size:
		return 0, refuse("length_mismatch", fmt.Sprintf("%d bytes came of %d", len(data), f.wire.Size))
	}
	f.data = data
	return len(data), nil
}

// completeUpload shares what was uploaded, once.
func (s *Server) completeUpload(c *call) (any, *refusal) {
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(c.args["files"]), &list) != nil || len(list) == 0 {
		return nil, refuse("invalid_arguments", "[ERROR] missing required field: files")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var files []*storedFile
	answer := []map[string]string{}
	for _, x := range list {
		f := s.uploads[x.ID]
		switch {
		case f == nil || f.data == nil:
			return nil, refuse("file_not_found")
		case f.app != c.app:
			return nil, refuse("access_denied")
		}
		if x.Title != "" {
			f.wire.Title = x.Title
		}
		files = append(files, f)
		answer = append(answer, map[string]string{"id": x.ID, "title": f.wire.Title})
	}
	if c.channel() != "" {
		share, refused := s.prepareShare(c, files)
		if refused != nil {
			return nil, refused
		}
		switch f := c.fault; {
		case f == nil || f.Trouble != LateShare:
			share()
		case f.Delay > 0:
			s.agenda.after(f.Delay, s.locked(share))
		}
	}
	for _, f := range files {
		s.files[f.wire.ID] = f
		delete(s.uploads, f.wire.ID)
	}
	return map[string]any{"files": answer}, nil
}

// prepareShare checks the message that shows files of an app, and gives what posts it.
// The caller holds the lock, then too.
func (s *Server) prepareShare(c *call, files []*storedFile) (share func(), refused *refusal) {
	r, refused := s.target(c, true)
	if refused != nil {
		return nil, refused
	}
	p := post{text: c.args["initial_comment"], shown: c.args["initial_comment"]}
	p.pings = pingedUsers(p.text)
	if raw := c.args["blocks"]; raw != "" && p.text == "" {
		p.blocks = json.RawMessage(raw)
		if p.shown, refused = readBlocks(p.blocks); refused != nil {
			return nil, refused
		}
	}
	m, refused := s.compose(c, r, p)
	if refused != nil {
		return nil, refused
	}
	return func() {
		m.TS, m.Subtype, m.Upload, m.DisplayAsBot = s.stamp(), "file_share", boolPtr(true), boolPtr(false)
		for _, f := range files {
			m.Files = append(m.Files, f.wire)
		}
		for _, f := range files {
			f.wire.shareIn(r, m)
			s.books.files.Add(FileEntry{
				ID: f.wire.ID, App: c.app.Name, Channel: r.channel.ID, TS: m.TS, ThreadTS: m.ThreadTS, Name: f.wire.Name, Title: f.wire.Title,
				Mimetype: f.wire.Mimetype, Text: p.text, Data: f.data, At: s.opts.Now(),
			})
		}
		s.put(c, r, m, p, nil)
	}, nil
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
