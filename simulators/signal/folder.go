package signal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// folder is a daemon's config directory: data/accounts.json, the cache of
// envelopes that are acknowledged and not yet handled, and attachments.
type folder struct {
	path string
	lock *os.File
}

// lockPause is between two looks at a lock that another daemon holds.
const lockPause = 20 * time.Millisecond

// openFolder makes the folder and waits for its lock until ctx ends; held is called
// once if there is something to wait for.
func openFolder(ctx context.Context, path, account string, held func()) (*folder, error) {
	f := &folder{path: path}
	for _, sub := range []string{"data", "attachments", "msg-cache"} {
		if err := os.MkdirAll(filepath.Join(path, sub), 0o700); err != nil {
			return nil, fmt.Errorf("make the config folder: %w", err)
		}
	}
	name := filepath.Join(path, "data", cmp.Or(strings.TrimPrefix(account, "+"), "all")+".lock")
	lock, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the config file: %w", err)
	}
	for told := false; ; told = true {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock the config file: %w", err), lock.Close())
		}
		if !told {
			held()
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), lock.Close())
		case <-time.After(lockPause):
		}
	}
	f.lock = lock
	return f, nil
}

func (f *folder) close() error {
	if err := f.lock.Close(); err != nil {
		return fmt.Errorf("unlock the config file: %w", err)
	}
	return nil
}

// accounts writes the list of accounts as signal-cli keeps it.
func (f *folder) accounts(as []Account) error {
	type row struct {
		Path        string `json:"path"`
		Environment string `json:"environment"`
		Number      string `json:"number"`
		UUID        string `json:"uuid"`
	}
	rows := make([]row, 0, len(as))
	for i, a := range as {
		rows = append(rows, row{Path: strconv.Itoa(100000 + i), Environment: "LIVE", Number: a.Number, UUID: a.ACI})
	}
	raw, err := json.MarshalIndent(map[string]any{"accounts": rows, "version": 2}, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(f.path, "data", "accounts.json"), raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the list of accounts: %w", err)
	}
	return nil
}

func (f *folder) attachment(id string) string {
	return filepath.Join(f.path, "attachments", filepath.Base(id))
}

// cachedEnvelope is an envelope in the cache.
type cachedEnvelope struct {
	handOut
	Account string `json:"account"`
	path    string
}

// cache writes an envelope to disk, before it is acknowledged.
func (f *folder) cache(account string, h handOut) (*cachedEnvelope, error) {
	c := &cachedEnvelope{handOut: h, Account: account}
	if f == nil {
		return c, nil
	}
	c.path = filepath.Join(f.path, "msg-cache", fmt.Sprintf("%020d", h.ID))
	return c, c.write()
}

func (c *cachedEnvelope) write() error {
	if c.path == "" {
		return nil
	}
	raw, err := json.Marshal(c)
	if err == nil {
		// Renaming keeps a kill from leaving half an envelope.
		err = os.WriteFile(c.path+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(c.path+".new", c.path)
	}
	if err != nil {
		return fmt.Errorf("write the message cache: %w", err)
	}
	return nil
}

func (c *cachedEnvelope) remove() error {
	if c.path == "" {
		return nil
	}
	if err := os.Remove(c.path); err != nil {
		return fmt.Errorf("clean the message cache: %w", err)
	}
	return nil
}

// leftovers are an account's cached envelopes, oldest first.
func (f *folder) leftovers(account string) ([]*cachedEnvelope, error) {
	if f == nil {
		return nil, nil
	}
	names, err := os.ReadDir(filepath.Join(f.path, "msg-cache"))
	if err != nil {
		return nil, fmt.Errorf("read the message cache: %w", err)
	}
	var out []*cachedEnvelope
	for _, n := range names {
		path := filepath.Join(f.path, "msg-cache", n.Name())
		if strings.HasSuffix(path, ".new") {
			continue
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the message cache: %w", err)
		}
		c := &cachedEnvelope{path: path}
		if err := json.Unmarshal(raw, c); err != nil {
			return nil, fmt.Errorf("read the message cache: %s: %w", n.Name(), err)
		}
		if c.Account == account {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b *cachedEnvelope) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}
