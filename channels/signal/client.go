package signal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"parley/channels"
	"parley/channels/internal/receive"
)

// client makes the calls of one account to signal-cli, and judges what it answers. Its
// methods may be called concurrently.
type client struct {
	*receive.Account

	o      Options
	rpc    caller
	daemon *daemon // nil: attached
	floods floods
	known  atomic.Pointer[self] // who we are, once Receive found out
}

// newClient makes no call. o has its defaults.
func newClient(o Options) *client {
	return &client{Account: receive.NewAccount(Network, o.Common, 0), o: o}
}

// self is who we are, as far as it is known by now.
func (c *client) self() self {
	if me := c.known.Load(); me != nil {
		return *me
	}
	return configuredSelf(c.o.Account, c.o.ACI)
}

// identity says who we are, for the log.
func (c *client) identity() []any {
	me := c.self()
	return []any{"as", cmp.Or(me.number, me.aci), "aci", me.aci}
}

// call makes a call with the bound of SendTimeout.
func (c *client) call(ctx context.Context, method string, params map[string]any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.SendTimeout, errTimeout)
	defer cancel()
	return c.rpc.call(ctx, method, params)
}

// params are those that name the account, beside others. A daemon that parley
// runs has only the one.
func (c *client) params(others map[string]any) map[string]any {
	p := map[string]any{}
	if c.daemon == nil {
		p["account"] = c.o.Account
	}
	for k, v := range others {
		p[k] = v
	}
	return p
}

// query reads the answer to a call into rows.
func (c *client) query(ctx context.Context, op string, others map[string]any, rows any) error {
	raw, err := c.call(ctx, op, c.params(others))
	if err != nil {
		return c.channelError(op, err)
	}
	if err := json.Unmarshal(raw, rows); err != nil {
		return fmt.Errorf("%s: read the answer: %w", op, err)
	}
	return nil
}

// queryVersion asks signal-cli for its version, which says that it lives.
func (c *client) queryVersion(ctx context.Context) (version string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Health, errTimeout)
	defer cancel()
	raw, err := c.rpc.call(ctx, "version", nil)
	if err != nil {
		return "", err
	}
	var answer struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", fmt.Errorf("version: read the answer: %w", err)
	}
	return answer.Version, nil
}

// queryError judges a call that only asks: it does nothing, so it may be made again.
func (c *client) queryError(op string, err error) error {
	e := c.channelError(op, err)
	if e.Kind == channels.Ambiguous {
		e.Kind = channels.Unsent
	}
	return e
}
