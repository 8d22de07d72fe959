package faulttest

import "parley/simulators/model"

// titles is what the configuration says about titles.
func (l *Workload) titles() string {
	if l.Shape.Titles {
		return "{model: sim/demo}"
	}
	return "{off: true}"
}

// maxTitles is how often a title of one conversation may be asked for.
const maxTitles = 2

// checkTitles looks at how often a title was asked for: again only when the cost of the call
// before is not known, which is stored together with its words, and twice at most. What the model
// refused was no title.
func (r *Report) checkTitles(b Evidence) {
	settled, before := settledRequests(b), map[string][]string{} // by canary
	refused := map[string]bool{}
	for _, e := range b.Bill.Entries {
		refused[e.ID] = e.Outcome == model.Refused
	}
	for _, q := range b.Requests {
		canary := string(canaryIn.Find(q.Body))
		if !asksTitle(q) || refused[q.ID] || canary == "" { // or of a job's run
			continue
		}
		r.Titles++
		switch asked := before[canary]; {
		case len(asked) >= maxTitles:
			r.add(Repaid, "request %s asks for the title of %s for the third time", q.ID, canary)
		case len(asked) > 0 && settled[asked[0]]:
			r.add(Repaid, "request %s asks for the title of %s, which request %s found before", q.ID, canary, asked[0])
		}
		before[canary] = append(before[canary], q.ID)
	}
}
