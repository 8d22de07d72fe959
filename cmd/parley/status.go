package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/tools/mcp"
)

func statusCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "status",
		Short: "Say how the gateway that runs is",
		Long: `status asks the gateway that runs on the configuration's state folder. It ends with
0 when all is well, with 1 when something is wrong, which it says, and with 69
when no gateway runs there.`,
	}, func(ctx context.Context, ask *admin.Client, _ []string) (admin.Status, error) {
		st, err := ask.Status(ctx)
		if err == nil && !st.Fine {
			err = verdict{errors.New("something is wrong: " + sanitize(strings.Join(st.Problems, "; ")))}
		}
		return st, err
	}, printStatus)
}

func printStatus(b *bytes.Buffer, st admin.Status) {
	p := statusPage{b}
	p.addProcess(st)
	for _, c := range st.Channels {
		p.line("channel", "%s: %s", c.Name, channelState(st, c))
	}
	p.addWork(st)
	for _, m := range st.Recent.Models {
		last := ""
		if m.Failed > 0 {
			last = fmt.Sprintf(" (%.0f %%), the last with %s %s", 100*float64(m.Failed)/float64(m.Calls), sanitize(m.LastError), formatAgo(st.Now, m.LastErrorAt))
		}
		p.line("model", "%s/%s: %s in the last %d minutes, %d failed%s", sanitize(m.Provider), sanitize(m.Model), plural(m.Calls, "call"), st.Recent.Minutes, m.Failed, last)
	}
	if !st.Uncounted {
		p.line("answers", "%d to send, %d that may have arrived already", st.Outbox.Pending, st.Outbox.Ambiguous)
	}
	dead := "none"
	if st.DeadLetters > 0 {
		dead = strconv.FormatUint(st.DeadLetters, 10)
		if !st.DeadSince.IsZero() {
			dead += ", the oldest since " + formatTime(st.DeadSince)
		}
		dead += " (parley dead-letters ls)"
	}
	p.line("dead letters", "%s", dead)
	p.addSpend(st)
	p.addRoom(st)
}

// statusPage is what parley status prints: a name and a text in each line.
type statusPage struct{ *bytes.Buffer }

func (p statusPage) line(name, format string, a ...any) {
	fmt.Fprintf(p.Buffer, "%-14s "+format+"\n", append([]any{name}, a...)...)
}

// addProcess adds what runs, and with which configuration and servers.
func (p statusPage) addProcess(st admin.Status) {
	fmt.Fprintf(p.Buffer, "parley %s, process %d, on %s\n", sanitize(st.Version), st.PID, sanitize(st.StateDir))
	p.line("running since", "%s (%s)", formatTime(st.Since), formatDuration(st.Now.Sub(st.Since)))
	p.line("ready", "%s", readiness(st))
	configuration := "as of " + formatTime(st.Reload.Since)
	if st.Reload.Problem != "" {
		configuration += ", not reloaded " + formatAgo(st.Now, st.Reload.At)
	}
	p.line("configuration", "%s", configuration)
	for _, path := range st.Reload.NeedRestart {
		p.line("needs restart", "%s", sanitize(path))
	}
	if b := st.Sandbox; b != nil {
		p.line("sandbox", "%s", sandboxState(*b))
		if b.Usable {
			p.line("limits", "%s", sandboxLimits(*b))
		}
	}
	for _, s := range st.MCP {
		p.line("MCP server", "%s", serverInBrief(st, s))
	}
}

// channelState returns whether a bot account receives messages, in the words of parley status.
func channelState(st admin.Status, c admin.ChannelStatus) string {
	state := "not connected"
	switch {
	case c.Up:
		state = "up"
	case c.Elsewhere:
		state = "another process has it"
	}
	if !c.Changed.IsZero() && !c.Elsewhere {
		state += " for " + formatDuration(st.Now.Sub(c.Changed))
	}
	state += ", last event " + formatAgo(st.Now, c.LastEvent)
	if c.Note != "" {
		state += " (" + sanitize(c.Note) + ")"
	}
	return state
}

// addSpend adds what is spent today, and of which budgets.
func (p statusPage) addSpend(st admin.Status) {
	if st.Uncounted {
		return
	}
	spent, held, ofBudgets := st.Spend.Format()
	if st.Spend.Held > 0 {
		spent += fmt.Sprintf(", and %s held", held)
	}
	p.line("spent today", "%s (%s UTC)", spent, st.Spend.Day)
	for i, l := range st.Spend.Budgets {
		p.line("budget", "%s of %s (%s)", ofBudgets[i], l.Limit, l.Name)
	}
}

// addWork adds the turns, and what waits for a person or for its time.
func (p statusPage) addWork(st admin.Status) {
	if st.Uncounted {
		p.line("work", "not known, nor answers to send and what is spent: the store does not say it")
	} else {
		p.addCounted(st)
	}
	p.line("turns", "%s in the last %d minutes, %d failed", plural(st.Recent.Turns, "turn"), st.Recent.Minutes, st.Recent.FailedTurns)
}

// addCounted adds the part of the work that the store knows.
func (p statusPage) addCounted(st admin.Status) {
	work := plural(st.Work.Running, "turn") + " running, " + plural(st.Work.Waiting, "conversation") + " waiting"
	if st.Work.Waiting > 0 {
		work += ", the first for " + formatDuration(st.Now.Sub(st.Work.WaitsSince))
	}
	p.line("work", "%s", work)
	if st.Work.Asked > 0 {
		p.line("permissions", "%s for somebody's permission: parley approvals ls", plural(st.Work.Asked, "call")+" waiting")
	}
	if st.Pairing > 0 {
		p.line("pairing", "%s: parley pair ls", plural(st.Pairing, "code")+" waiting")
	}
	if c := st.Schedules; c.Jobs > 0 {
		text := plural(c.Jobs, "job")
		if c.People > 0 {
			text += fmt.Sprintf(" (%d of people)", c.People)
		}
		if !c.Next.IsZero() {
			text += ", the next at " + formatTime(c.Next)
		}
		if c.Failing > 0 {
			text += fmt.Sprintf(", %d failing: parley cron ls", c.Failing)
		}
		p.line("schedules", "%s", text)
	}
}

// addRoom adds how large what is stored is, how long it is kept, and how old the prices are.
func (p statusPage) addRoom(st admin.Status) {
	limit := ""
	if st.Log.MaxBytes > 0 {
		limit = " of " + formatSize(uint64(st.Log.MaxBytes))
	}
	p.line("message log", "%s%s, %s", formatSize(st.Log.Bytes), limit, plural(st.Log.Messages, "message"))
	p.line("database", "%s", formatSize(uint64(st.StoreBytes)))
	if r := st.Retention; r != nil {
		p.line("retention", "sessions for %s, %d deleted since the start", formatDuration(time.Duration(r.Seconds)*time.Second), r.Deleted)
	}
	if st.Disk.Bytes > 0 {
		p.line("disk", "%s of %s free", formatSize(uint64(max(st.Disk.FreeBytes, 0))), formatSize(uint64(st.Disk.Bytes)))
	}
	if !st.PricesOf.IsZero() {
		p.line("prices", "the newest of %s", st.PricesOf.UTC().Format(time.DateOnly))
	}
}

func readiness(st admin.Status) string {
	if st.Ready {
		return "yes"
	}
	var why []string
	for _, c := range st.Checks {
		if !c.OK {
			why = append(why, c.Name+": "+c.Problem)
		}
	}
	return "no: " + sanitize(strings.Join(why, "; "))
}

// serverInBrief says how an MCP server is, and which of its tools agents have.
func serverInBrief(st admin.Status, s mcp.Status) string {
	text := sanitize(s.Name) + ": " + string(s.State) + " for " + formatDuration(st.Now.Sub(s.Since))
	for _, t := range s.Tools {
		text += ", " + sanitize(t.Tool) + " (" + string(t.Category)
		if t.State != mcp.Offered {
			text += ", " + string(t.State)
		}
		text += ")"
	}
	return text
}

// sandboxLimits says what the limits of programs hold for.
func sandboxLimits(b admin.Sandbox) string {
	if b.LimitsOfRuns {
		return "memory and processes of each run of a program, as a whole"
	}
	return "memory of each process that a program starts: " + sanitize(b.LimitsReason)
}

// sandboxState says which walls there are around the programs of tools.
func sandboxState(b admin.Sandbox) string {
	why := ""
	if len(b.Reasons) > 0 {
		why = ": " + sanitize(strings.Join(b.Reasons, "; "))
	}
	state := "level " + sanitize(b.Level)
	if b.Backend == "bubblewrap" {
		state += " by bubblewrap"
	}
	switch {
	case !b.Usable:
		return "none, so these tools are not offered: " + sanitize(strings.Join(b.Tools, ", ")) + why
	case b.Level == "D":
		state = "none"
	case len(b.Network) > 0:
		state += ", with this machine's network for " + sanitize(strings.Join(b.Network, ", "))
	}
	text := state + why
	if len(b.Missing) > 0 {
		text += "; " + sanitize(strings.Join(b.Missing, ", ")) + ": not offered, because its program is not on this machine"
	}
	for _, r := range b.Hosts {
		tools, hosts := sanitize(strings.Join(r.Tools, ", ")), sanitize(strings.Join(r.Hosts, ", "))
		if b.Confines {
			text += "; " + tools + ": the network of " + hosts + " alone"
		} else {
			text += "; " + tools + ": not run, because programs cannot be kept to a list of hosts here"
		}
	}
	return text
}
