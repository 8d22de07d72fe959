package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/channels"
	"parley/costs"
	"parley/gateway/messages"
	"parley/sessionkeys"
)

// Job is one job of the configuration or of a person, checked and complete. A value is never changed.
type Job struct {
	Name    string
	Timing  Timing
	Prompt  string // what the agent is told
	Channel string // the account by which the result goes, by its instance name
	To      sessionkeys.Address
	Key     sessionkeys.Key // of the job's conversation, for which see KeyFor

	Tools         []string // that may write, or more with AllowAdmin; reading needs none
	AllowAdmin    bool     // the operator lets listed tools run that need a person's permission elsewhere
	MaxIterations int      // model calls of a run
	MaxCost       costs.Amount
	Timeout       time.Duration // of a run; 0: that of every turn
	Misfire       Misfire
	Enabled       bool

	// Person is who has scheduled it, by their stable id on the account, and pays for its runs;
	// empty: the configuration has it. Since is when they did: it has missed nothing before.
	Person string
	Since  time.Time
}

// KeyFor returns the key of the conversation in which an agent does a job whose results go to an
// address: beside the conversation of the people there, which knows nothing of it.
func KeyFor(agent, name string, to sessionkeys.Address) (sessionkeys.Key, error) {
	key, err := sessionkeys.For(agent, messages.JobAddress(to, name))
	if err != nil {
		return key, fmt.Errorf("name the conversation of a job: %w", err)
	}
	return key, nil
}

// Message returns the message that has the job run for a slot. Its event follows from job and slot
// alone.
func (j Job) Message(slot, now time.Time) channels.Message {
	return j.message(messages.ID{Kind: messages.JobSlot, About: j.Name + "@" + strconv.FormatInt(slot.Unix(), 10)}, slot, now)
}

// MessageByHand returns the message that has the job run now, as an operator wants; id is of that
// wish alone.
func (j Job) MessageByHand(id string, now time.Time) channels.Message {
	return j.message(messages.ID{Kind: messages.JobByHand, About: j.Name + "@" + id}, now, now)
}

func (j Job) message(id messages.ID, slot, now time.Time) channels.Message {
	return channels.Message{
		Event: id.String(), Kind: channels.Said, Channel: j.Channel, Address: j.To, Job: j.Name,
		Sender: channels.Sender{ID: messages.JobSender(j.Name)}, Text: j.Prompt, Mentioned: true, SentAt: slot, ReceivedAt: now,
	}
}

// Refusal returns why a run that m asks for, in the conversation of key, does not begin with the job as
// it is configured now; empty: it begins. A job that the configuration has no more is the zero Job.
func (j Job) Refusal(m channels.Message, key sessionkeys.Key) string {
	switch {
	case j.Name == "" || j.Name != m.Job:
		return "the job is not configured any more"
	case j.Key != key || j.Channel != m.Channel || j.To != m.Address:
		return "the job has another agent or another address now"
	case !j.Enabled && strings.HasPrefix(m.Event, messages.ID{Kind: messages.JobSlot}.String()):
		return "the job is not enabled any more"
	}
	return ""
}

// spec returns what the job's slots follow from.
func (j Job) spec() string {
	s := j.Timing.String() + " " + j.Timing.Zone()
	if !j.Since.IsZero() {
		s += " since " + j.Since.UTC().Format(time.RFC3339Nano)
	}
	return s
}
