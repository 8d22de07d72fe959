package webhooks

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is a pair of files, read again when one of them has changed.
// While what stands there cannot be used, as between the two writes of a
// renewal, the one before stays in force.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	stamps [2]time.Time // when the files were changed last, as of the last try
	loaded *tls.Certificate
}

func loadCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	c.mu.Lock()
	defer c.mu.Unlock()
	stamps, err := c.modTimes()
	if err != nil {
		return nil, err
	}
	return c, c.load(stamps)
}

// get is for tls.Config.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamps, err := c.modTimes()
	if err == nil && stamps == c.stamps {
		return c.loaded, nil
	}
	if err == nil {
		err = c.load(stamps)
	}
	if err != nil {
		c.log.Warn("webhook certificate not reloaded, previous one stays in use", "error", err)
	} else {
		c.log.Info("webhook certificate reloaded")
	}
	return c.loaded, nil
}

// modTimes gives the times of the files. The caller holds mu.
func (c *certificate) modTimes() (stamps [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return stamps, certificateError(name, err)
		}
		stamps[i] = info.ModTime()
	}
	return stamps, nil
}

// load reads the files. The caller holds mu.
func (c *certificate) load(stamps [2]time.Time) error {
	c.stamps = stamps
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return certificateError(c.certFile+" and "+c.keyFile, err)
	}
	c.loaded = &pair
	return nil
}

// certificateError names the files once.
func certificateError(names string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		names, err = p.Path, p.Err
	}
	return fmt.Errorf("read %s: %w", names, err)
}
