package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/disks"
)

// Beyond these a gateway is not fine.
const (
	failedParts = 10 // of a hundred: of the turns of the last minutes
	longWait    = 5 * time.Minute
	fullParts   = 90 // of a hundred: of the log
	usedParts   = 95 // of a budget, because a call must fit into what is left
	lostFor     = 24 * time.Hour
	oldPrices   = 180 * 24 * time.Hour
)

// assess says what is not fine. Dead letters that a stranger can cause are not among it.
func (st *Status) assess() {
	not := func(format string, a ...any) { st.Problems = append(st.Problems, fmt.Sprintf(format, a...)) }
	for _, c := range st.Checks {
		if !c.OK {
			not("%s: %s", c.Name, c.Problem)
		}
	}
	if !st.Ready && len(st.Problems) == 0 {
		not("the gateway is not ready")
	}
	st.Problems = append(st.Problems, st.Reload.problems(st.Now)...)
	for _, c := range st.Channels {
		if !c.Up && !c.Elsewhere {
			since := ""
			if !c.Changed.IsZero() {
				since = " for " + st.Now.Sub(c.Changed).Round(time.Second).String()
			}
			not("the channel %s is not connected%s; the log says why (channel=%s)", c.Name, since, c.Name)
		}
	}
	for _, c := range st.Circuits {
		st.Problems = append(st.Problems, c.problem(st.Now))
	}
	st.Problems = append(st.Problems, st.Recent.modelProblems(st.Now)...)
	st.Problems = append(st.Problems, st.Recent.problems(st.Now)...)
	if b := st.Sandbox; b != nil && !b.Usable {
		not("programs cannot be walled in on this machine, so no agent has the tools that run some (%s): %s", strings.Join(b.Tools, ", "), strings.Join(b.Reasons, "; "))
	}
	if b := st.Sandbox; b != nil && b.Usable && len(b.Missing) > 0 {
		not("the program of these tools is not on this machine, so no agent has them: %s", strings.Join(b.Missing, ", "))
	}
	if b := st.Sandbox; b != nil && b.Usable && !b.Confines && len(b.Hosts) > 0 {
		not("programs cannot be kept to a list of hosts at level %s, so these tools do not run: %s", b.Level, strings.Join(ReachingTools(b.Hosts), ", "))
	}
	st.assessServers(not)
	st.assessLetters(not)
	st.assessBacklog(not)
	st.assessRoom(not)
	st.Fine = len(st.Problems) == 0
}

// add says one thing more that is not fine.
func (st *Status) add(problem string) {
	st.Problems, st.Fine = append(st.Problems, problem), false
}

// assessLetters says what was given up.
func (st *Status) assessLetters(not func(format string, a ...any)) {
	if st.GivenUp {
		not("%s given up, the oldest %s ago; see why with parley dead-letters ls, then redeliver or drop them",
			givenUpPhrase(st.DeadLetters), st.Now.Sub(st.DeadSince).Round(time.Second))
	}
}

// assessBacklog says what waits for too long.
func (st *Status) assessBacklog(not func(format string, a ...any)) {
	if w := st.Work; w.Waiting > 0 && st.Now.Sub(w.WaitsSince) > longWait {
		not("a conversation waits for %s", st.Now.Sub(w.WaitsSince).Round(time.Second))
	}
	if o := st.Outbox; o.Pending > 0 && st.Now.Sub(o.PendingSince) > longWait {
		not("an answer waits for %s to be sent", st.Now.Sub(o.PendingSince).Round(time.Second))
	}
}

// assessRoom says what is nearly full, nearly spent, or old.
func (st *Status) assessRoom(not func(format string, a ...any)) {
	if l := st.Log; l.MaxBytes > 0 && l.Bytes >= uint64(l.MaxBytes)/100*fullParts {
		not("the message log is nearly full: when it is, nothing new is accepted (broker.max_bytes)")
	}
	if l := st.Dead; l.MaxBytes > 0 && l.Bytes >= uint64(l.MaxBytes)/100*usedParts {
		not("the dead letters are nearly full: when they are, a message that cannot be answered holds up its conversation (parley dead-letters ls)")
	}
	if d := (disks.Space{Free: st.Disk.FreeBytes, Size: st.Disk.Bytes}); d.IsLow() {
		not("the disk of %s is nearly full, %d MiB are free: when it is, nothing new is accepted", st.StateDir, d.Free>>20)
	}
	for _, b := range st.Spend.Budgets {
		if b.Limit > 0 && b.Spent >= b.Limit/100*usedParts {
			not("the budget %s is used up or nearly: %s of %s", b.Name, b.Spent, b.Limit)
		}
	}
	if p := st.PricesOf; !p.IsZero() && st.Now.Sub(p) > oldPrices {
		not("the newest price of models is of %s, and costs may be wrong by now: use a newer parley, or a list of your own (prices.file)", p.Format(time.DateOnly))
	}
}

// problems says why the configuration in force is not the one on disk.
func (r ReloadStatus) problems(now time.Time) []string {
	switch {
	case r.Problem != "":
		return []string{fmt.Sprintf("the configuration was not reloaded %s ago, and the one of %s holds; with these mistakes the gateway would not start again: %s",
			now.Sub(r.At).Round(time.Second), r.Since.UTC().Format(time.RFC3339), firstLine(r.Problem))}
	case r.PricesWrong:
		return []string{"the changed list of prices was not taken; the log says why (prices not reloaded)"}
	}
	return nil
}

// problem says since when a model is not called, and when it is tried.
func (c Circuit) problem(now time.Time) string {
	again := "a call tries it now"
	if !c.Probing {
		again = "the next call tries it"
		if wait := c.Until.Sub(now); wait > 0 {
			again = "a call tries it again in " + wait.Round(time.Second).String()
		}
	}
	return fmt.Sprintf("%s/%s is not called for %s, after %s in a row, the last with %s; %s; %s", c.Provider, c.Model,
		now.Sub(c.Since).Round(time.Second), plural(c.Failures, "failure"), c.Reason, again, remedy(RecentModel{Provider: c.Provider, LastError: c.Reason}))
}

// modelProblems says which models fail, and what to do.
func (r Recent) modelProblems(now time.Time) (all []string) {
	for _, m := range r.Models {
		if m.isFailing() {
			all = append(all, fmt.Sprintf("%s/%s fails: %d of %s in the last %d minutes, the last with %s %s ago; %s", m.Provider, m.Model, m.Failed, plural(m.Calls, "call"),
				r.Minutes, m.LastError, now.Sub(m.LastErrorAt).Round(time.Second), remedy(m)))
		}
	}
	return all
}

// problems says what else went wrong lately.
func (r Recent) problems(now time.Time) (all []string) {
	if r.FailedTurns*100 > r.Turns*failedParts {
		all = append(all, fmt.Sprintf("%d of %s in the last %d minutes failed, and people were told so; the log says why (turn ended early)", r.FailedTurns, plural(r.Turns, "turn"), r.Minutes))
	}
	if r.Lost > 0 && now.Sub(r.LostAt) < lostFor {
		all = append(all, fmt.Sprintf("%s that had been accepted is missing from the message log, as found %s ago; the log says what is known of it, and which chats were told",
			plural(r.Lost, "message"), now.Sub(r.LostAt).Round(time.Second)))
	}
	if r.LedgerErrors > 0 {
		all = append(all, fmt.Sprintf("%s of the ledger could not be written at once in the last %d minutes; each is written again with its turn; look whether the store works", plural(r.LedgerErrors, "row"), r.Minutes))
	}
	return all
}

// Notes says of each part of the work "ok", or what people notice, beside what readiness depends
// on; only from what the process knows by itself.
func Notes(r Recent, open []Circuit, c ReloadStatus, now time.Time) map[string]string {
	models := r.modelProblems(now)
	for _, o := range open {
		models = append(models, o.problem(now))
	}
	var configuration []string
	if len(c.problems(now)) > 0 { // which quote the file
		configuration = []string{"the changed configuration or list of prices is not in force; parley status says why"}
	}
	return map[string]string{"models": note(models), "turns": note(r.problems(now)), "configuration": note(configuration)}
}

// note returns "ok", or what is wrong.
func note(problems []string) string {
	if len(problems) == 0 {
		return "ok"
	}
	return strings.Join(problems, "; ")
}

// Notes says, as the function of that name does, whether messages were given up and wait for a
// person, and whether something is nearly full or the prices are old.
func (s *Server) Notes(ctx context.Context) map[string]string {
	st := Status{Now: s.o.Now().UTC(), StateDir: s.o.StateDir}
	statusDesk{s.o, s.started}.measure(ctx, &st)
	var letters, room []string
	st.assessLetters(func(format string, a ...any) { letters = append(letters, fmt.Sprintf(format, a...)) })
	st.assessRoom(func(format string, a ...any) { room = append(room, fmt.Sprintf(format, a...)) })
	return map[string]string{"given up": note(letters), "room and prices": note(append(st.Problems, room...))}
}

// firstLine returns the first line of a text, and how many more there are.
func firstLine(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if more {
		first += fmt.Sprintf(" (and %s)", plural(strings.Count(rest, "\n")+1, "more line"))
	}
	return first
}
