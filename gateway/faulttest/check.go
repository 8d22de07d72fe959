package faulttest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/simulators/telegram"
)

// Check holds the books to the promises. It believes nothing that parley says,
// but for the ledger, which it compares with the bill, and Evidence.Unasked and JobsPassed, which stand
// for calls that Telegram was not given. Nor does it measure time:
// what explains a repeat is what was done to the life that did it first, and what
// that life is seen to have done afterwards.
func Check(l *Workload, b Evidence) *Report {
	r := &Report{Questions: l.Questions()}
	for _, at := range b.Unasked {
		r.Unasked += len(at)
	}
	for _, f := range b.Faults {
		if f.Stall {
			r.Stalls++
		} else {
			r.Faults++
		}
	}
	r.checkAnswers(l, b)
	r.checkQuestions(b)
	r.checkRefusals(l, b)
	r.checkGoals(l, b)
	r.checkJobs(l, b)
	r.countShown(b)
	r.measurePauses(b)
	r.checkStrays(l, b)
	seen := r.checkRequests(b)
	r.checkEffects(l, b, seen)
	r.checkMoney(b)
	return r
}

// answerCopies are the whole answers to one question, in the order they were accepted.
type answerCopies []telegram.MessageEntry

// firstWholeVersion returns the version in which m was first a whole answer, and to which
// question.
func firstWholeVersion(m telegram.MessageEntry) (v telegram.Version, tag string, ok bool) {
	for _, v := range m.Versions {
		if of := answerIn.FindStringSubmatch(v.Text); of != nil && whole.MatchString(v.Text) {
			return v, "m" + of[1] + "x" + of[2], true
		}
	}
	return v, "", false
}

// sendSteps are the answers that each chat was given, as steps, and at which of them
// each message stands, by chat and message.
func sendSteps(b Evidence) (steps map[int64][]step, at map[[2]int64]int) {
	steps, at = map[int64][]step{}, map[[2]int64]int{}
	for _, m := range b.Telegram.Messages {
		if v, _, ok := firstWholeVersion(m); ok {
			steps[m.ChatID] = append(steps[m.ChatID], step{Incarnation(v.Client), v.At})
		}
	}
	for _, s := range steps {
		slices.SortFunc(s, func(a, b step) int { return a.at.Compare(b.at) })
	}
	for _, m := range b.Telegram.Messages {
		if v, _, ok := firstWholeVersion(m); ok {
			at[[2]int64{m.ChatID, m.MessageID}] = slices.Index(steps[m.ChatID], step{Incarnation(v.Client), v.At})
		}
	}
	return steps, at
}

// checkAnswers looks at what people see: each question answered once, whole, and in
// its order.
func (r *Report) checkAnswers(l *Workload, b Evidence) {
	asked := map[[2]int64]string{} // by chat and message
	for _, u := range b.Telegram.Updates {
		if m := questionIn.FindStringSubmatch(u.Text); m != nil {
			asked[[2]int64{u.ChatID, u.MessageID}] = "m" + m[1] + "x" + m[2]
		}
	}
	chats := map[int64]int{}
	for i, c := range l.Conversations {
		chats[c.Chat.ID] = i
	}
	done := newFaultTimes(b.Faults)
	steps, at := sendSteps(b)
	answers, told := map[string]answerCopies{}, map[string]bool{}
	var torn []telegram.MessageEntry
	loose := map[int64]int{} // words that reply to nothing, by chat
	for _, m := range b.Telegram.Messages {
		if !m.Deleted.IsZero() || l.isJobChat(m.ChatID) {
			continue
		}
		unsure := m.Unconfirmed
		if i, ok := at[[2]int64{m.ChatID, m.MessageID}]; ok {
			unsure = unsure || done.isUnsure(steps[m.ChatID], i, time.Time{})
		}
		if unsure {
			r.Ambiguous++
		}
		of := answerIn.FindStringSubmatch(m.Text())
		switch {
		case asksPermission(m.Text()) || tellsRefusal(m.Text()) || tellsGoal(m.Text()):
		case of == nil && isNotice(m.Text()) || unfinished.MatchString(m.Text()):
			if tag := asked[[2]int64{m.ChatID, m.ReplyTo}]; tag != "" {
				told[tag] = true
			} else {
				loose[m.ChatID]++
			}
		case of == nil || !whole.MatchString(m.Text()):
			torn = append(torn, m)
		default:
			tag := "m" + of[1] + "x" + of[2]
			answers[tag] = append(answers[tag], m)
		}
	}
	for _, m := range torn {
		if isAbandonedPreview(m, answers, done) || isAbandonedActivity(m, b.Telegram.Messages, done) {
			r.Left++
		} else {
			r.add(Half, "chat %d still shows %q", m.ChatID, m.Text())
		}
	}
	for _, c := range l.Conversations {
		newest := int64(0)
		for _, q := range c.Questions {
			all := answers[q.Tag()]
			switch {
			case len(all) > 0 && q.Refused:
				r.add(Effect, "%s was answered as if its call had been permitted", q.Tag())
			case len(all) > 0:
				r.Answered++
			case q.Refused: // see checkRefusals
			case told[q.Tag()]:
				r.Told++
			case loose[c.Chat.ID] > 0:
				loose[c.Chat.ID]--
				r.Told++
			default:
				r.add(Lost, "%s, asked in chat %d, was never answered", q.Tag(), c.Chat.ID)
			}
			if len(all) == 0 {
				continue
			}
			for i, m := range all[1:] {
				r.checkRepeat(q, all[i], m, !all[i].Unconfirmed &&
					!done.isUnsure(steps[m.ChatID], at[[2]int64{m.ChatID, all[i].MessageID}], m.Versions[0].At))
			}
			if first := all[0].MessageID; first < newest {
				r.add(Disordered, "%s was answered by message %d of chat %d, after message %d had answered a later question", q.Tag(), first, c.Chat.ID, newest)
			}
			newest = max(newest, all[0].MessageID)
		}
	}
}

// measurePauses measures how long people waited. The load always has somebody who waits.
func (r *Report) measurePauses(b Evidence) {
	answered := map[string]time.Time{} // the first copy
	var ats []time.Time
	for _, m := range b.Telegram.Messages {
		of := answerIn.FindStringSubmatch(m.Text())
		if of == nil || !whole.MatchString(m.Text()) {
			continue
		}
		at := m.Versions[len(m.Versions)-1].At
		ats = append(ats, at)
		tag := "m" + of[1] + "x" + of[2]
		if first, ok := answered[tag]; !ok || at.Before(first) {
			answered[tag] = at
		}
	}
	slices.SortFunc(ats, time.Time.Compare)
	for i := range max(len(ats)-1, 0) {
		r.Pause = max(r.Pause, ats[i+1].Sub(ats[i]))
	}
	for _, u := range b.Telegram.Updates {
		if m := questionIn.FindStringSubmatch(u.Text); m != nil {
			if at, ok := answered["m"+m[1]+"x"+m[2]]; ok {
				r.Waited = max(r.Waited, at.Sub(u.Created))
			}
		}
	}
}

// checkRepeat judges a further copy of an answer; sure is that who sent the one before
// knows that it arrived.
func (r *Report) checkRepeat(q Question, before, m telegram.MessageEntry, sure bool) {
	switch {
	case !hasRepeatMark(m.Text()):
		r.add(Duplicated, "%s was answered again by message %d, which is not marked as a repeat", q.Tag(), m.MessageID)
	case sure:
		r.add(Duplicated, "%s was answered again by message %d of %s, after message %d of %s, with which nothing went wrong",
			q.Tag(), m.MessageID, m.Versions[0].Client, before.MessageID, before.Versions[0].Client)
	default:
		r.Repeats++
	}
}

// isAbandonedPreview reports whether m is a preview whose id was lost with the life that
// sent it, before that could store it: then nobody can change it, and the answer comes as
// a message of its own, with the mark of a repeat.
func isAbandonedPreview(m telegram.MessageEntry, answers map[string]answerCopies, done faultTimes) bool {
	if len(m.Versions) > 1 {
		return false
	}
	v, tag := m.Versions[0], ""
	if of := answerIn.FindStringSubmatch(m.Text()); of != nil {
		tag = "m" + of[1] + "x" + of[2]
	}
	for of, copies := range answers {
		if slices.ContainsFunc(copies, func(a telegram.MessageEntry) bool {
			// The first words that are shown may end before they say of what.
			same := of == tag || tag == "" && strings.HasPrefix(strings.TrimPrefix(a.Text(), repeatMark), m.Text())
			return same && a.ChatID == m.ChatID && a.MessageID > m.MessageID && hasRepeatMark(a.Text()) &&
				(m.Unconfirmed || done.isUnsure([]step{{Incarnation(v.Client), v.At}}, 0, a.Versions[0].At))
		}) {
			return true
		}
	}
	return false
}

// checkStrays looks for words of one conversation in another's chat.
func (r *Report) checkStrays(l *Workload, b Evidence) {
	canaries := map[int64]string{}
	for _, c := range l.Conversations {
		canaries[c.Chat.ID] = c.Canary
	}
	for _, m := range b.Telegram.Messages {
		for _, v := range m.Versions {
			for _, found := range canaryIn.FindAllString(v.Text, -1) {
				if found != canaries[m.ChatID] {
					r.add(Stray, "chat %d was shown %s, which is another's", m.ChatID, found)
				}
			}
		}
	}
}

// checkEffects looks at what the tools did to the outside: each call once at most, and
// once exactly if the model was told that it was done.
func (r *Report) checkEffects(l *Workload, b Evidence, seen map[string]conversation) {
	for i, c := range l.Conversations {
		audit := c.Questions[len(c.Questions)-1]
		if !audit.Audit {
			continue
		}
		text := ""
		for _, m := range b.Telegram.Messages {
			if m.ChatID == c.Chat.ID && strings.Contains(m.Text(), "answer "+audit.Tag()+" ") && whole.MatchString(m.Text()) {
				text = m.Text()
			}
		}
		if text == "" {
			continue // that is lost, or told
		}
		count, refused := map[string]int{}, map[string]bool{}
		for _, q := range c.Questions {
			refused[q.Tag()+"c0"] = q.Refused
		}
		for _, name := range callIn.FindAllString(text, -1) {
			count[name]++
			if refused[name] {
				r.add(Effect, "the call %s ran, and was refused", name)
			}
			if !strings.HasPrefix(name, fmt.Sprintf("m%dx", i)) {
				r.add(Stray, "the file of conversation %d holds the call %s of another", i, name)
			}
			if count[name] == 2 {
				r.add(Effect, "the call %s ran twice", name)
			}
		}
		for name := range seen[c.Canary].done {
			if count[name] == 0 {
				r.add(Effect, "the model was told that the call %s was done, and it was not", name)
			}
		}
	}
}
