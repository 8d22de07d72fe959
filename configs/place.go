package configs

import (
	"path/filepath"
	"slices"
	"strings"

	"parley/gateway/settings"
	"parley/problems"
)

// Paths is where the gateway of a configuration keeps its state and can be
// asked.
type Paths struct {
	StateDir string // absolute
	Socket   string // absolute, or listeners.Off
	Shared   string // the part of the configuration by which what is said is kept elsewhere; empty: in StateDir
}

// LoadPaths reads of the configuration in file only where its gateway is, for
// programs that ask a running one: what they do not need may be wrong, such as
// a token whose variable is set for the gateway alone. Arguments and errors are
// those of Load.
func LoadPaths(file string, lookup func(string) (string, bool)) (Paths, error) {
	cfg, d, err := loadPart(file, lookup, "state_dir", "admin")
	if err != nil {
		return Paths{}, err
	}
	if cfg.StateDir == "" && len(d.mistakes) == 0 {
		d.addMistake(position{}, "state_dir", "required: the folder that the gateway keeps its state in")
	}
	if len(d.mistakes) > 0 {
		return Paths{}, d.report(file)
	}
	p := Paths{StateDir: cfg.StateDir, Socket: cfg.Admin.Socket}
	switch {
	case cfg.Store.Redis.Used():
		p.Shared = "store.redis"
	case cfg.Broker.URL != "":
		p.Shared = "broker.url"
	}
	return p, nil
}

// LoadOpsListen reads of the configuration in file only ops.listen: host:port, or
// listeners.Off. As with LoadPaths, everything else may be wrong.
func LoadOpsListen(file string, lookup func(string) (string, bool)) (string, error) {
	cfg, d, err := loadPart(file, lookup, "ops")
	if err != nil {
		return "", err
	}
	var found problems.List
	found.Check("ops", cfg.Ops.Validate())
	for _, p := range found {
		d.addProblem(p)
	}
	if len(d.mistakes) > 0 {
		return "", d.report(file)
	}
	return cfg.Ops.Listen, nil
}

// loadPart reads the configuration in file for the sake of some of its keys: the decoder has
// the mistakes that concern them, or the whole file.
func loadPart(file string, lookup func(string) (string, bool), keys ...string) (settings.Config, *decoder, error) {
	var cfg settings.Config
	data, mode, err := loadFile(file)
	if err != nil {
		return cfg, nil, err
	}
	d := newDecoder(filepath.Dir(file), mode, lookup)
	if root := d.parseDocument(data); root != nil {
		d.decodeValue(valueOf(&cfg), root, "")
	}
	d.mistakes = slices.DeleteFunc(d.mistakes, func(m Mistake) bool {
		key, _, _ := strings.Cut(m.Path, ".")
		return key != "" && !slices.Contains(keys, key) && strings.Contains(m.Path, ".")
	})
	d.makeAbsolute(&cfg)
	return cfg.Defaults(), d, nil
}
