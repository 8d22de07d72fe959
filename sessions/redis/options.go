package redis

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"parley/problems"

	goredis "github.com/redis/go-redis/v9"
)

const defaultPrefix = "parley:"

// Options sets which database it is.
type Options struct {
	// URL of the server: redis://user@host:6379/0, or rediss:// with TLS. One that
	// is watched by Sentinels is redis://sentinel:26379/0?master_name=parley, with
	// more Sentinels as &addr=host:26379. Other parameters are those of go-redis.
	URL string
	// PasswordFile holds the password alone; white space around it does not count.
	// It goes before one in the URL. Empty: the URL's, if any.
	PasswordFile string
	// CAFile is what the certificate of a server at rediss:// must descend from, in
	// PEM. Empty: what the system trusts.
	CAFile string
	// Prefix of all keys; empty: "parley:". Two gateways in one database need two.
	Prefix string
	// Facts is where what must not be forgotten is written down before the
	// database has it, so that it survives a failover. nil: nowhere, and a failover
	// may lose the last writes.
	Facts Facts
	// Log hears of failovers and of what is done about them; nil: nobody.
	Log *slog.Logger
	// Now returns the clock for what no caller gives a time for; nil: time.Now.
	Now func() time.Time
}

// Validate reports what cannot be right, without looking at the server or the file.
// No error names a password.
func (o Options) Validate() error {
	_, err := o.client()
	if u, _ := url.Parse(o.URL); err == nil && o.CAFile != "" && u.Scheme != "rediss" {
		err = problems.At("ca_file", "it needs a url of rediss://")
	}
	if err == nil && strings.ContainsAny(o.Prefix, " \t\r\n*?[]\\") {
		err = problems.At("prefix", "it may not hold spaces or any of *?[]\\")
	}
	return err
}

// client returns how the server is reached, without the password of the file.
func (o Options) client() (*goredis.FailoverOptions, error) {
	if o.URL == "" {
		return nil, problems.At("url", "%w, as redis://host:6379/0", problems.ErrRequired)
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		return nil, problems.At("url", "it is no URL; write redis://host:6379/0") // the error of Parse repeats it with its password
	}
	if u.Query().Get("master_name") == "" {
		p, err := goredis.ParseURL(o.URL)
		if err != nil {
			return nil, problems.At("url", "%w", withoutSecrets(err, u))
		}
		if p.Network != "tcp" && p.Network != "unix" {
			return nil, problems.At("url", "a network %q is not supported", p.Network)
		}
		return nil, nil // no Sentinels
	}
	f, err := goredis.ParseFailoverURL(o.URL)
	if err != nil {
		return nil, problems.At("url", "%w", withoutSecrets(err, u))
	}
	return f, nil
}

// withoutSecrets is err without the password of u.
func withoutSecrets(err error, u *url.URL) error {
	p, has := u.User.Password()
	if has && p != "" && (strings.Contains(err.Error(), p) || strings.Contains(err.Error(), url.QueryEscape(p))) {
		return errors.New("not a Redis URL; write redis://host:6379/0")
	}
	return err
}

// dial makes a client that asks greet of each new connection; it does not
// connect.
func (o Options) dial(greet func(ctx context.Context, cn *goredis.Conn) error) (*goredis.Client, error) {
	password, err := o.password()
	if err != nil {
		return nil, err
	}
	roots, err := o.roots()
	if err != nil {
		return nil, err
	}
	f, err := o.client()
	if err != nil {
		return nil, err
	}
	if f != nil {
		trustRoots(f.TLSConfig, roots)
		f.OnConnect, f.ContextTimeoutEnabled, f.Protocol, f.DisableIdentity = greet, true, 2, true
		if password != "" {
			f.Password = password
		}
		return goredis.NewFailoverClient(f), nil
	}
	p, err := goredis.ParseURL(o.URL)
	if err != nil {
		return nil, errors.New("url: not a Redis URL; write redis://host:6379/0")
	}
	trustRoots(p.TLSConfig, roots)
	p.OnConnect, p.ContextTimeoutEnabled, p.Protocol, p.DisableIdentity = greet, true, 2, true
	if password != "" {
		p.Password = password
	}
	return goredis.NewClient(p), nil
}

// roots are the certificates of CAFile, or nil.
func (o Options) roots() (*x509.CertPool, error) {
	if o.CAFile == "" {
		return nil, nil // what the system trusts
	}
	b, err := os.ReadFile(o.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ca_file: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("ca_file: %s holds no certificate in PEM", o.CAFile)
	}
	return pool, nil
}

// trustRoots lets a connection with TLS accept roots, unless they are nil.
func trustRoots(c *tls.Config, roots *x509.CertPool) {
	if c != nil && roots != nil {
		c.RootCAs = roots
	}
}

func (o Options) password() (string, error) {
	if o.PasswordFile == "" {
		return "", nil
	}
	b, err := os.ReadFile(o.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	p := strings.TrimSpace(string(b))
	if p == "" {
		return "", fmt.Errorf("password_file: %s is empty", o.PasswordFile)
	}
	return p, nil
}
