package settings

import (
	"slices"
	"strings"

	"parley/problems"
	"parley/sessions/redis"
	"parley/tools"
)

// Roles of a process.
const (
	RoleGateway = "gateway" // channels: receives, decides who is answered, and sends
	RoleWorker  = "worker"  // runs turns
)

func processRoles() []string { return []string{RoleGateway, RoleWorker} }

// HasRole reports whether this process has a role. It is asked after Defaults.
func (c Config) HasRole(role string) bool { return slices.Contains(c.Roles, role) }

// StoreConfig is where conversations, money and answers are kept. Nothing said:
// an SQLite database in the state folder, which one process uses at a time.
type StoreConfig struct {
	Redis RedisConfig `yaml:"redis"`
}

// RedisConfig is a Redis database that any number of processes share. They need a
// message log at a broker.url in common, too.
type RedisConfig struct {
	// URL is redis://host:6379/0, or rediss:// with TLS; with Sentinels
	// redis://sentinel:26379/0?master_name=parley. It may hold a password.
	URL Secret `yaml:"url"`
	// PasswordFile holds the password alone, and goes before one in URL.
	PasswordFile string `yaml:"password_file"`
	// CAFile is what the certificate of a server at rediss:// must descend from, in
	// PEM. Default: what the system trusts.
	CAFile string `yaml:"ca_file"`
	// Prefix of all keys. Two deployments in one database need two. Default
	// "parley:".
	Prefix string `yaml:"prefix"`
}

// Used reports whether anything is said of Redis.
func (c RedisConfig) Used() bool {
	return !c.URL.IsZero() || c.PasswordFile != "" || c.CAFile != "" || c.Prefix != ""
}

// Options returns how the store is opened.
func (c RedisConfig) Options() redis.Options {
	return redis.Options{URL: c.URL.Reveal(), PasswordFile: c.PasswordFile, CAFile: c.CAFile, Prefix: c.Prefix}
}

// validateRoles holds the roles to what processes must share to have only some
// of them.
func validateRoles(c Config, ps *problems.List) {
	if c.Store.Redis.Used() {
		ps.Check("store.redis", c.Store.Redis.Options().Validate())
	}
	seen := map[string]bool{}
	for _, r := range c.Roles {
		switch {
		case !slices.Contains(processRoles(), r):
			ps.Add("roles", "%q is none of %s%s", r, strings.Join(processRoles(), ", "), tools.Suggest(r, processRoles()))
		case seen[r]:
			ps.Add("roles", "%s is there twice", r)
		}
		seen[r] = true
	}
	if c.HasRole(RoleGateway) && c.HasRole(RoleWorker) || len(c.Roles) == 0 {
		return
	}
	role, other := RoleGateway, RoleWorker
	if c.HasRole(RoleWorker) {
		role, other = other, role
	}
	if c.Broker.URL == "" {
		ps.Add("roles", "a process that is only %s needs a %s that reads the same message log: give all of them the same broker.url", role, other)
	}
	if !c.Store.Redis.Used() {
		ps.Add("roles", "a process that is only %s shares its conversations with a %s, and SQLite is one process's own: give all of them the same store.redis", role, other)
	}
}
