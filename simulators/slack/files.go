package slack

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// File is something that a person shares.
type File struct {
	Name     string `json:"name"`
	Mimetype string `json:"mimetype,omitempty"`
	Data     []byte `json:"data"`
	// ClipMillis makes it an audio clip that was recorded in Slack, of that length.
	ClipMillis int `json:"clip_millis,omitempty"`
	// External is a file from another workspace: events hold only its id until
	// files.info is asked.
	External bool `json:"external,omitempty"`
	// Remote is a file that another service keeps, at that address.
	Remote string `json:"remote,omitempty"`
	// Gone is a file that was deleted meanwhile.
	Gone bool `json:"gone,omitempty"`
}

// fileStore is the files of conversations, and those that are announced and not yet
// shared.
type fileStore struct {
	*world
	stored, uploads map[string]*storedFile
}

type storedFile struct {
	wire wireFile
	data []byte
	app  *app // who uploads it
}

// share stores a file of a person and is what the event says of it. The caller
// holds the lock.
func (s *fileStore) share(r *room, p Person, f File) wireFile {
	id := s.makeID("F")
	if f.Gone {
		return wireFile{ID: id, Mode: "tombstone"}
	}
	kind := f.Mimetype
	if kind == "" {
		kind = mime.TypeByExtension(path.Ext(f.Name))
	}
	w := s.describeFile(id, f.Name, kind, len(f.Data))
	w.User, w.UserTeam = p.ID, s.teamOf(p)
	if f.Remote != "" {
		w.Mode, w.IsExternal, w.ExternalType, w.URLPrivate, w.URLPrivateDownload = "external", new(true), "gdrive", f.Remote, ""
	}
	if f.ClipMillis > 0 {
		w.Subtype, w.MediaDisplayType, w.DurationMS = "slack_audio", "audio", f.ClipMillis
	}
	s.stored[id] = &storedFile{wire: w, data: f.Data}
	if f.External || r.channel.External {
		return wireFile{ID: id, FileAccess: "check_file_info", Mode: "file_access"}
	}
	return w
}

func (s *fileStore) describeFile(id, name, kind string, size int) wireFile {
	now := s.opts.Now().Unix()
	ext := strings.TrimPrefix(path.Ext(name), ".")
	private := fmt.Sprintf("%s/files-pri/%s-%s/", s.URL(), s.opts.Team.ID, id)
	return wireFile{
		ID: id, Created: now, Timestamp: now, Name: name, Title: name, Mimetype: kind, Filetype: ext, PrettyType: strings.ToUpper(ext),
		Editable: new(false), Size: size, Mode: "hosted", IsExternal: new(false), IsPublic: new(false), PublicURLShared: new(false),
		DisplayAsBot: new(false), URLPrivate: private + name, URLPrivateDownload: private + "download/" + name,
		Permalink: fmt.Sprintf("https://%s.slack.com/files/%s/%s", s.opts.Team.Domain, id, name), HasRichPreview: new(false), FileAccess: "visible",
	}
}

// serveFile answers a download: the file for who may read it, and the sign-in
// page, with status 200, for everybody else.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, at string) {
	parts := strings.Split(strings.TrimPrefix(at, "/files-pri/"), "/")
	_, id, _ := strings.Cut(parts[0], "-")
	token := bearer(r)
	s.mu.Lock()
	f := s.stored[id]
	may := false
	for _, a := range s.apps {
		may = may || a.BotToken == token && a.revoked == "" && a.hasScope("files:read")
	}
	s.mu.Unlock()
	switch {
	case !may:
		http.Redirect(w, r, "/?redir="+url.QueryEscape(at), http.StatusFound)
	case f == nil:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", f.wire.Mimetype)
		w.Header().Set("Content-Length", strconv.Itoa(len(f.data)))
		_, _ = w.Write(f.data)
	}
}

// signIn is the page that people without a session get, with status 200.
func signIn(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte("<!DOCTYPE html><html><head><title>Sign in | Slack</title></head><body>Sign in to your workspace</body></html>"))
}

func (c *call) fileInfo() any {
	f := c.stored[c.args["file"]]
	if f == nil {
		panic(refuse("file_not_found"))
	}
	return map[string]any{"file": f.wire, "comments": []any{}, "response_metadata": map[string]string{"next_cursor": ""}}
}
