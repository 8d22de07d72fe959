package faulttest

import (
	"context"
	"math"
	"regexp"
	"strconv"

	"parley/costs"
	"parley/gateway/admin"
)

// holdings is what a process holds while nothing is asked of it.
type holdings struct{ files, goroutines int }

// slack is what a process that did a lot may hold more than one that just
// started: connections of pools, blocks of the log that are open.
const slack = 32

// Finish ends the run in order and gives the checker's report; whatever it found
// fails the test. The processes are asked to end and must do so with status 0.
func (r *Run) Finish() *Report {
	r.t.Helper()
	r.settle()
	var leaks []Violation
	if r.o.Expect == "" {
		leaks = leakCheck{r}.findLeaks()
	}
	usage := r.fetchUsage()
	exported := r.exportedCost(costs.Amount(usage.Cost))
	for i, s := range r.slots {
		s.stop(func(p *Process) {
			if err := p.Term(); err != nil {
				if _, fault := p.wasKilled(); !fault {
					r.t.Errorf("process %d did not end in order: %v\n%s", i, err, logTail(p.Log))
				}
			}
		})
	}
	store, err := r.Base.Store(r.t.Context())
	if err != nil {
		r.t.Fatalf("open the store: %v", err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			r.t.Errorf("close the store: %v", err)
		}
	}()
	rows, err := readLedger(r.t.Context(), store)
	if err != nil {
		r.t.Fatal(err)
	}
	logs, err := readLogs(r.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	report := Check(r.Workload, Evidence{
		Telegram: r.Telegram.Books(), Bill: r.Model.Bill(), Requests: r.Model.Requests(), Faults: r.faults.all(), Ledger: rows, Unasked: logs.unasked,
		JobsFrom: r.jobsFrom, JobsThrough: r.jobsThrough, JobsPassed: logs.passed,
	})
	report.Extra = report.Calls - r.Workload.Calls()
	report.Violations = append(report.Violations, leaks...)
	for _, p := range livingProcesses(r.id) {
		report.add(Orphan, "%s", p)
	}
	if err := report.checkTrees(r.t.Context(), r.Workload, store); err != nil {
		r.t.Error(err)
	}
	report.checkShown(rows, exported, usage)
	r.t.Logf("%s, seed %d: %s", r.o.Engine.Name, r.o.Seed, report)
	if r.o.Expect != "" {
		if !report.Has(r.o.Expect) {
			r.t.Errorf("seed %d: nothing is %s, so this row proves nothing", r.o.Seed, r.o.Expect)
		}
		return report
	}
	if len(report.Violations) > 0 {
		r.t.Errorf("seed %d:\n%s", r.o.Seed, report.lines())
	}
	return report
}

// settle waits until nothing is under way: nobody asks the model, every update is
// confirmed, every process is up.
func (r *Run) settle() {
	r.t.Helper()
	r.Await("the end of all work", func() bool {
		return r.IsUp() && r.Model.Bill().Open == 0 && r.Telegram.Books().Pending[Username] == 0
	})
}

// leakCheck looks at what the processes of a run hold.
type leakCheck struct{ *Run }

// findLeaks compares what each process holds with what a fresh one may hold. Idle
// connections are cut first: they are no leak. The first life was counted when it
// was there, which a process that stood still meanwhile is before it has begun all
// its work. So before one is accused, its next life is given the time to come to
// hold as much.
func (r leakCheck) findLeaks() []Violation {
	r.t.Helper()
	r.awaitQuiet()
	var found Report
	for i := range r.slots {
		now, ok := r.awaitRest(i, func(now holdings) bool { return now.isWithin(r.fresh) })
		if !ok {
			r.Restart(i)
			r.fresh, ok = r.awaitRest(i, now.isWithin)
		}
		r.t.Logf("process %d at rest: %d files, %d goroutines; fresh: %d, %d", i, now.files, now.goroutines, r.fresh.files, r.fresh.goroutines)
		if !ok {
			found.add(Leak, "process %d holds %d files and %d goroutines although nothing is asked of it; a fresh one %d and %d",
				i, now.files, now.goroutines, r.fresh.files, r.fresh.goroutines)
		}
	}
	return found.Violations
}

// awaitQuiet waits until no turn is owed, as one is that a preview showed whole before its
// process was killed: its last call is booked after it. And until no answer is on its way, as
// one is whose send is put off: to cut its connection would be a fault that the judge does not
// know. What stays there the judge tells.
func (r leakCheck) awaitQuiet() {
	ctx, cancel := context.WithTimeout(r.t.Context(), Patience/4)
	defer cancel()
	r.WaitUntil(ctx, func() bool {
		st, err := r.Admin().Status(ctx)
		return err == nil && !st.Uncounted && st.Work.Running+st.Work.Waiting+st.Outbox.Pending == 0
	})
}

// isWithin reports whether it is no more than a process at rest may hold.
func (i holdings) isWithin(fresh holdings) bool {
	return i.files > 0 && i.files <= fresh.files+slack && i.goroutines <= fresh.goroutines+slack
}

// awaitRest waits until process number i holds what is enough.
func (r leakCheck) awaitRest(i int, enough func(holdings) bool) (now holdings, ok bool) {
	ctx, cancel := context.WithTimeout(r.t.Context(), Patience/4)
	defer cancel()
	p := r.Process(i)
	ok = r.WaitUntil(ctx, func() bool {
		r.ModelLine.ResetIdle()
		r.TelegramLine.ResetIdle()
		r.readHoldings(ctx, p, &now)
		return enough(now)
	})
	return now, ok
}

var goroutinesIn = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)

// readHoldings reads what the process holds into now, if it can be asked.
func (r leakCheck) readHoldings(ctx context.Context, p *Process, now *holdings) {
	page, err := p.Get(ctx, "/metrics")
	if err != nil {
		return
	}
	if m := goroutinesIn.FindStringSubmatch(page); m != nil {
		now.goroutines, _ = strconv.Atoi(m[1])
	}
	if n, err := p.Descriptors(); err == nil {
		now.files = n
	}
}

var costIn = regexp.MustCompile(`(?m)^parley_(?:llm|tool)_cost_usd_total\{[^}]*\} (\S+)$`)

// exportedCost returns the sum of the cost counters of all processes, in dollars. It waits
// for the one that is to come: of several processes one exports, by a lease.
func (r *Run) exportedCost(want costs.Amount) (sum float64) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), Patience)
	defer cancel()
	r.WaitUntil(ctx, func() bool {
		sum = 0
		for i := range r.slots {
			page, err := r.Process(i).Get(r.t.Context(), "/metrics")
			if err != nil {
				r.t.Errorf("process %d: %v", i, err)
				return true
			}
			for _, m := range costIn.FindAllStringSubmatch(page, -1) {
				v, err := strconv.ParseFloat(m[1], 64)
				if err != nil {
					r.t.Errorf("process %d exports the cost %q", i, m[1])
				}
				sum += v
			}
		}
		return isNear(sum, want)
	})
	return sum
}

func isNear(dollars float64, a costs.Amount) bool { return math.Abs(dollars-a.Dollars()) < 1e-9 }

// Admin asks process 0 what its operator may.
func (r *Run) Admin() *admin.Client { return admin.NewClient(r.Base.Socket(0)) }

// fetchUsage returns what parley usage says.
func (r *Run) fetchUsage() admin.Usage {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), Patience)
	defer cancel()
	report, err := r.Admin().Usage(ctx, admin.UsageQuery{By: "model"})
	if err != nil {
		r.t.Errorf("ask process 0 for the usage: %v", err)
	}
	return report.Total
}

// checkShown holds what operators are shown to the ledger's rows.
func (r *Report) checkShown(rows []costs.Entry, exported float64, usage admin.Usage) {
	var sum costs.Amount
	for _, row := range rows {
		sum += row.Amount
	}
	if costs.Amount(usage.Cost) != sum || usage.Calls != int64(len(rows)) {
		r.add(Money, "parley usage says %s for %d calls, the ledger %s for %d", costs.Amount(usage.Cost), usage.Calls, sum, len(rows))
	}
	if !isNear(exported, sum) {
		r.add(Money, "Prometheus shows %v dollars, the ledger holds %v", exported, sum.Dollars())
	}
}
