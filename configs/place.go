package configs

import (
	"path/filepath"
	"slices"
	"strings"

	"parley/gateway/settings"
)

// Paths is where the gateway of a configuration keeps its state and can be
// asked.
type Paths struct {
	StateDir string // absolute
	Socket   string // absolute, or listeners.Off
}

// LoadPaths reads of the configuration in file only where its gateway is, for
// programs that ask a running one: what they do not need may be wrong, such as
// a token whose variable is set for the gateway alone. Arguments and errors are
// those of Load.
func LoadPaths(file string, lookup func(string) (string, bool)) (Paths, error) {
	data, mode, err := loadFile(file)
	if err != nil {
		return Paths{}, err
	}
	d := newDecoder(filepath.Dir(file), mode, lookup)
	var cfg settings.Config
	if root := d.parseDocument(data); root != nil {
		d.decodeValue(valueOf(&cfg), root, "")
	}
	d.mistakes = slices.DeleteFunc(d.mistakes, func(m Mistake) bool {
		key, _, _ := strings.Cut(m.Path, ".")
		return key != "" && key != "state_dir" && key != "admin" && strings.Contains(m.Path, ".")
	})
	d.makeAbsolute(&cfg)
	cfg = cfg.Defaults()
	if cfg.StateDir == "" && len(d.mistakes) == 0 {
		d.addMistake(position{}, "state_dir", "required: the folder that the gateway keeps its state in")
	}
	if len(d.mistakes) > 0 {
		return Paths{}, d.report(file)
	}
	return Paths{StateDir: cfg.StateDir, Socket: cfg.Admin.Socket}, nil
}
