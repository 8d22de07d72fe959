package slack

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
)

const (
	nameWait    = 250 * time.Millisecond // a name is for showing: no event waits longer for it
	nameTimeout = 5 * time.Second        // and goes on without it, while the name is asked for
	nameOld     = 12 * time.Hour         // then it is asked for again
	nameRetry   = 10 * time.Minute       // after a failure
	maxPeople   = 4096                   // beyond, all are forgotten
)

// people remembers what users are called: events say their ids only.
type people struct {
	mu    sync.Mutex
	names map[string]cachedName
}

type cachedName struct {
	name      string
	refreshAt time.Time     // again, from then on
	lookup    chan struct{} // it is being asked for until this is closed; or nil
}

// nameOf returns the name of a user, or "" when it is not known yet.
func (p *people) nameOf(user string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[user].name
}

func (p *people) get(user string, now time.Time) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.names[user]
	return c.name, ok && now.Before(c.refreshAt) && c.refreshAt.Sub(now) <= nameOld
}

func (p *people) put(user, name string, ask time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil || len(p.names) >= maxPeople {
		p.names = map[string]cachedName{}
	}
	p.names[user] = cachedName{name: name, refreshAt: ask}
}

// joinLookup is closed when the name that is being asked for is known; first: nobody asks
// for it yet, so that the caller has to.
func (p *people) joinLookup(user string) (known chan struct{}, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.names[user]
	if c.lookup != nil {
		return c.lookup, false
	}
	if p.names == nil || len(p.names) >= maxPeople {
		p.names = map[string]cachedName{}
	}
	c.lookup = make(chan struct{})
	p.names[user] = c
	return c.lookup, true
}

// fillName fills in what the sender is called, if Slack says so at once; otherwise the
// next message of theirs has it.
func (r *receiver) fillName(ctx context.Context, m *channels.Message, user string) {
	if m.Sender.Bot || user == "" {
		return
	}
	name, ok := r.people.get(user, r.o.Now())
	if !ok {
		known, first := r.people.joinLookup(user)
		if first {
			before := name
			r.queue.Go(func(ctx context.Context) {
				defer close(known)
				r.fetchName(ctx, user, before)
			})
		}
		t := time.NewTimer(nameWait)
		defer t.Stop()
		select {
		case <-known:
			name = r.people.nameOf(user)
		case <-t.C:
		case <-ctx.Done():
		}
	}
	m.Sender.Name = name
}

// fetchName learns what a user is called.
func (r *receiver) fetchName(ctx context.Context, user, before string) {
	const method = "users.info"
	ctx, cancel := context.WithTimeout(ctx, nameTimeout)
	defer cancel()
	result, err := r.call(ctx, method, "", func(ctx context.Context) error {
		_, err := r.api.GetUserInfoContext(ctx, user)
		return err
	})
	var u struct {
		User struct {
			Name     string `json:"name"`
			RealName string `json:"real_name"`
			Profile  struct {
				DisplayName string `json:"display_name"`
				RealName    string `json:"real_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	if err == nil {
		err = json.Unmarshal(result, &u)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.o.Log.Debug("name of a person unknown", "error", err)
		}
		r.people.put(user, before, r.o.Now().Add(nameRetry))
		return
	}
	name := markup.Name(u.User.Profile.DisplayName, u.User.RealName, u.User.Profile.RealName, u.User.Name)
	r.people.put(user, name, r.o.Now().Add(nameOld))
}
