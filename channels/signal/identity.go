package signal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"parley/channels"
)

// self is who we are. An account may have no number, and then is named by its ACI.
type self struct{ number, aci string }

// configuredSelf returns what is known of an account by its name in the configuration.
func configuredSelf(account, aci string) self {
	if aciForm.MatchString(account) {
		return self{aci: strings.ToLower(account)}
	}
	return self{number: account, aci: aci}
}

func (s self) matches(aci, number string) bool {
	return aci != "" && strings.EqualFold(aci, s.aci) || number != "" && number == s.number
}

// awaitIdentity finds out who we are, before anything is received: what mentions us, and what we
// wrote ourselves, could not be told otherwise. It tries until ctx ends, and says why
// it has to.
func (r *receiver) awaitIdentity(ctx context.Context) error {
	told := ""
	defer func() {
		me := r.me
		r.known.Store(&me)
		r.people.note(me.aci, me.number) // as whom we may write to ourselves
	}()
	return r.RetryUntilFatal(ctx, func(ctx context.Context) error {
		err := r.identify(ctx)
		var e *channels.Error
		if err == nil || ctx.Err() != nil || errors.As(err, &e) && e.Kind == channels.Unsent {
			return err // it does not run, which is said elsewhere
		}
		if told != err.Error() {
			told = err.Error()
			r.o.Log.Error("receiving stopped: ACI of the account unknown; messages wait at Signal", "error", err)
		}
		return err
	})
}

var errUnknownACI = errors.New("signal-cli does not know the ACI of the account: is it registered or linked? It may also be given as aci")

// identify finds the account's own ACI, by which it is mentioned: signal-cli is asked
// first, in the ways that it has, and Signal last, which does not find who may not be
// found by their number.
func (r *receiver) identify(ctx context.Context) error {
	if r.me.aci != "" && (r.me.number != "" || r.daemon != nil) {
		return nil
	}
	if r.daemon != nil {
		select {
		case <-r.daemon.started(): // until then nobody could answer
		case <-ctx.Done():
			return context.Cause(ctx) // the caller asks it too
		}
	}
	refusals := []error{fmt.Errorf("%w (%s)", errUnknownACI, r.o.Account)}
	for _, ask := range []func(context.Context) (self, error){r.selfFromAccounts, r.selfFromIdentities, r.selfFromService} {
		found, err := ask(ctx)
		var e *channels.Error
		var said *rpcError
		switch {
		case errors.As(err, &said) && (!errors.As(err, &e) || e.Kind != channels.Unauthorized):
			refusals = append(refusals, err) // this one it does not know
		case err != nil:
			return err
		case found.aci != "":
			r.me = found
			if r.daemon != nil {
				r.people.markChanged()
				return r.storePeople()
			}
			return nil
		}
	}
	if r.me.aci != "" {
		return nil // it has no number
	}
	return errors.Join(refusals...)
}

// selfFromAccounts asks a signal-cli that may hold several accounts for them. One that
// holds a single account does not know the method.
func (r *receiver) selfFromAccounts(ctx context.Context) (self, error) {
	var rows []struct {
		Number string `json:"number"`
		ACI    string `json:"aci"`
	}
	if err := r.query(ctx, "listAccounts", nil, &rows); err != nil {
		return self{}, err
	}
	for _, row := range rows {
		if aciForm.MatchString(row.ACI) && r.me.matches(row.ACI, row.Number) {
			return self{number: row.Number, aci: strings.ToLower(row.ACI)}, nil
		}
	}
	return self{}, nil
}

// selfFromIdentities asks for the account's own key, which stands among those that it
// trusts.
func (r *receiver) selfFromIdentities(ctx context.Context) (self, error) {
	var rows []struct {
		Number string `json:"number"`
		UUID   string `json:"uuid"`
	}
	if err := r.query(ctx, "listIdentities", map[string]any{"number": r.o.Account}, &rows); err != nil {
		return self{}, err
	}
	for _, row := range rows {
		if aciForm.MatchString(row.UUID) && r.me.matches(row.UUID, row.Number) {
			return self{number: row.Number, aci: strings.ToLower(row.UUID)}, nil
		}
	}
	return self{}, nil
}

// selfFromService asks Signal whose the number is.
func (r *receiver) selfFromService(ctx context.Context) (self, error) {
	if r.me.number == "" {
		return self{}, nil
	}
	found, err := r.fetchACIs(ctx, r.me.number)
	return self{number: r.me.number, aci: found[r.me.number]}, err
}
