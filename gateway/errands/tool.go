package errands

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/records"
	"parley/gateway/roles"
	"parley/gateway/schedule"
	"parley/tools"
)

// ToolName names the tool by which agents schedule something for who asks.
const ToolName = "schedule"

//go:embed schedule.md
var aboutTool string

const (
	mostAhead = 366 * 24 * time.Hour
	mostTask  = 2000
	clockForm = "2006-01-02T15:04"
)

// input is what a call may say.
type input struct {
	Action    string `json:"action" jsonschema:"what to do" enum:"list,add,remove"`
	Task      string `json:"task,omitempty" jsonschema:"add: what you are to do then, as an instruction to yourself that says all it needs, such as: Remind me to call the dentist" maxLength:"2000"`
	Schedule  string `json:"schedule,omitempty" jsonschema:"add, for something that recurs: minute, hour, day, month, weekday, as in a crontab; 0 9 * * 1-5 is every weekday at 9:00"`
	At        string `json:"at,omitempty" jsonschema:"add, for something once: the local time, as 2026-11-27T08:00"`
	InMinutes int    `json:"in_minutes,omitempty" jsonschema:"add, for something once: in how many minutes" minimum:"1" maximum:"527040"`
	TimeZone  string `json:"time_zone,omitempty" jsonschema:"add: the IANA name of the person's time zone, such as Europe/Berlin, if they said where they are"`
	ID        string `json:"id,omitempty" jsonschema:"remove: which, as list names it"`
}

// Validate says what no schema can.
func (in input) Validate() error {
	given := 0
	for _, is := range []bool{in.Schedule != "", in.At != "", in.InMinutes != 0} {
		if is {
			given++
		}
	}
	_, command := messages.ParseCommand(in.Task)
	switch {
	case in.Action == "remove" && in.ID == "":
		return errors.New("remove needs the id that list says")
	case in.Action != "add":
		return nil
	case strings.TrimSpace(in.Task) == "":
		return errors.New("add needs a task: what you are to do then")
	case command:
		return errors.New("the task begins like a command; say in words what is to be done")
	case len(in.Task) > mostTask:
		return fmt.Errorf("a task of %d bytes is longer than %d", len(in.Task), mostTask)
	case given != 1:
		return errors.New("add needs one of schedule, at and in_minutes")
	}
	return nil
}

func (in input) category() tools.Category {
	if in.Action == "list" {
		return tools.Read
	}
	return tools.Write
}

// binder is the tool, whose calls may be made again: what a call makes is known by the call.
type binder struct{ tools.Tool }

var (
	_ tools.Resumable = binder{}
	_ tools.Checker   = binder{}
	_ tools.Announcer = binder{}
)

func (binder) Resumable() bool { return true }

var announce = tools.Announcement{Doing: "Scheduling", Of: "action"}

func (binder) Announcement() tools.Announcement { return announce }

// Check implements [tools.Checker].
func (b binder) Check(a tools.Arguments) error {
	if c, ok := b.Tool.(tools.Checker); ok {
		return c.Check(a) // it is a sentence for the model
	}
	return nil
}

// Refusals, which the model reads.
var (
	errNoPerson = tools.Errorf(tools.Permanent, "nothing can be scheduled from here: only a person's own turn can")
	errNoRight  = tools.Errorf(tools.Permanent, "who asks may not schedule anything here; tell them so")
	errNoSuch   = tools.Errorf(tools.Permanent, "there is no schedule of that id here; list says which there are")
	errNotTheir = tools.Errorf(tools.Permanent, "that schedule is another person's, and who asks may not remove it; tell them so")
)

// NewTool makes the tool as a model sees it. It schedules nothing until Bind binds it to a turn.
func NewTool() (tools.Tool, error) { return newTool(nil, Caller{}) }

// Bind returns the tool for a turn of a caller, whose role is read anew with each call.
func (d *Desk) Bind(c Caller) (tools.Tool, error) { return newTool(d, c) }

// unbound is the tool that schedules nothing, with its schema; see tools.WithRun.
var unbound = sync.OnceValues(func() (tools.Tool, error) {
	return tools.New(ToolName, aboutTool, input.category, func(context.Context, input, tools.Call) (tools.Result, error) {
		return tools.Result{}, errNoPerson
	}, announce)
})

func newTool(d *Desk, who Caller) (tools.Tool, error) {
	t, err := unbound()
	if err != nil {
		return nil, fmt.Errorf("make the tool %s: %w", ToolName, err)
	}
	if d == nil || !d.Config.Enabled {
		return binder{t}, nil
	}
	return binder{tools.WithRun(t, func(ctx context.Context, in input, c tools.Call) (tools.Result, error) {
		text, err := d.serve(ctx, who, in, fmt.Sprintf("%s/%s/%d/%s", c.Session, c.Turn, c.Step, c.ID))
		return tools.Result{Content: text}, err
	})}, nil
}

// serve does what a call says, which by names.
func (d *Desk) serve(ctx context.Context, c Caller, in input, by string) (string, error) {
	may, err := d.Judge(ctx, channels.Message{Kind: channels.Said, Channel: c.Channel, Address: c.At, Sender: c.Sender, Mentioned: true})
	switch {
	case err != nil:
		return "", unfinished("look at who asks", err)
	case may.Unknown:
		return "", errNoPerson
	case !may.Role.May(roles.Schedule):
		return "", errNoRight
	}
	c.Role = may.Role
	switch in.Action {
	case "add":
		return d.add(ctx, c, in, by)
	case "remove":
		e, err := d.Remove(ctx, c, strings.ToLower(in.ID))
		switch {
		case errors.Is(err, ErrNone):
			return "", errNoSuch
		case errors.Is(err, ErrOthers):
			return "", errNotTheir
		case err != nil:
			return "", unfinished("remove a schedule", err)
		}
		return fmt.Sprintf("Removed %s: %s", e.Code(), e.Task), nil
	}
	text, err := d.Describe(ctx, c)
	if err != nil {
		return "", unfinished("list schedules", err)
	}
	zone, err := d.zoneOf(ctx, c)
	if err != nil {
		return "", unfinished("look for the time zone", err)
	}
	at, err := schedule.LoadZone(zone)
	if err != nil {
		return "", tools.Errorf(tools.Permanent, "%w", err)
	}
	return fmt.Sprintf("It is %s (%s).\n%s", d.Book.Now().In(at).Format("Monday 2006-01-02 15:04"), zone, cmp.Or(text, "Nothing is scheduled here.")), nil
}

// zoneOf returns the time zone in which a caller tells times: that of what they scheduled last, or the
// configuration's.
func (d *Desk) zoneOf(ctx context.Context, c Caller) (string, error) {
	own, err := d.Book.Of(ctx, c.Channel, c.Sender.ID)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return "", err
	}
	last := Errand{Zone: d.Config.TimeZone}
	for _, e := range own {
		if e.Made.After(last.Made) {
			last = e
		}
	}
	return last.Zone, nil
}

// add keeps an errand, unless the same call has done that before a crash.
func (d *Desk) add(ctx context.Context, c Caller, in input, by string) (string, error) {
	made, err := d.Book.Find(ctx, nameOf(c.Channel, c.Sender.ID, by))
	if err == nil {
		return d.confirm(ctx, made)
	}
	if !errors.Is(err, ErrNone) {
		return "", unfinished("look for what the call has scheduled", err)
	}
	zone := in.TimeZone
	if zone == "" {
		if zone, err = d.zoneOf(ctx, c); err != nil {
			return "", unfinished("look for the time zone", err)
		}
	}
	now := d.Book.Now().UTC()
	e := Errand{Channel: c.Channel, Person: c.Sender.ID, Alias: c.Sender.Alias, To: c.At, Task: strings.TrimSpace(in.Task), Schedule: in.Schedule, Zone: zone, Made: now}
	if err := d.setTime(&e, in, now); err != nil {
		return "", tools.Errorf(tools.Permanent, "%w", err)
	}
	e, err = d.Book.Add(ctx, e, by, d.Config.PerPerson)
	switch {
	case errors.Is(err, ErrTooMany):
		return "", tools.Errorf(tools.Permanent, "who asks has %d schedules already, and more are not possible; one has to be removed first", d.Config.PerPerson)
	case errors.Is(err, ErrFull):
		return "", tools.Errorf(tools.Permanent, "no more schedules can be kept for anybody; the operator has to know")
	case err != nil:
		return "", unfinished("keep a schedule", err)
	}
	d.Log.Info("schedule made", "job", e.Name, "channel", e.Channel, "person", e.Person, "schedule", e.Schedule, "once", e.Once, "zone", e.Zone)
	return d.confirm(ctx, e)
}

// confirm says what was scheduled, and what it will cost.
func (d *Desk) confirm(ctx context.Context, e Errand) (string, error) {
	text := fmt.Sprintf("Scheduled as %s.", d.describe(e, d.Book.Now()))
	if d.Estimate == nil {
		return text, nil
	}
	cost, err := d.Estimate(ctx, e)
	if err != nil {
		return "", unfinished("estimate the cost of a schedule", err)
	}
	return text + " " + cost, nil
}

// setTime sets when e is due.
func (d *Desk) setTime(e *Errand, in input, now time.Time) error {
	if in.Schedule != "" {
		t, err := e.Timing()
		if err != nil {
			return err
		}
		if gap := t.LeastGap(); gap > 0 && gap < d.Config.Shortest {
			return fmt.Errorf("that is due again after %s, and a schedule may be due once in %s; make it rarer", gap, d.Config.Shortest) // the text is for the model
		}
		return nil
	}
	e.Once = now.Add(time.Duration(in.InMinutes) * time.Minute)
	if in.At != "" {
		wall, err := time.Parse(clockForm, in.At)
		if err != nil {
			return fmt.Errorf("%q is not a local time such as 2026-11-27T08:00", in.At) // the text is for the model
		}
		t, err := schedule.NewOnceOnClock(wall, e.Zone)
		if err != nil {
			return err // it says what is wrong
		}
		e.Once = t.Next(time.Time{})
	}
	if _, err := e.Timing(); err != nil {
		return err
	}
	if !e.Once.After(now) || e.Once.After(now.Add(mostAhead)) {
		return fmt.Errorf("%s is not within a year from now", cmp.Or(in.At, "that time")) // the text is for the model
	}
	return nil
}

// Describe returns a line for each schedule that a caller sees; empty: there is none.
func (d *Desk) Describe(ctx context.Context, c Caller) (string, error) {
	all, err := d.Visible(ctx, c)
	if err != nil {
		return "", err
	}
	now := d.Book.Now()
	var lines []string
	for _, e := range all {
		line := d.describe(e, now)
		if e.Person != c.Sender.ID {
			line += " (another person's)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// describe returns the code of an errand, when it is due, and what is to be done.
func (d *Desk) describe(e Errand, now time.Time) string {
	t, err := e.Timing()
	if err != nil {
		return fmt.Sprintf("%s: never, as %v: %s", e.Code(), err, e.Task)
	}
	zone, err := schedule.LoadZone(e.Zone)
	if err != nil {
		zone = time.UTC
	}
	next, how := t.Next(now), fmt.Sprintf("`%s`, next on", e.Schedule)
	if !e.Once.IsZero() { // which may be past when a call is made again
		next, how = e.Once, "once, on"
	}
	when := fmt.Sprintf("%s %s (%s)", how, next.In(zone).Format("Monday 2006-01-02 15:04"), zone)
	return fmt.Sprintf("%s: %s: %s", e.Code(), when, e.Task)
}

// unfinished reports that the turn cannot go on, not that the tool failed.
func unfinished(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, tools.ErrUnfinished, err)
}
