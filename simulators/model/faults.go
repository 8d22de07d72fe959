package model

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"
)

// FaultKind is what goes wrong.
type FaultKind string

// The faults. Those marked "head" happen before a model would be asked: they
// cost nothing and do not ask the [Brain].
const (
	FaultStatus       FaultKind = "status"        // head: an error status in the provider's words
	FaultSilentBefore FaultKind = "silent_before" // head: nothing at all is sent
	FaultHTML         FaultKind = "html"          // head: status 200 with a web page
	FaultSilentAfter  FaultKind = "silent_after"  // nothing more is sent after the first After events
	FaultCut          FaultKind = "cut"           // connection reset (RST) after After events
	FaultClose        FaultKind = "close"         // connection closed (FIN) after After events, without the end of the body
	FaultEnd          FaultKind = "end"           // body ended properly after After events, without a stop event
	FaultErrorEvent   FaultKind = "error_event"   // after After events an error, status 200
	FaultGarbage      FaultKind = "garbage"       // after After events broken JSON, then the proper end of the body
	FaultNoUsage      FaultKind = "no_usage"      // a whole answer that tells no usage
	FaultSlow         FaultKind = "slow"          // one byte every Hold
)

// Fault is a plan for something to go wrong. Which requests it hits: of those
// that fit Match and Protocol the first Next, or each with Probability; with neither,
// the first one. The first
// fault of the plan that hits is done, and only the faults before it count the
// request. Requests that are refused anyway (bad key, invalid) count nowhere.
type Fault struct {
	Kind FaultKind `json:"kind"`

	Next        int     `json:"next,omitempty"`
	Probability float64 `json:"probability,omitempty"`
	Seed        uint64  `json:"seed,omitempty"` // for Probability; together with the server's seed

	Match    string   `json:"match,omitempty"` // part of the last text of the person
	Protocol Protocol `json:"protocol,omitempty"`

	Status int `json:"status,omitempty"` // FaultStatus, and the error that FaultErrorEvent tells of
	// RetryAfter is sent with FaultStatus as whole seconds, or as an HTTP date
	// if RetryDate is set; 0: no such header.
	RetryAfter Duration `json:"retry_after,omitempty"`
	RetryDate  bool     `json:"retry_date,omitempty"`
	HTMLBody   bool     `json:"html,omitempty"` // FaultStatus: a proxy's page instead of JSON

	// After counts SSE events, pings included, and never reaches the last one;
	// FaultSilentAfter sends at least one. An answer that is not streamed
	// breaks after half its body.
	After int `json:"after,omitempty"`
	// Hold is how long silence lasts, after which the connection is closed (0:
	// until the client leaves), and the time between slow bytes (0: 1 s).
	Hold Duration `json:"hold,omitempty"`
}

// Duration is a time.Duration that is written as "1.5s" in JSON.
type Duration time.Duration

// MarshalText writes d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

func (f *Fault) validate() error {
	kinds := []FaultKind{
		FaultStatus, FaultSilentBefore, FaultHTML, FaultSilentAfter, FaultCut, FaultClose,
		FaultEnd, FaultErrorEvent, FaultGarbage, FaultNoUsage, FaultSlow,
	}
	switch {
	case !slices.Contains(kinds, f.Kind):
		return fmt.Errorf("fault: unknown kind %q", f.Kind)
	case f.Kind == FaultStatus && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("fault %s: status %d is no error", f.Kind, f.Status)
	case f.Next < 0 || f.After < 0 || f.Hold < 0 || f.RetryAfter < 0:
		return fmt.Errorf("fault %s: negative number", f.Kind)
	case f.Probability < 0 || f.Probability > 1:
		return fmt.Errorf("fault %s: probability %v is not between 0 and 1", f.Kind, f.Probability)
	}
	return nil
}

// Planned is a fault of the plan, and how often it was consulted and hit.
type Planned struct {
	Fault
	Seen int `json:"seen"`
	Hits int `json:"hits"`
}

type planned struct {
	Planned
	rng *rand.Rand
}

type plan struct {
	seed uint64

	mu    sync.Mutex
	added uint64     // guarded by mu
	list  []*planned // guarded by mu
}

func (p *plan) add(faults []Fault) error {
	for i := range faults {
		if err := faults[i].validate(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range faults {
		p.added++
		p.list = append(p.list, &planned{Planned{Fault: f}, rand.New(rand.NewPCG(p.seed, p.added<<32^f.Seed))})
	}
	return nil
}

func (p *plan) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added, p.list = 0, nil
}

func (p *plan) snapshot() []Planned {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Planned, 0, len(p.list))
	for _, f := range p.list {
		out = append(out, f.Planned)
	}
	return out
}

// pick returns the fault that q suffers; the zero fault is none.
func (p *plan) pick(q *Prompt) Fault {
	text := q.LastText()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.list {
		if (f.Match != "" && !strings.Contains(text, f.Match)) || (f.Protocol != "" && f.Protocol != q.Protocol) {
			continue
		}
		if f.hit() {
			return f.Fault
		}
	}
	return Fault{}
}

// hit counts a request that fits and says whether it is hit.
func (f *planned) hit() bool {
	f.Seen++
	hit := f.Seen <= max(1, f.Next)
	if f.Probability > 0 {
		hit = f.rng.Float64() < f.Probability
	}
	if hit {
		f.Hits++
	}
	return hit
}

// decodeFaults reads one fault or a list.
func decodeFaults(b []byte) ([]Fault, error) {
	var list []Fault
	if err := json.Unmarshal(b, &list); err == nil {
		return list, nil
	}
	var one Fault
	if err := json.Unmarshal(b, &one); err != nil {
		return nil, fmt.Errorf("read faults: %w", err)
	}
	return []Fault{one}, nil
}
