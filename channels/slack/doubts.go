package slack

import (
	"sync"

	"parley/channels"
)

// maxDoubts bounds what is remembered; of what is forgotten less can be told.
const maxDoubts = 1024

// ambiguousSends are the sends of this process whose answer was lost, by Reply.ID: the id of
// the file that was to be shared, or "" for a text. A message that shares a file
// carries no id of ours.
type ambiguousSends struct {
	mu    sync.Mutex
	files map[string]string
	order []string // of their coming
}

// note remembers a send that ended in doubt, and no other.
func (d *ambiguousSends) note(id, file string, err error) {
	if id == "" || kindOf(err) != channels.Ambiguous {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil {
		d.files = map[string]string{}
	}
	if _, ok := d.files[id]; !ok {
		d.order = append(d.order, id)
	}
	d.files[id] = file
	if len(d.order) > maxDoubts {
		delete(d.files, d.order[0])
		d.order = d.order[1:]
	}
}

// lookUp returns the file of a send in doubt; ok is false when this process knows of none.
func (d *ambiguousSends) lookUp(id string) (file string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	file, ok = d.files[id]
	return file, ok
}
