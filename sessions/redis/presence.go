package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"parley/pause"

	goredis "github.com/redis/go-redis/v9"
)

// presence is which processes are there, as the server sees it: each that attends is
// subscribed to a channel of its own, on which nothing is ever said. A process that
// dies takes its connection with it; one that is only stopped keeps it, since Redis
// closes no idle connection that is subscribed.
type presence struct {
	*connection
	me  atomic.Pointer[string] // the channel of this process, once it is subscribed
	era atomic.Uint64          // of its subscription
}

const (
	presencePing  = 30 * time.Second // between two signs of a connection on which nothing is said
	presenceRetry = 50 * time.Millisecond
	presenceAgain = 5 * time.Second // the longest pause before the next try
)

// errUnseen means that the server does not see this process itself.
var errUnseen = errors.New("this process is not subscribed itself")

func (p *presence) channel(name string) string { return p.key("here:" + name) }

// Attend is a sign of this process, under name, until ctx ends; then it returns ctx's
// error. It comes back by itself when the connection is lost, as in a failover. One
// name at a time.
func (p *presence) Attend(ctx context.Context, name string) error {
	wait, told := presenceRetry, false
	for {
		stood, err := p.subscribe(ctx, p.channel(name))
		if stood {
			wait, told = presenceRetry, false
			p.era.Add(1)
			p.me.Store(nil)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("attend as %s: %w", name, context.Cause(ctx))
		}
		if !told && !stood {
			told = true
			p.log.Warn("redis: subscription failed, retrying: until it succeeds other workers learn of the end of this process by its lease only", "channel", p.channel(name), "error", explain(err))
		}
		if err := pause.For(ctx, wait); err != nil {
			return fmt.Errorf("attend as %s: %w", name, err)
		}
		wait = min(2*wait, presenceAgain)
	}
}

// subscribe is subscribed to channel until the connection is lost or ctx ends. stood
// says that it was at all.
func (p *presence) subscribe(ctx context.Context, channel string) (stood bool, err error) {
	sub := p.plain.Subscribe(ctx, channel)
	stop := context.AfterFunc(ctx, func() { _ = sub.Close() }) // a read does not end with ctx
	defer func() {
		if stop() {
			_ = sub.Close()
		}
	}()
	for unanswered := false; ; {
		got, err := sub.ReceiveTimeout(ctx, presencePing)
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout() && !unanswered:
			unanswered = true
			if err := sub.Ping(ctx); err != nil {
				return stood, fmt.Errorf("ping: %w", err)
			}
		case err != nil:
			return stood, fmt.Errorf("listen: %w", err)
		default:
			unanswered = false
			if s, ok := got.(*goredis.Subscription); ok && s.Kind == "subscribe" {
				p.me.Store(&channel)
				stood = true
			}
		}
	}
}

// IsAttended reports whether a process attends under name, as the server sees it that
// this process attends at, too. An error says that it is not known.
func (p *presence) IsAttended(ctx context.Context, name string) (bool, error) {
	me, other := p.me.Load(), p.channel(name)
	if me == nil {
		return false, fmt.Errorf("ask whether %s attends: %w", name, errUnseen)
	}
	n, err := p.plain.PubSubNumSub(ctx, *me, other).Result()
	switch {
	case err != nil:
		return false, fmt.Errorf("ask whether %s attends: %w", name, explain(err))
	case n[other] > 0:
		return true, nil
	case n[*me] == 0: // another server than the one that this process is subscribed at
		return false, fmt.Errorf("ask whether %s attends: %w", name, errUnseen)
	}
	return false, nil
}

// Era is another number whenever the connection was lost in between by which this
// process attends: the server has perhaps restarted, or another has taken its place.
func (p *presence) Era() uint64 { return p.era.Load() }
