package signal

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync"

	"parley/channels"
)

// signal-cli stores every file of a message before it tells of the message: the
// attachments, the pictures of links, of quotes and of contacts, whoever sent it. What
// nothing will be done with is deleted again when the event was taken, in a folder that
// belongs to a signal-cli which parley runs.
//
// A name is the service's id of a file, and the same file has the same one in every
// message: who may not talk to the bot may pass on, or make up, that of another's. So a
// file stays as long as an event that was read may use it.

// fileClaims knows which events may use which files. Its methods may be called
// concurrently.
type fileClaims struct {
	mu    sync.Mutex // guards what is below
	users map[string][]string
	order []string // files, as they were first named
}

// maxClaimed is how many files are remembered; of the oldest it is forgotten that they
// are used, and then they stay only unless somebody else names them.
const maxClaimed = 4096

// claim notes that an event may use files.
func (l *fileClaims) claim(event string, files []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == nil {
		l.users = map[string][]string{}
	}
	for _, f := range files {
		if l.users[f] == nil {
			l.order = append(l.order, f)
		}
		if !slices.Contains(l.users[f], event) {
			l.users[f] = append(l.users[f], event)
		}
	}
	for len(l.order) > maxClaimed {
		delete(l.users, l.order[0])
		l.order = l.order[1:]
	}
}

// release notes that an event uses none of its files and returns those that no other
// event may use.
func (l *fileClaims) release(event string, files []string) (unused []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range files {
		rest := slices.DeleteFunc(l.users[f], func(e string) bool { return e == event })
		if len(rest) > 0 {
			l.users[f] = rest
			continue
		}
		delete(l.users, f)
		l.order = slices.DeleteFunc(l.order, func(o string) bool { return o == f })
		unused = append(unused, f)
	}
	return unused
}

// deleteUnusedFiles deletes the files that an event named and that nothing is done with: all, if
// the event is not used, or else those that are neither a file of the message nor its
// text.
func (r *receiver) deleteUnusedFiles(e event, used bool) {
	if r.daemon == nil || len(e.files) == 0 {
		return // somebody else's signal-cli has somebody else's folder
	}
	unused := e.files
	if used {
		kept := []string{e.longText}
		for _, a := range e.message.Attachments {
			kept = append(kept, a.Ref)
		}
		unused = slices.DeleteFunc(slices.Clone(unused), func(f string) bool { return slices.Contains(kept, f) })
	}
	unused = r.fileClaims.release(e.message.Event, unused)
	if err := deleteFiles(attachmentsDir(r.o.Command, os.Getenv), unused); err != nil {
		r.o.Log.Warn("unused files not removed from signal-cli's folder", "error", err)
	}
}

// deleteFiles deletes plain files of a folder by their names. What is no plain file
// stays, and what is not there is no error.
func deleteFiles(dir string, names []string) error {
	if dir == "" || len(names) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err // it names the folder
	}
	var errs []error
	for _, name := range names {
		is, err := root.Lstat(name)
		if err == nil && is.Mode().IsRegular() {
			err = root.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, root.Close())...)
}

// referencedFiles are the files that an event names, wherever signal-cli puts them
// (JsonDataMessage, JsonSyncDataMessage, JsonStoryMessage).
func referencedFiles(raw []byte) (files []string) {
	type file struct {
		ID string `json:"id"`
	}
	type data struct {
		Attachments []file `json:"attachments"`
		Quote       struct {
			Attachments []struct {
				Thumbnail file `json:"thumbnail"`
			} `json:"attachments"`
		} `json:"quote"`
		Previews []struct {
			Image file `json:"image"`
		} `json:"previews"`
		Contacts []struct {
			Avatar struct {
				Attachment file `json:"attachment"`
			} `json:"avatar"`
		} `json:"contacts"`
	}
	type edit struct {
		Data data `json:"dataMessage"`
	}
	var t struct {
		Envelope struct {
			Data data `json:"dataMessage"`
			Edit edit `json:"editMessage"`
			Sync struct {
				Sent struct {
					data
					Edit edit `json:"editMessage"`
				} `json:"sentMessage"`
			} `json:"syncMessage"`
			Story struct {
				File file `json:"fileAttachment"`
			} `json:"storyMessage"`
		} `json:"envelope"`
	}
	_ = json.Unmarshal(raw, &t) // what cannot be read names nothing
	v := t.Envelope
	add := func(f file) {
		if isPlainName(f.ID) && !slices.Contains(files, f.ID) {
			files = append(files, f.ID)
		}
	}
	add(v.Story.File)
	for _, d := range []data{v.Data, v.Edit.Data, v.Sync.Sent.data, v.Sync.Sent.Edit.Data} {
		for _, a := range d.Attachments {
			add(a)
		}
		for _, a := range d.Quote.Attachments {
			add(a.Thumbnail)
		}
		for _, p := range d.Previews {
			add(p.Image)
		}
		for _, c := range d.Contacts {
			add(c.Avatar.Attachment)
		}
	}
	return files
}

// isUsed reports whether anything will be done with what an event says.
func (r *receiver) isUsed(ctx context.Context, e event) bool {
	said := e.message.Kind == channels.Said || e.message.Kind == channels.Edited
	return e.skipReason == "" && said && r.o.IsUsed(ctx, e.message)
}
