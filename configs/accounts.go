package configs

import (
	"path/filepath"
	"slices"
	"strings"

	"parley/gateway/settings"
)

// LoadAccounts reads of the configuration in file only the accounts on one network,
// without their secrets, for what is made before there are any: an app that does not
// exist yet has no tokens. Arguments and errors are those of Load.
func LoadAccounts(file, network string, lookup func(string) (string, bool)) (settings.Config, error) {
	data, mode, err := loadFile(file)
	if err != nil {
		return settings.Config{}, err
	}
	d := newDecoder(filepath.Dir(file), mode, lookup)
	var cfg settings.Config
	if root := d.parseDocument(data); root != nil {
		d.decodeValue(valueOf(&cfg), root, "")
	}
	d.mistakes = slices.DeleteFunc(d.mistakes, func(m Mistake) bool {
		if m.Path == "" { // of the file itself
			return false
		}
		return d.secretAt[strings.TrimSuffix(m.Path, "_file")] || !strings.HasPrefix(m.Path, "channels."+network+".")
	})
	if len(d.mistakes) > 0 {
		return settings.Config{}, d.report(file)
	}
	return cfg, nil
}
