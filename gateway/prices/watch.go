package prices

import (
	"bytes"
	"context"
	"time"
)

// Interval is how often Watch looks at the file.
const Interval = 5 * time.Second

// Reload makes Watch read the file now, also when it seems unchanged.
func (t *Table) Reload() {
	select {
	case t.look <- struct{}{}:
	default: // it will look anyway
	}
}

// Watch reads the file again when its content has changed, whenever tick ticks,
// until ctx ends. It compares contents and follows links, so a file that is
// exchanged by a rename or through a link is seen too. A change is taken up when
// the next look finds it the same: a list in YAML of which only the first rows
// are written has no mistake, but is not what the operator meant. Reload does not
// wait. New prices hold from the
// next model call on. A file that cannot be read or has mistakes changes
// nothing: it is logged, once for each content or reason, and counted. Only one
// Watch may run.
func (t *Table) Watch(ctx context.Context, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			t.reread(false)
		case <-t.look:
			t.reread(true)
		}
	}
}

// reread looks at the file, and takes it when it is another or asked says so.
func (t *Table) reread(asked bool) {
	file := t.o.Config.File
	if file == "" {
		return
	}
	data, err := readFile(file)
	if err != nil {
		t.changed = nil
		if asked || err.Error() != t.unread {
			t.unread = err.Error()
			t.reportKept(err)
		}
		return
	}
	if !asked && t.unread == "" && bytes.Equal(data, t.content) {
		t.changed = nil
		return
	}
	if !asked && (t.changed == nil || !bytes.Equal(data, t.changed)) {
		t.changed = data // it may be half written
		return
	}
	t.content, t.unread, t.changed = data, "", nil
	over, err := t.o.Parse(file, data)
	if err != nil {
		t.reportKept(err)
		return
	}
	v := *t.View()
	v.catalogue = t.base.With(over)
	t.now.Store(&v)
	t.o.Log.Info("prices reloaded", "file", file, "newest", v.Newest().Format(time.DateOnly))
	t.observeReload(true)
}

// reportKept announces that the prices stay as they were.
func (t *Table) reportKept(err error) {
	t.o.Log.Error("prices not reloaded, previous ones stay in force", "file", t.o.Config.File, "error", err)
	t.observeReload(false)
}

func (t *Table) observeReload(ok bool) {
	if t.o.Observer == nil {
		return
	}
	t.o.Observer.CountReload(ok, t.o.Now())
	t.o.Observer.SetPricesDate(t.View().Newest())
}
