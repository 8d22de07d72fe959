package errands

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"parley/channels"
	"parley/costs"
	"parley/gateway/records"
	"parley/gateway/roles"
	"parley/gateway/schedule"
	"parley/sessionkeys"
)

// Judgement says whether somebody may have something run in a chat, as things are now.
type Judgement struct {
	Agent string     // who answers them there
	Role  roles.Role // None: they may not talk to the bot there, or it is not in the chat any more
	// Unknown: the account is not in the configuration, so nothing is known of them.
	Unknown bool
}

// Desk knows what people have scheduled, and what of it may run, by one configuration. It is
// not changed once it is used.
type Desk struct {
	Config  Config       // as Defaults fills it in
	MaxCost costs.Amount // what Config says of it; 0: none
	Book    *Book
	Log     *slog.Logger
	// Judge judges the sender of a message in its chat.
	Judge func(ctx context.Context, m channels.Message) (Judgement, error)
	// Estimate says in a sentence what runs like these have cost; nil: nothing is said of it.
	Estimate func(ctx context.Context, e Errand) (string, error)
}

// Caller is who wants to see or change what is scheduled, and where.
type Caller struct {
	Channel string
	Sender  channels.Sender
	At      sessionkeys.Address
	Role    roles.Role
}

// isIn reports whether an errand is of the chat of an address, whatever its thread.
func (e Errand) isIn(at sessionkeys.Address) bool {
	return e.To.Channel == at.Channel && e.To.Account == at.Account && e.To.Kind == at.Kind && e.To.Peer == at.Peer
}

// Visible returns the errands that a caller sees: in a direct message all of their own on the account,
// in a group those of everybody there. Those that are past are left out.
func (d *Desk) Visible(ctx context.Context, c Caller) ([]Errand, error) {
	all, err := d.Book.All(ctx)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return nil, err
	}
	now := d.Book.Now()
	return slices.DeleteFunc(all, func(e Errand) bool {
		own := e.Channel == c.Channel && e.Person == c.Sender.ID
		return e.IsPast(now) || c.At.Kind == sessionkeys.DM && !own || c.At.Kind != sessionkeys.DM && !e.isIn(c.At)
	}), nil
}

// Remove removes the errand of a code that the caller sees. Those of others take the right to. It
// returns ErrNone and ErrOthers, beside the errors of the store.
func (d *Desk) Remove(ctx context.Context, c Caller, code string) (Errand, error) {
	all, err := d.Visible(ctx, c)
	if err != nil {
		return Errand{}, err
	}
	err = ErrNone
	for _, e := range all {
		switch {
		case e.Code() != code:
			continue
		case e.Channel == c.Channel && e.Person == c.Sender.ID, c.Role.May(roles.Unschedule):
			if err := d.Book.Drop(ctx, e.Name); err != nil {
				return e, err
			}
			d.Log.Info("schedule removed", "job", e.Name, "channel", e.Channel, "person", e.Person, "by", c.Sender.ID)
			return e, nil
		}
		err = ErrOthers
	}
	return Errand{}, err
}

// message returns what the person of an errand would say in its chat.
func (e Errand) message() channels.Message {
	return channels.Message{Kind: channels.Said, Channel: e.Channel, Address: e.To, Sender: e.senderOf(), Mentioned: true}
}

// Jobs returns the jobs of all errands, without their keys: whether and by which agent they run says
// Resolve.
func (d *Desk) Jobs(ctx context.Context) ([]schedule.Job, error) {
	if !d.Config.Enabled {
		return nil, nil
	}
	all, err := d.Book.All(ctx)
	if errors.Is(err, records.ErrUnreadable) {
		d.Log.Warn("schedule of a person unreadable, it does not run", "error", err)
	} else if err != nil {
		return nil, err
	}
	var jobs []schedule.Job
	for _, e := range all {
		j, err := d.job(e)
		if err != nil {
			d.Log.Warn("schedule of a person is never due", "job", e.Name, "error", err)
			continue
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// job returns the job of an errand, with the bounds of the configuration.
func (d *Desk) job(e Errand) (schedule.Job, error) {
	timing, err := e.Timing()
	if err != nil {
		return schedule.Job{}, err
	}
	return schedule.Job{
		Name: e.Name, Timing: timing, Prompt: e.Task, Channel: e.Channel, To: e.To,
		Tools: d.Config.Tools, MaxIterations: d.Config.MaxIterations, MaxCost: d.MaxCost, Misfire: schedule.Once, Enabled: true,
		Person: e.Person, Since: e.Made,
	}, nil
}

// Resolve completes the job of an errand that is due. ok is false when it may not run now: who has
// scheduled it may not any more, or its chat is gone, in which case it is removed; or nothing is
// known of its account.
func (d *Desk) Resolve(ctx context.Context, j schedule.Job) (_ schedule.Job, ok bool, err error) {
	e, err := d.Book.Find(ctx, j.Name)
	if errors.Is(err, ErrNone) || errors.Is(err, records.ErrUnreadable) {
		return j, false, nil
	}
	if err != nil {
		return j, false, err
	}
	found, may, err := d.judge(ctx, e)
	if err != nil || may.Unknown || may.Role.May(roles.Schedule) {
		return found, err == nil && !may.Unknown, err
	}
	if err := d.Book.Drop(ctx, e.Name); err != nil {
		return j, false, err
	}
	d.Log.Warn("schedule removed, as its person may not schedule there any more or the chat is gone", "job", e.Name, "channel", e.Channel, "person", e.Person)
	return j, false, nil
}

// judge returns the job of an errand with its key, and whether it may run.
func (d *Desk) judge(ctx context.Context, e Errand) (schedule.Job, Judgement, error) {
	j, err := d.job(e)
	if err != nil {
		return j, Judgement{}, err
	}
	may, err := d.Judge(ctx, e.message())
	if err != nil || may.Unknown || may.Role == roles.None {
		return j, may, err
	}
	j.Key, err = schedule.KeyFor(may.Agent, e.Name, e.To)
	return j, may, err // it says what
}

// List returns the jobs of all errands as they are now. One that may not run is not enabled, and one
// of which it is not known which agent does it has no key.
func (d *Desk) List(ctx context.Context) ([]schedule.Job, error) {
	all, err := d.Book.All(ctx)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return nil, err
	}
	jobs := make([]schedule.Job, 0, len(all))
	for _, e := range all {
		j, may, err := d.judge(ctx, e)
		if err != nil {
			return nil, err
		}
		j.Enabled = d.Config.Enabled && !may.Unknown && may.Role.May(roles.Schedule)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// Job returns the job of an errand as it may run now; the zero Job when it may not.
func (d *Desk) Job(ctx context.Context, name string) (schedule.Job, error) {
	if !d.Config.Enabled {
		return schedule.Job{}, nil
	}
	e, err := d.Book.Find(ctx, name)
	if errors.Is(err, ErrNone) || errors.Is(err, records.ErrUnreadable) {
		return schedule.Job{}, nil
	}
	if err != nil {
		return schedule.Job{}, err
	}
	j, may, err := d.judge(ctx, e)
	if err != nil || may.Unknown || !may.Role.May(roles.Schedule) {
		return schedule.Job{}, err
	}
	return j, nil
}
