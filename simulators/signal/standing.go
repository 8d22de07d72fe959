package signal

import (
	"fmt"

	"parley/simulators/internal/stage"
)

// Meet makes somebody known to the service, so that accounts can write to them
// first. Who is known already keeps what was said.
func (s *people) Meet(p Person) error { return s.changePerson("meet", p, func(*person) {}) }

// Reinstall gives p a new key, as a new telephone does: until an account trusts it,
// what p writes stays in the daemon's cache, and what is sent to p fails.
func (s *people) Reinstall(p Person) error {
	return s.changePerson("reinstall", p, func(who *person) { who.key++ })
}

// SetRegistered lets p leave Signal, or come back.
func (s *people) SetRegistered(p Person, registered bool) error {
	return s.changePerson("set registered", p, func(who *person) { who.gone = !registered })
}

func (s *people) changePerson(what string, p Person, do func(*person)) error {
	if err := checkIDs(p.ACI, p.Number); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.meet(p))
	return nil
}

// Limit begins a rate limit of the account and gives the token of its challenge.
func (s *queues) Limit(account string, retryAfter int) (token string, err error) {
	defer stage.Act(&s.mu, &err, "limit")()
	a := s.registered(account)
	s.limit(a, retryAfter)
	return a.limited.token, nil
}

// SetVersion reports what the daemons are that are started from now on, as if another
// signal-cli had been installed.
func (s *daemons) SetVersion(version string) error {
	if !versionShape.MatchString(version) {
		return fmt.Errorf("set the version: %w: %q", errVersion, version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Version = version
	return nil
}

func (s *daemons) version() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opts.Version
}
