package worker

import (
	"cmp"
	"fmt"

	"parley/channels"
	"parley/gateway/errands"
	"parley/gateway/messages"
	"parley/gateway/outcomes"
	"parley/gateway/schedule"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
)

// jobOf returns the job of whose run t is, as it is configured, or as its person may have it run; nil:
// t is of none. A run of a job that is not there any more is of the zero Job, which may do nothing.
func (a *owner) jobOf(t sessions.Turn) (*schedule.Job, error) {
	name := messages.JobOf(a.m.Key, t.Sender, t.From)
	if name == "" {
		return nil, nil // most turns are of no job
	}
	j, err := a.findJob(name)
	return &j, err
}

// findJob returns the job of a name as it may run now; the zero Job when it may not.
func (a *owner) findJob(name string) (schedule.Job, error) {
	if !errands.IsName(name) || a.settings.Errands == nil {
		return a.settings.Jobs[name], nil
	}
	j, err := a.settings.Errands.Job(a.ctx, name)
	if err != nil {
		return j, fmt.Errorf("look up what somebody has scheduled: %w", err)
	}
	return j, nil
}

// refusesJob reports whether the run that m asks for does not begin, or go on. It is counted and
// logged.
func (a *rights) refusesJob(m channels.Message) (bool, error) {
	j, err := a.findJob(m.Job)
	if err != nil {
		return false, err
	}
	why := j.Refusal(m, a.m.Key)
	if why == "" {
		return false, nil
	}
	a.w.Observer.CountIgnored(m.Channel, outcomes.NotAllowed)
	a.w.Logger.Warn("run of a job refused", "job", m.Job, "channel", m.Channel, "event", m.Event, "reason", why)
	return true, nil
}

// renewSession gives a run of a job a session of its own, if that of the run before is still
// there: what a run costs and reads does not grow with those before it, and a budget of a session
// is one of a run. renewed is false when the run is to be taken up now.
func (a *actor) renewSession(it item) (renewed, released bool, err error) {
	s, err := a.w.Store.Session(a.ctx, a.m.Session)
	if err != nil {
		return true, false, fmt.Errorf("look at the session of a job: %w", err)
	}
	if s.Messages == 0 {
		return false, false, nil
	}
	known, err := a.w.Store.Known(a.ctx, messages.Inbox(it.msg))
	if err != nil {
		return true, false, fmt.Errorf("look whether a run of a job is known: %w", err)
	}
	if known[0] {
		return false, false, nil // opening it says so
	}
	now, begin := a.w.Now(), it.msg
	begin.Event = messages.ID{Kind: messages.JobSession, About: it.msg.Event}.String()
	begun, err := a.w.Store.Answer(a.ctx, a.m.Fence(), sessions.Command{
		Seq: a.m.LastRead, Event: messages.Inbox(begin), Fresh: sessionkeys.NewSessionID(now), At: now,
	})
	if err != nil {
		return true, false, fmt.Errorf("begin a session for a run of a job: %w", err)
	}
	if !begun {
		return false, false, nil
	}
	released, err = a.release() // which says which session it is, and that the run waits
	return true, released, err
}

// confine returns the agent as it does a job: with the job's bounds in place of its own.
func confine(ag Agent, j schedule.Job) Agent {
	ag.MaxSteps, ag.MaxCost = j.MaxIterations, cmp.Or(j.MaxCost, ag.MaxCost)
	return ag
}

// gate returns the gate of the turn: that of its job, of the person who may be asked, or otherwise,
// where neither is; before it those of plan mode and of who asks and is a guest.
func (j *journal) gate(otherwise tools.Gate, plan, looks bool) tools.Gate {
	g := j.jobGate()
	if g == nil {
		g = j.permitGate(otherwise)
	}
	if plan {
		g = tools.PlanGate(g)
	}
	if looks {
		g = tools.LookGate(guestReason, g)
	}
	return j.standingGate(g)
}

// childGate returns the gate of the turn's sub-agents, which ask nobody; nil: that of all.
func (j *journal) childGate(otherwise tools.Gate, looks bool) tools.Gate {
	if j.job != nil {
		return j.jobGate()
	}
	if looks {
		otherwise = tools.LookGate(guestReason, otherwise)
	}
	return j.standingGate(otherwise)
}

// jobGate returns the gate of a run of a job and of its sub-agents, which asks nobody; nil: the
// turn is of none. (K04, K05, I05, S6.14)
func (j *journal) jobGate() tools.Gate {
	if j.job == nil {
		return nil
	}
	return tools.JobGate(j.job.Tools, j.job.AllowAdmin)
}
