package faulttest

import (
	"regexp"
	"slices"
	"strings"

	"parley/simulators/telegram"
)

// activity is what the configuration says about showing what turns do.
func (l *Workload) activity() string {
	if l.Shape.Activity {
		return "{direct: full, groups: brief}"
	}
	return "{direct: off}"
}

// goals is what the configuration says about goals: with them, each message sets one where none
// is to be reached, and each answer without a call of a tool says that it is.
func (l *Workload) goals() string {
	if l.Shape.Goals {
		return "{from_messages: true, completion_phrases: [" + end + "]}"
	}
	return "{}"
}

// activityLine matches a line of what a turn does: a step of a list, or what runs, is waited
// for, or was made shorter.
var activityLine = regexp.MustCompile(`^\s*(?:[-•◦▪] )?(?:[…✓✗] .+|.+ (?:…|✓|✗)(?: .*)?|Thinking.*|Compacting: \S+ to \S+ tokens)$`)

// showsActivity reports whether text is only what a turn does, and no word of its answer.
func showsActivity(text string) bool {
	shows := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
		case !activityLine.MatchString(line):
			return false
		default:
			shows = true
		}
	}
	return shows && !tellsGoal(text)
}

// countShown counts the messages that have shown what a turn did.
func (r *Report) countShown(b Evidence) {
	for _, m := range b.Telegram.Messages {
		if slices.ContainsFunc(m.Versions, func(v telegram.Version) bool { return showsActivity(v.Text) }) {
			r.Shown++
		}
	}
}

// goalReached begins the words by which people are told of a goal that was reached.
const goalReached = "✓ Goal completed: "

// tellsGoal reports whether a message, which may be a repeat, says that a goal was reached.
func tellsGoal(text string) bool {
	return strings.HasPrefix(strings.TrimPrefix(text, repeatMark), goalReached)
}

// reachedGoals are the questions of c that were goals and were reached: if all are answered.
func (l *Workload) reachedGoals(c Conversation) (tags []string) {
	goal := ""
	for _, q := range c.Questions {
		if goal == "" {
			goal = q.Tag()
		}
		if calls := q.Tools > 0 || q.Spawns || q.Asks || q.Audit; !calls {
			tags, goal = append(tags, goal), ""
		}
	}
	return tags
}

// checkGoals looks at what people are told of goals: of each that is reached once, or again with
// the mark of a repeat, and of no other.
func (r *Report) checkGoals(l *Workload, b Evidence) {
	if !l.Shape.Goals {
		return
	}
	type count struct{ all, unmarked int }
	told := map[string]count{} // by question
	for _, m := range b.Telegram.Messages {
		if !tellsGoal(m.Text()) {
			continue
		}
		of := questionIn.FindStringSubmatch(m.Text())
		if of == nil {
			r.add(Half, "chat %d was told of a goal that nobody set: %q", m.ChatID, m.Text())
			continue
		}
		n := told["m"+of[1]+"x"+of[2]]
		n.all++
		if !hasRepeatMark(m.Text()) {
			n.unmarked++
		}
		told["m"+of[1]+"x"+of[2]] = n
	}
	for _, c := range l.Conversations {
		reached := l.reachedGoals(c)
		for _, q := range c.Questions {
			n, due := told[q.Tag()], slices.Contains(reached, q.Tag())
			switch {
			case due && n.all == 0:
				r.add(Lost, "chat %d was not told that the goal %s is reached", c.Chat.ID, q.Tag())
			case !due && n.all > 0:
				r.add(Effect, "chat %d was told that the goal %s is reached, and it is not", c.Chat.ID, q.Tag())
			case n.unmarked > 1:
				r.add(Duplicated, "chat %d was told %d times without the mark of a repeat that the goal %s is reached", c.Chat.ID, n.unmarked, q.Tag())
			}
			if due && n.all > 0 {
				r.Goals++
			}
		}
	}
}

// isAbandonedActivity reports whether m is a preview that has shown what a turn does and no word
// of its answer, and whose id was lost with the life that sent it: what the turn ended with comes
// as a message of its own, with the mark of a repeat.
func isAbandonedActivity(m telegram.MessageEntry, all []telegram.MessageEntry, done faultTimes) bool {
	if len(m.Versions) > 1 || !showsActivity(m.Text()) {
		return false
	}
	v := m.Versions[0]
	return slices.ContainsFunc(all, func(a telegram.MessageEntry) bool {
		return a.ChatID == m.ChatID && a.MessageID > m.MessageID && hasRepeatMark(a.Text()) &&
			(m.Unconfirmed || done.isUnsure([]step{{Incarnation(v.Client), v.At}}, 0, a.Versions[0].At))
	})
}
