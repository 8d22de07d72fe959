package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
)

// Reserve implements [sessions.Turns].
func (s *Store) Reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	if err := s.reserve(ctx, f, c, r); err != nil {
		return fmt.Errorf("reserve for call %s: %w", r.ID, err)
	}
	return nil
}

func (s *Store) reserve(ctx context.Context, f sessions.Fence, c sessions.Charge, r costs.Reservation) error {
	e := r.Estimate
	if r.ID == "" || e.Upper < 0 {
		return errors.New("it has no id, or its bound is below 0")
	}
	left, err := dangling(r)
	if err != nil {
		return err
	}
	request := struct {
		moment
		Fence    fence                 `json:"fence"`
		ID       string                `json:"id"`
		Session  sessionkeys.SessionID `json:"session"`
		Turn     string                `json:"turn"`
		Purpose  costs.Purpose         `json:"purpose"`
		Step     int                   `json:"step"`
		Attempt  int                   `json:"attempt"`
		Upper    string                `json:"upper"`
		Unbound  bool                  `json:"unbound"`
		Scopes   []scope               `json:"scopes"`
		Dangling string                `json:"dangling"`
		Asked    *askedOf              `json:"asked,omitempty"`
	}{
		moment: momentOf(r.At), Fence: of(f), ID: r.ID, Session: c.Session, Turn: c.Turn,
		Purpose: e.Call.Purpose, Step: e.Call.Step, Attempt: e.Call.Attempt,
		Upper: amount(e.Upper), Unbound: !e.Priced, Scopes: scopesOf(c.Scopes, r.At), Dangling: left,
	}
	if c.Asked != nil {
		if request.Asked, err = s.ask(ctx, *c.Asked, c, r); err != nil {
			return err
		}
	}
	_, err = s.record(ctx, "reserve", &f, request)
	if isKind(err, "frame") { // the database was another one, when the frame was known
		s.frames.forget()
		if request.Asked, err = s.ask(ctx, *c.Asked, c, r); err == nil {
			_, err = s.record(ctx, "reserve", &f, request)
		}
	}
	return refusedMoney(err, c.Scopes, r)
}

func isKind(err error, kind string) bool {
	var refused *refusedWith
	return errors.As(err, &refused) && refused.kind == kind
}

// refusedMoney gives what the scripts of money refuse its error.
func refusedMoney(err error, scopes []sessions.Scope, r costs.Reservation) error {
	var refused *refusedWith
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.kind {
	case "overflow":
		return fmt.Errorf("add up what is spent and held: %w", costs.ErrOverflow)
	case "budget":
		i, err := strconv.Atoi(refused.data.text(0))
		if err != nil || i < 0 || i >= len(scopes) {
			return fmt.Errorf("refused by a budget that was not asked: %q", refused.data.text(0))
		}
		spent, err := readAmount(refused.data.text(1))
		if err != nil {
			return err
		}
		s := scopes[i]
		return &costs.BudgetError{
			Scope: s.Kind, Window: s.Window, Limit: s.Limit, Spent: spent, Need: r.Estimate.Upper,
			Free: s.Window.Next(r.At), Unpriced: !r.Estimate.Priced,
		}
	}
	return err
}
