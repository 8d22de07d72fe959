package prices

import (
	"bytes"
	"context"
	"time"
)

// Interval is how often Watch looks at the file.
const Interval = 5 * time.Second

// Watch reads the file again when its content has changed, whenever tick ticks,
// until ctx ends. It compares contents and follows links, so a file that is
// exchanged by a rename or through a link is seen too. A change is taken up when
// the next look finds it the same: a list in YAML of which only the first rows
// are written has no mistake, but is not what the operator meant. New prices hold for
// turns that begin later. A file that cannot be read or has mistakes changes
// nothing: it is logged, once for each content or reason, and counted. Only one
// Watch may run.
func (t *Table) Watch(ctx context.Context, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			t.reread()
		}
	}
}

// reread looks at the file, and takes it when it is another.
func (t *Table) reread() {
	if read, err := t.readIfChanged(); err != nil {
		t.o.Log.Error("prices not reloaded, previous ones stay in force", "file", t.file(), "error", err)
		t.observeReload(false)
	} else if read {
		t.o.Log.Info("prices reloaded", "file", t.file(), "newest", t.View().Newest().Format(time.DateOnly))
		t.observeReload(true)
	}
}

func (t *Table) file() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sources.file
}

// readIfChanged reports whether another content of the file was taken, or why not, once for
// each reason.
func (t *Table) readIfChanged() (read bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &t.sources
	if s.file == "" {
		return false, nil
	}
	data, err := readFile(s.file)
	if err != nil {
		t.changed = nil
		if err.Error() == t.unread {
			return false, nil
		}
		t.unread = err.Error()
		return false, err
	}
	if t.unread == "" && bytes.Equal(data, s.content) {
		t.changed = nil
		return false, nil
	}
	if t.changed == nil || !bytes.Equal(data, t.changed) {
		t.changed = data // it may be half written
		return false, nil
	}
	s.content, t.unread, t.changed = data, "", nil
	over, err := t.o.Parse(s.file, data)
	if err != nil {
		return false, err
	}
	v := *s.view
	v.catalogue = t.base.With(over)
	s.view = &v
	t.now.Store(&v)
	return true, nil
}

func (t *Table) observeReload(ok bool) {
	if t.o.Observer == nil {
		return
	}
	t.o.Observer.CountReload(ok, t.o.Now())
	t.o.Observer.SetPricesDate(t.View().Newest())
}
