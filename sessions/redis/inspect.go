package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Inspection is how a server was found. Nothing was changed for it.
type Inspection struct {
	Version   string
	Role      string // master or slave, in Redis' words
	Mode      string // standalone, sentinel or cluster
	AOF       bool   // it writes an append-only file
	Fsync     string // appendfsync; empty: it does not say
	Eviction  string // maxmemory-policy
	MaxMemory int64  // bytes; 0: no limit
	Used      int64  // bytes
	Replicas  int    // connected to it
	Password  bool   // it was reached with one
	// Clock is its time, and Took how long it needed to say it.
	Clock time.Time
	Took  time.Duration
	// Unfit is why a store refuses it; empty: it does not.
	Unfit string
}

// Inspect looks at the server of o, without writing anything. It does not want it to be one that a
// store takes: the Inspection says so.
func Inspect(ctx context.Context, o Options) (i Inspection, err error) {
	if err := o.Validate(); err != nil {
		return i, err
	}
	c, err := o.dial(nil)
	if err != nil {
		return i, err
	}
	defer func() { _ = c.Close() }() // it was only asked
	began := time.Now()
	if i.Clock, err = c.Time(ctx).Result(); err != nil {
		return i, fmt.Errorf("ask Redis for the time: %w", explain(err))
	}
	i.Clock, i.Took = i.Clock.UTC(), time.Since(began)
	text, err := c.Info(ctx).Result()
	if err != nil {
		return i, fmt.Errorf("ask Redis what it is: %w", explain(err))
	}
	info := infoOf(text)
	i.Version, i.Role, i.Mode = info["redis_version"], info["role"], info["redis_mode"]
	i.AOF, i.Eviction = info["aof_enabled"] == "1", info["maxmemory_policy"]
	i.MaxMemory, _ = strconv.ParseInt(info["maxmemory"], 10, 64) // what is no number is said by nobody
	i.Used, _ = strconv.ParseInt(info["used_memory"], 10, 64)
	i.Replicas, _ = strconv.Atoi(info["connected_slaves"])
	i.Password = c.Options().Password != ""
	if set, err := c.ConfigGet(ctx, "appendfsync").Result(); err == nil {
		i.Fsync = set["appendfsync"]
	}
	if err := judge(info); err != nil {
		i.Unfit = strings.TrimPrefix(err.Error(), errServer.Error()+": ")
	}
	return i, nil
}
