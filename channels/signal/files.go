package signal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// readJSON reads a small file.
func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err // it names the file
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeJSON replaces a small file in one step: whoever is killed meanwhile, and
// whenever the power goes, it has the old content or the new.
func writeJSON(path string, value any) (err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	next := path + ".next"
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err // it names the file
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return err // it names the files
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes names in a folder survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err // it names the folder
	}
	return errors.Join(d.Sync(), d.Close())
}
