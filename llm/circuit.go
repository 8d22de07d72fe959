package llm

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/costs"
)

// Circuits keep calls away from models that do not work: one circuit for each model of each
// provider, made at its first call. A circuit is closed while the model works. Failures in a
// row open it, and then its model is not called. When the cool-down has passed, one call is
// let through as a probe: its success closes the circuit, its failure opens it again.
//
// The zero value has the defaults and is ready; all methods may be called by many goroutines
// at once. Circuits are of one process. (docs/decisions/0066)
type Circuits struct {
	Failures int           // calls in a row that fail for good until it opens; 0: 5; negative: it never does
	Cooldown time.Duration // how long it is open at least; 0: 30 s
	// NoneBackoff is how long nothing is tried at least after a turn found all its models
	// unavailable; 0: 2 s. (requirements B22)
	NoneBackoff time.Duration

	Now func() time.Time // nil: time.Now
	// Changed, if set, receives each change of a state, in order. It must not block nor
	// call a method of the Circuits.
	Changed func(CircuitStatus)

	mu  sync.Mutex // guards what follows
	all map[circuitKey]*circuit
}

// Defaults of [Circuits].
const (
	DefaultCircuitFailures = 5
	DefaultCircuitCooldown = 30 * time.Second
	DefaultNoneBackoff     = 2 * time.Second
)

// longestCooldown bounds what a provider may ask for: after that one call looks whether it
// still holds.
const longestCooldown = time.Hour

// CircuitState is whether a model is called.
type CircuitState int

// The states of a circuit.
const (
	CircuitClosed  CircuitState = iota // it is called
	CircuitProbing                     // one call is under way that decides
	CircuitOpen                        // it is not called
)

// CircuitStatus is how one circuit stands.
type CircuitStatus struct {
	Provider, Model string
	State           CircuitState
	Failures        int       // in a row
	Since           time.Time // when it opened last; zero: it never did
	Until           time.Time // no call before
	Last            *Error    // the failure that opened it; nil: none
}

// CircuitError is why a model was not called: its circuit is open.
type CircuitError struct{ CircuitStatus }

func (e *CircuitError) Error() string {
	return fmt.Sprintf("%s/%s is not called until %s, because it failed %d times in a row; the last time: %v",
		e.Provider, e.Model, e.Until.UTC().Format(time.RFC3339), e.Failures, e.Last)
}

type circuitKey struct{ provider, model string }

type circuit struct {
	CircuitStatus
	tripped uint64 // counts its openings, so that a call from before one cannot close it
}

// Permit is a call that a circuit let through. Its zero value belongs to no circuit.
type Permit struct {
	circuits *Circuits
	key      circuitKey
	tripped  uint64
	probe    bool
}

// IsProbe reports whether the call is the only one by which the circuit is tried again. It is
// not to be repeated when it fails.
func (p Permit) IsProbe() bool { return p.probe }

// Enter asks for one call of m. A refusal is a [*CircuitError]. The caller must report how
// the call ended to [Permit.Leave], whatever happens. Which call it is does not matter here;
// a replay decides by it.
func (c *Circuits) Enter(m Model, _ costs.CallID) (Permit, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := circuitKey{m.Provider(), m.Name()}
	s := c.circuit(k)
	if refusal := c.refusal(s); refusal != nil {
		return Permit{}, refusal
	}
	p := Permit{circuits: c, key: k, tripped: s.tripped, probe: s.State == CircuitOpen}
	if p.probe {
		c.move(s, CircuitProbing)
	}
	return p, nil
}

// Leave reports how a call ended: with nil for an answer, and otherwise whether it failed for
// good (final) or is tried again. Failures that are not the provider's (see
// [Error.IsProviders]) show that it works; a call that was cancelled shows nothing.
func (p Permit) Leave(err *Error, final bool) {
	if p.circuits == nil {
		return
	}
	c := p.circuits
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.circuit(p.key)
	if s.tripped != p.tripped {
		return // it was called before the circuit opened
	}
	switch {
	case err != nil && (err.Kind == Canceled || err.Kind == Other):
		if p.probe {
			c.move(s, CircuitOpen) // its time has come already: the next call is the probe
		}
	case err == nil || !err.IsProviders():
		s.Failures, s.Last = 0, nil
		c.move(s, CircuitClosed)
	case p.probe || final:
		c.fail(s, err)
	}
}

// fail counts a failure, and opens the circuit when there were enough.
func (c *Circuits) fail(s *circuit, err *Error) {
	s.Failures++
	s.Last = &Error{Kind: err.Kind, Provider: err.Provider, Model: err.Model, Status: err.Status, Message: err.Message, Err: err.Err}
	limit, least := cmp.Or(c.Failures, DefaultCircuitFailures), cmp.Or(c.Cooldown, DefaultCircuitCooldown)
	cooldown := max(least, min(err.RetryAfter, longestCooldown))
	// A provider that asks for a longer wait than the cool-down gets it after one failure.
	if limit < 0 || s.State == CircuitClosed && s.Failures < limit && cooldown == least {
		return
	}
	s.tripped++
	s.Since = c.now()
	s.Until = s.Since.Add(cooldown)
	c.move(s, CircuitOpen)
}

// Unavailable returns the refusal of the last of models if all their circuits refuse a call
// at present; nil: at least one would be called. As for Enter, which call does not matter.
func (c *Circuits) Unavailable(_ costs.CallID, models ...Model) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last *CircuitError
	for _, m := range models {
		if last = c.refusal(c.circuit(circuitKey{m.Provider(), m.Name()})); last == nil {
			return nil
		}
	}
	if last == nil {
		return nil
	}
	return last
}

// Postpone notes that a turn found all these models unavailable: none is tried before
// NoneBackoff has passed.
func (c *Circuits) Postpone(models ...Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	earliest := c.now().Add(cmp.Or(c.NoneBackoff, DefaultNoneBackoff))
	for _, m := range models {
		s := c.circuit(circuitKey{m.Provider(), m.Name()})
		if s.State != CircuitClosed && s.Until.Before(earliest) {
			s.Until = earliest
		}
	}
}

// Change puts other numbers in the place of the fields of that name. They hold from the next
// failure on, for all calls: a circuit is of a model, not of a turn.
func (c *Circuits) Change(failures int, cooldown, noneBackoff time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Failures, c.Cooldown, c.NoneBackoff = failures, cooldown, noneBackoff
}

// Forget makes the circuits of those models new for which drop is true, and returns those
// that were not closed: nobody calls the model any more, or what it failed for was changed.
// Changed is not called.
func (c *Circuits) Forget(drop func(provider, model string) bool) (open []CircuitStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, s := range c.all {
		if !drop(k.provider, k.model) {
			continue
		}
		if s.State != CircuitClosed {
			open = append(open, s.CircuitStatus)
		}
		// A call that is under way finds a circuit that it cannot change.
		c.all[k] = &circuit{CircuitStatus: CircuitStatus{Provider: k.provider, Model: k.model}, tripped: s.tripped + 1}
	}
	return open
}

// Open returns the circuits that are not closed, in no order.
func (c *Circuits) Open() (all []CircuitStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.all {
		if s.State != CircuitClosed {
			all = append(all, s.CircuitStatus)
		}
	}
	return all
}

// refusal returns why a call is not let through. The caller holds mu.
func (c *Circuits) refusal(s *circuit) *CircuitError {
	if s.State == CircuitClosed || s.State == CircuitOpen && !c.now().Before(s.Until) {
		return nil
	}
	return &CircuitError{s.CircuitStatus}
}

func (c *Circuits) circuit(k circuitKey) *circuit {
	s := c.all[k]
	if s == nil {
		if c.all == nil {
			c.all = map[circuitKey]*circuit{}
		}
		s = &circuit{CircuitStatus: CircuitStatus{Provider: k.provider, Model: k.model}}
		c.all[k] = s
	}
	return s
}

func (c *Circuits) move(s *circuit, to CircuitState) {
	if s.State == to {
		return
	}
	s.State = to
	if c.Changed != nil {
		c.Changed(s.CircuitStatus)
	}
}

func (c *Circuits) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// IsCircuitOpen reports whether err is a refusal of a circuit: no call was made.
func IsCircuitOpen(err error) bool {
	_, ok := errors.AsType[*CircuitError](err)
	return ok
}
