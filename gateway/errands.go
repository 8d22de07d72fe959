package gateway

import (
	"context"
	"fmt"

	"parley/channels"
	"parley/gateway/budgets"
	"parley/gateway/errands"
	"parley/gateway/intake"
	"parley/gateway/roles"
	"parley/sessions"
)

// newErrandDesk returns what people have scheduled, by the configuration of e.
func (s *schedules) newErrandDesk(e *edition) (*errands.Desk, error) {
	most, err := budgets.Parse(e.cfg.Cron.People.MaxCost)
	if err != nil {
		return nil, fmt.Errorf("cron.people.max_cost: %w", err)
	}
	desk := &errands.Desk{
		MaxCost: most,
		Config:  e.cfg.Cron.People, Book: &errands.Book{Store: s.store, Now: s.o.Now}, Log: s.o.Logger,
		Judge: func(ctx context.Context, m channels.Message) (errands.Judgement, error) { return s.judge(ctx, e, m) },
	}
	desk.Estimate = func(ctx context.Context, one errands.Errand) (string, error) { return s.estimate(ctx, desk, one) }
	return desk, nil
}

// judge says who the sender of m is in its chat, as things are now.
func (s *schedules) judge(ctx context.Context, e *edition, m channels.Message) (errands.Judgement, error) {
	src, ok := e.arrivals.Sources[m.Channel]
	if !ok {
		return errands.Judgement{Unknown: true}, nil
	}
	chat, err := s.store.Chat(ctx, sessions.ChatID{Channel: m.Address.Channel, Account: m.Address.Account, Peer: m.Address.Peer})
	if err != nil {
		return errands.Judgement{}, fmt.Errorf("look at the chat: %w", err)
	}
	v, err := intake.Reauthorize(ctx, s.people, e.arrivals.Sources, m, chat.IDs...)
	if err != nil {
		return errands.Judgement{}, err // it says which
	}
	if chat.Closed || !v.Allowed {
		return errands.Judgement{Role: roles.None}, nil
	}
	d, err := s.people.Standing(ctx, m.Channel, m.Sender)
	if err != nil {
		return errands.Judgement{}, err // it says which
	}
	return errands.Judgement{Agent: src.Bound.AgentFor(m, chat.IDs...), Role: src.Access.RoleOf(m.Sender, d)}, nil
}
