//go:build faultpoints

package faultpoint

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

type action string

const (
	kill  action = "kill"
	stop  action = "stop"
	crash action = "panic"
	delay action = "delay"
)

// plan is one fault.
type plan struct {
	text   string // as it was written
	point  string
	about  string // part of the text of a hit; empty: any
	action action
	wait   time.Duration
	nth    int64 // 0: every hit

	hits atomic.Int64
}

// isDue counts a hit of the plan's point, and says whether it strikes.
func (p *plan) isDue(point, text string) bool {
	if p.point != point || !strings.Contains(text, p.about) {
		return false
	}
	n := p.hits.Add(1)
	return p.nth == 0 || p.nth == n
}

func parse(all string) ([]*plan, error) {
	var plans []*plan
	for text := range strings.SplitSeq(all, ",") {
		if text == "" {
			continue
		}
		p, err := parseOne(text)
		if err != nil {
			return nil, fmt.Errorf("PARLEY_FAULTS: %q: %w", text, err)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func parseOne(text string) (*plan, error) {
	p := &plan{text: text}
	where, what, ok := strings.Cut(text, "=")
	if !ok {
		return nil, fmt.Errorf("no action; say point=kill@3")
	}
	p.point = where
	if name, about, ok := strings.Cut(where, "["); ok {
		if p.about, ok = strings.CutSuffix(about, "]"); !ok {
			return nil, fmt.Errorf("the [ of the text is not closed")
		}
		p.point = name
	}
	what, nth, counted := strings.Cut(what, "@")
	if counted {
		n, err := strconv.ParseInt(nth, 10, 64)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("the hit %q is no number from 1", nth)
		}
		p.nth = n
	}
	name, arg, hasArg := strings.Cut(what, ":")
	switch p.action = action(name); p.action {
	case kill, stop, crash:
		if hasArg {
			return nil, fmt.Errorf("%s takes nothing behind a colon", name)
		}
	case delay:
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("delay needs how long, as delay:200ms")
		}
		p.wait = d
	default:
		return nil, fmt.Errorf("unknown action %q; there are kill, stop, panic and delay", name)
	}
	if p.point == "" {
		return nil, fmt.Errorf("no point")
	}
	return p, nil
}
