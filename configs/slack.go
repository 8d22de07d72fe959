package configs

import (
	"path/filepath"
	"slices"
	"strings"

	"parley/gateway"
)

// LoadSlack reads of the configuration in file only its Slack accounts, without their
// secrets, for the manifest of an app that does not exist yet and so has no tokens.
// Arguments and errors are those of Load.
func LoadSlack(file string, lookup func(string) (string, bool)) (gateway.Config, error) {
	data, mode, err := load(file)
	if err != nil {
		return gateway.Config{}, err
	}
	d := newDecoder(filepath.Dir(file), mode, lookup)
	var cfg gateway.Config
	if root := d.document(data); root != nil {
		d.value(valueOf(&cfg), root, "")
	}
	d.mistakes = slices.DeleteFunc(d.mistakes, func(m Mistake) bool {
		if m.Path == "" { // of the file itself
			return false
		}
		key := m.Path[strings.LastIndexByte(m.Path, '.')+1:]
		secret := slices.Contains([]string{"bot_token", "app_token", "signing_secret"}, strings.TrimSuffix(key, "_file"))
		return secret || !strings.HasPrefix(m.Path, "channels.slack.")
	})
	if len(d.mistakes) > 0 {
		return gateway.Config{}, d.report(file)
	}
	return cfg, nil
}
