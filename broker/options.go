package broker

import (
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"parley/problems"
)

// partitions is fixed: a subject names the first hex digit of its token, so
// that a cluster may one day spread them without renaming anything.
const partitions = 16

// Defaults of Options.
const (
	DefaultMaxBody  = 1 << 20
	DefaultMaxBytes = 4 << 30
	DefaultTimeout  = 10 * time.Second
	DefaultProbe    = 2500 * time.Millisecond
	DefaultHandlers = 64
)

// Options sets where the log is and how much it may hold.
type Options struct {
	// URL of a NATS server or, separated by commas, of several of one
	// cluster. Empty: a server in this process, whose files are in Dir.
	URL string
	// Dir holds the files of the server in this process, of nothing else and
	// of no other process. Required without URL, refused with one.
	Dir string
	// Listen makes the server in this process reachable at host:port for
	// tools; empty, it has no listener at all. An address that is not
	// loopback needs a TokenFile.
	Listen string
	// Name is what operators see in the server's list of connections.
	// Default "parley".
	Name string

	// Relaxed, when not zero, lets the server in this process confirm before
	// the disk did, and sync at this interval: a power cut may lose that much,
	// a crash of the process nothing. Zero is strict: each message is synced
	// before it is confirmed. A server at a URL has its own setting.
	Relaxed time.Duration

	// MaxBytes bounds the log; a full log refuses (ErrFull). Default 4 GiB.
	MaxBytes int64
	// MaxBody bounds one envelope's body. Default 1 MiB, or what the server
	// at the URL takes where that is less.
	MaxBody int
	// Replicas of each stream in a cluster, 1 to 5. Default 1.
	Replicas int
	// Handlers bounds how many handlers one Deliveries runs at a time.
	// Default 64.
	Handlers int

	// CredentialsFile is a NATS .creds file, TokenFile a file with a token;
	// both are read at each connection, so that they may be changed. CAFile is
	// what a server's certificate must descend from, in PEM.
	CredentialsFile string
	TokenFile       string
	CAFile          string

	// Timeout bounds each operation whose context has no earlier end.
	// Default 10 s. To open the log may take a minute all the same: the server in this
	// process reads its files first, and those at a URL may be choosing their leaders.
	Timeout time.Duration
	// Probe is the watchdog's interval. Default 2.5 s: with the 2 s that a
	// probe may take, a frozen log is noticed within 5.
	Probe time.Duration

	// Log gets what operators should know. Default: nothing is logged.
	Log *slog.Logger
	// Now returns the clock of marks and ages. Default time.Now.
	Now func() time.Time

	renewal time.Duration // between two renewals of a lease; 0: a fifth of its ttl
}

// Validate reports every mistake at once, as a problems.List with the fields in lower
// case as paths, and none with a value: it may hold a password.
func (o Options) Validate() error {
	var ps problems.List
	switch {
	case o.URL == "" && o.Dir == "":
		ps.Add("dir", "%w when there is no url", problems.ErrRequired)
	case o.URL != "" && o.Dir != "":
		ps.Add("dir", "not together with url: belongs to the server in this process")
	case o.URL != "" && o.Listen != "":
		ps.Add("listen", "not together with url: belongs to the server in this process")
	case o.URL != "" && o.Relaxed != 0:
		ps.Add("relaxed", "a server at a url has its own setting")
	case o.URL == "" && o.Replicas > 1:
		ps.Add("replicas", "one server in this process keeps one copy")
	}
	for u := range strings.SplitSeq(o.URL, ",") {
		if o.URL != "" && !isServerURL(strings.TrimSpace(u)) {
			ps.Add("url", "want nats://host:port or tls://host:port")
		}
	}
	if o.Listen != "" {
		host, port, err := net.SplitHostPort(o.Listen)
		if _, bits := strconv.ParseUint(port, 10, 16); err != nil || bits != nil {
			ps.Add("listen", "want host:port")
		} else if ip := net.ParseIP(host); (ip == nil || !ip.IsLoopback()) && o.TokenFile == "" {
			ps.Add("listen", "an address that is not loopback needs a token_file")
		}
	}
	if o.CredentialsFile != "" && o.TokenFile != "" {
		ps.Add("token_file", "not together with credentials_file: only one of the two is used")
	}
	if o.URL == "" && o.CredentialsFile != "" {
		ps.Add("credentials_file", "needs a url")
	}
	if o.URL == "" && o.CAFile != "" {
		ps.Add("ca_file", "needs a url")
	}
	if o.Relaxed != 0 && (o.Relaxed < 100*time.Millisecond || o.Relaxed > 10*time.Second) {
		ps.Add("relaxed", "want 100ms to 10s, or nothing for strict")
	}
	if o.MaxBytes < 0 || o.MaxBytes > 0 && o.MaxBytes < 64<<10 {
		ps.Add("max_bytes", "want at least 64 KiB")
	}
	if o.MaxBody < 0 || o.MaxBody > 32<<20 {
		ps.Add("max_body", "want 1 byte to 32 MiB")
	}
	if o.Replicas < 0 || o.Replicas > 5 {
		ps.Add("replicas", "want 1 to 5")
	}
	if o.Handlers < 0 || o.Timeout < 0 || o.Probe < 0 {
		ps.Add("", "handlers, timeout, probe: must not be negative")
	}
	return ps.Err()
}

func isServerURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return false
	}
	return u.Scheme == "nats" || u.Scheme == "tls"
}

// withDefaults returns o with its defaults.
func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "parley"
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Replicas == 0 {
		o.Replicas = 1
	}
	if o.Handlers == 0 {
		o.Handlers = DefaultHandlers
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Probe == 0 {
		o.Probe = DefaultProbe
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// openTimeout returns how long the log may take to open.
func (o Options) openTimeout() time.Duration { return max(o.Timeout, time.Minute) }
