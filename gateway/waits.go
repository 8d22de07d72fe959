package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"parley/channels"
	"parley/gateway/records"
	"parley/sessions"
)

// waitRecord is the kind of the records of waits that networks asked for. Their keys
// begin with the account's lease.
const waitRecord = "network-wait"

// keepTimeout bounds the writing of one.
const keepTimeout = 5 * time.Second

// restoreWaits tells a channel of the waits that its network asked for, whichever process
// it told so, and keeps those that it asks for while ctx lives.
func (f *channelRunners) restoreWaits(ctx context.Context, c channels.Channel) error {
	r, ok := c.(channels.WaitRestorer)
	if !ok {
		return nil
	}
	of := f.leases[c.Name()] + "/"
	var known []channels.Wait
	var failed error
	err := f.store.Records(ctx, waitRecord, of, f.o.Now(), func(rec sessions.Record) bool {
		var w channels.Wait
		failed = json.Unmarshal(rec.Body, &w)
		w.Until = rec.Expires
		known = append(known, w)
		return failed == nil
	})
	if err == nil && failed != nil {
		err = fmt.Errorf("read a wait of %s: %w", c.Name(), failed)
	}
	if err != nil {
		return err
	}
	r.RestoreWaits(known, func(w channels.Wait) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTimeout)
		defer cancel()
		if err := f.storeWait(ctx, c.Name(), of, w); err != nil {
			f.o.Logger.Warn("rate limit not stored, a restart forgets it", "channel", c.Name(), "until", w.Until, "error", err)
		}
	})
	return nil
}

func (f *channelRunners) storeWait(ctx context.Context, channel, of string, w channels.Wait) error {
	_, err := records.Write(ctx, f.store, sessions.Record{
		ID:       sessions.RecordID{Kind: waitRecord, Key: of + strings.Join([]string{w.Scope, w.Chat}, "/")},
		Revision: sessions.AnyRevision, Owner: channel, Expires: w.Until, At: f.o.Now(),
	}, channels.Wait{Scope: w.Scope, Chat: w.Chat})
	if err != nil {
		return fmt.Errorf("keep a wait: %w", err)
	}
	return nil
}
