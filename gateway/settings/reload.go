package settings

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ReloadConfig is when a gateway that runs reads its configuration again by itself.
type ReloadConfig struct {
	// Watch takes up a change of the configuration, or of a file that it names, as soon as
	// two looks in a row have found it. Default: only when it is told to.
	Watch bool `yaml:"watch"`
}

// Change is what a gateway that runs makes of another configuration.
type Change struct {
	// Config is the other configuration, with what needs a restart as it was. A bot account
	// that is gone is still there, and one that is new is not.
	Config Config
	// Changed are the paths of values that Config has otherwise than the running one, and
	// NeedRestart those of values that it has not.
	Changed, NeedRestart []string
}

// Into returns what becomes of a gateway that runs with c when it is given next. Both have
// their defaults.
func (c Config) Into(next Config) Change {
	ch := Change{Config: next}
	ch.Config.Channels.Further = c.Channels.Further
	m := merge{change: &ch}
	m.value("", reflect.ValueOf(c), reflect.ValueOf(next), reflect.ValueOf(&ch.Config).Elem())
	slices.Sort(ch.Changed)
	slices.Sort(ch.NeedRestart)
	return ch
}

// None reports whether nothing changed.
func (ch Change) None() bool { return len(ch.Changed)+len(ch.NeedRestart) == 0 }

// Below reports whether something changed at a path or below it.
func (ch Change) Below(path string) bool {
	return slices.ContainsFunc(ch.Changed, func(p string) bool { return p == path || strings.HasPrefix(p, path+".") })
}

// Whether values are exchanged while a gateway runs, by path; * is any name. The longest
// that begins a path counts. What is not exchanged belongs to something that is opened once,
// at the start: a connection, a listener, a store, a lease.
var reloads = map[string]bool{
	"state_dir": false, "name": false, "roles": false,
	"log.level": true, "log.format": false,
	"providers": true, "agents": true, "bindings": true, "skills": true, "files": true, "bash": true, "bash.enabled": false, "tools": true, "sandbox": false, "web": true, "mcp": false, "mcp.serve": true, "attachments": true, "attachments.max_bytes": false,
	"transcription": true, "workspaces": true, "workspaces.keep": false, "retention": true, "retry": true, "circuit": true, "context": true, "budgets": true,
	"titles": true, "goals": true, "approvals": true, "cron": true, "session": true,
	"limits": true, "prices": true, "reload": true, "subagents": true, "subagents.max_concurrent": false,
	"worker": false, "worker.turn_timeout": true, "worker.attempts": true, "worker.context_prep_timeout": true,
	"broker": false, "store": false, "ops": false, "tracing": false, "admin": false, "page": false, "webhooks": false,

	"channels": false, "channels.*.*.access": true, "channels.*.*.agent": true, "channels.*.*.budget_per_day": true,
	"channels.*.*.while_busy": true, "channels.*.*.debounce": true, "channels.*.*.debounce_max": true,
	"channels.*.*.group_context": true, "channels.*.*.activity": true,
}

// Reloads reports whether a gateway that runs takes another value at a path; known is false
// where nobody has said.
func Reloads(path string) (yes, known bool) {
	parts := strings.Split(path, ".")
	best := 0
	for rule, takes := range reloads {
		of := strings.Split(rule, ".")
		if len(of) <= best || len(of) > len(parts) {
			continue
		}
		fits := true
		for i, p := range of {
			fits = fits && (p == "*" || p == parts[i])
		}
		if fits {
			best, yes, known = len(of), takes, true
		}
	}
	return yes, known
}

// merge compares two configurations.
type merge struct{ change *Change }

// value compares what stands at path, and puts into out what is to hold.
func (m merge) value(path string, was, next, out reflect.Value) {
	switch {
	case was.Type() == reflect.TypeFor[Secret]() && revealed(was) == revealed(next):
	case was.Type() != reflect.TypeFor[Secret]() && was.Kind() == reflect.Struct && hasKeys(was.Type()):
		for _, f := range reflect.VisibleFields(was.Type()) {
			if key := f.Tag.Get("yaml"); key != "" {
				m.value(below(path, key), was.FieldByIndex(f.Index), next.FieldByIndex(f.Index), out.FieldByIndex(f.Index))
			}
		}
	case was.Kind() == reflect.Map:
		m.entries(path, was, next, out)
	case was.Type() != reflect.TypeFor[Secret]() && reflect.DeepEqual(was.Interface(), next.Interface()):
	case m.takes(path):
		m.change.Changed = append(m.change.Changed, path)
	default:
		m.change.NeedRestart = append(m.change.NeedRestart, path)
		out.Set(was)
	}
}

// hasKeys reports whether a struct is written as keys, each of which is a value by itself.
func hasKeys(t reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool {
		key := f.Tag.Get("yaml")
		return key != "" && key[0] != ','
	})
}

func revealed(v reflect.Value) string {
	s, _ := v.Interface().(Secret)
	return s.Reveal()
}

// entries compares what has names.
func (m merge) entries(path string, was, next, out reflect.Value) {
	merged := reflect.MakeMap(was.Type())
	names := map[string]bool{}
	for _, all := range []reflect.Value{was, next} {
		for _, k := range all.MapKeys() {
			names[k.String()] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		k, at := reflect.ValueOf(name), below(path, name)
		before, after := was.MapIndex(k), next.MapIndex(k)
		e := reflect.New(was.Type().Elem()).Elem()
		switch {
		case before.IsValid() && after.IsValid():
			e.Set(after)
			m.value(at, before, after, e)
		case m.takes(at):
			m.change.Changed = append(m.change.Changed, at)
			if !after.IsValid() {
				continue
			}
			e.Set(after)
		default:
			m.change.NeedRestart = append(m.change.NeedRestart, at)
			if !before.IsValid() {
				continue
			}
			e.Set(before)
		}
		merged.SetMapIndex(k, e)
	}
	if len(names) > 0 {
		out.Set(merged)
	}
}

// takes reports whether what stands at path is exchanged; what nobody has said needs a
// restart.
func (merge) takes(path string) bool {
	yes, _ := Reloads(path)
	return yes
}

func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
