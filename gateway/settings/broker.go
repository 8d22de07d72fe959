package settings

import (
	"path/filepath"
	"time"

	"parley/broker"
)

// BrokerConfig is where the message log is.
type BrokerConfig struct {
	// URL of a NATS server or cluster. Default: a server inside this process.
	URL string `yaml:"url"`
	// Listen opens the server inside this process to others, host:port.
	// Default: it has no port at all.
	Listen string `yaml:"listen"`
	// CredentialsFile and TokenFile authenticate at URL; TokenFile also guards
	// Listen. They are read at each connection, so they may be changed.
	CredentialsFile string `yaml:"credentials_file"`
	TokenFile       string `yaml:"token_file"`
	// CAFile is what the certificate of a server at URL must descend from, in PEM.
	// Default: what the system trusts.
	CAFile string `yaml:"ca_file"`
	// Sync is strict (default: what was accepted survives a power cut) or
	// relaxed (it survives the end of the process; a power cut may lose the
	// last second).
	Sync string `yaml:"sync"`
	// MaxBytes limits the log on disk. Default 1 GiB. When it is full nothing
	// new is accepted, and the networks are not told that it was.
	MaxBytes int64 `yaml:"max_bytes"`
	// Replicas is how many servers of the cluster at URL keep each message, 1 to
	// 5; with three, one of them may be lost. Default 1.
	Replicas int `yaml:"replicas"`
	// Lease is how long what only one process may do (receive for a bot, export
	// the cost) is kept from the others when that process dies, in whole seconds
	// from 2 to 60. Default 8 s: longer than the servers of a cluster need to choose
	// a leader, mostly, and short enough that a bot is received for again within ten
	// seconds. Only with URL.
	Lease time.Duration `yaml:"lease"`
}

// BrokerOptions returns how the message log is opened.
func (cfg Config) BrokerOptions() broker.Options {
	c := cfg.Broker
	o := broker.Options{
		URL: c.URL, Listen: c.Listen, MaxBytes: c.MaxBytes, Replicas: c.Replicas, CredentialsFile: c.CredentialsFile, TokenFile: c.TokenFile, CAFile: c.CAFile,
	}
	if c.URL == "" {
		o.Dir = filepath.Join(cfg.StateDir, "log")
	}
	if c.Sync == "relaxed" {
		o.Relaxed = time.Second
	}
	return o
}
