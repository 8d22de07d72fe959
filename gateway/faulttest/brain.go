package faulttest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/simulators/model"
)

// end is the last word of every whole answer.
const end = "fin"

// effects is the file that the load's tools write, and trusted the one for which a person
// must be asked. Their last line is mark; each call puts its name before it, so a call that
// ran twice shows twice.
const (
	effects = "effects.txt"
	trusted = ".editorconfig"
	mark    = "END"
)

var (
	canaryIn   = regexp.MustCompile(`canary[0-9a-f]{12}`)
	questionIn = regexp.MustCompile(`question m(\d+)x(\d+) (canary[0-9a-f]{12})(?: tools(\d))?( first)?( spawn)?( asks| refused)?( audit)?( script)?`)
	partIn     = regexp.MustCompile(`part m(\d+)x(\d+) (canary[0-9a-f]{12}) depth(\d)`)
	answerIn   = regexp.MustCompile(`answer m(\d+)x(\d+) (canary[0-9a-f]{12})`)
)

// Brain returns the model of the load: it does what the question says, keeps nothing,
// and takes the time that the shape says, of which half passes before its first
// word.
func (l *Workload) Brain(_ context.Context, p *model.Prompt) model.Answer {
	text := p.LastText()
	if isSummaryRequest(text) {
		return l.summary(p)
	}
	if isTitleRequest(p.System) {
		return model.Reply(model.Say("Talk about a word"))
	}
	done := countCallsSince(p)
	a := l.answer(text, done, p)
	span := l.Shape.Slowest - l.Shape.Fastest
	took := l.Shape.Fastest + time.Duration(l.pick(1000, "time", text, done))*span/1000
	a.Latency = took / 2
	pieces := 1
	for _, b := range a.Blocks {
		pieces += strings.Count(b.Text, " ")
	}
	a.Pace = took / 2 / time.Duration(pieces)
	return a
}

func (l *Workload) answer(text string, done int, p *model.Prompt) model.Answer {
	if m := lastMatch(partIn, text); m != nil {
		if m[4] == "1" && done == 0 {
			return model.Reply(spawnCall(m[1], m[2], m[3], 2))
		}
		return model.Reply(model.Say(fmt.Sprintf("the part of m%sx%s %s is done", m[1], m[2], m[3])))
	}
	if isDecision(text) {
		return l.answerPermitted(p)
	}
	if due := jobRunIn.FindStringSubmatch(text); due != nil {
		return model.Reply(model.Say(answerJob(due[1])))
	}
	m := lastMatch(questionIn, text)
	if m == nil {
		return model.Answer{Refuse: &model.Refusal{Status: 400, Message: "the load has no such question: " + text}}
	}
	tag := fmt.Sprintf("m%sx%s", m[1], m[2])
	tools, _ := strconv.Atoi(m[4])
	switch {
	case done < tools && m[9] != "":
		return model.Reply(scriptCall(fmt.Sprintf("%sc%d", tag, done)))
	case done < tools:
		return model.Reply(writeCall(effects, fmt.Sprintf("%sc%d", tag, done), m[5] != "" && done == 0))
	case m[6] != "" && done == 0:
		return model.Reply(spawnCall(m[1], m[2], m[3], 1))
	case m[7] != "" && done == 0:
		return model.Reply(writeCall(trusted, tag+"c0", m[5] != ""))
	case m[8] != "" && done == 0:
		return model.Reply(model.Use("read_file", map[string]any{"path": effects}), model.Use("read_file", map[string]any{"path": trusted}))
	}
	return l.whole(tag, m[3], m[8] != "", p)
}

// whole is a whole answer, which tells what the files hold where an audit is asked for.
func (l *Workload) whole(tag, canary string, audit bool, p *model.Prompt) model.Answer {
	said := []string{"answer", tag, canary}
	if audit {
		for _, r := range p.Answering() {
			said = append(append(said, "effects"), callIn.FindAllString(r.Text, -1)...)
		}
	}
	said = append(said, l.draw(l.Shape.Words, "word", tag)...)
	return model.Reply(model.Say(strings.Join(append(said, end), " ")))
}

// summaryRequest begins the words by which a summary is asked for.
const summaryRequest = "Provide a detailed but concise summary of our conversation above."

func isSummaryRequest(text string) bool { return strings.HasPrefix(text, summaryRequest) }

// titleRequest begins the instruction by which a title is asked for.
const titleRequest = "You name conversations."

func isTitleRequest(system string) bool { return strings.HasPrefix(system, titleRequest) }

// summary is what the model notes of a conversation: that it was this one.
func (l *Workload) summary(p *model.Prompt) model.Answer {
	for _, m := range slices.Backward(p.Messages) {
		if canary := canaryIn.FindString(m.Text); canary != "" {
			a := model.Reply(model.Say("We talked about " + canary + "."))
			a.Latency = l.Shape.Fastest
			return a
		}
	}
	return model.Answer{Refuse: &model.Refusal{Status: 400, Message: "a summary is to be made of nothing"}}
}

// isNotice reports whether text is words of the gateway's own in the place of an answer: neither
// an answer nor a part of one, nor what a turn does or has reached; or a part with the gateway's
// words behind it about why there is no more.
func isNotice(text string) bool {
	text = strings.TrimPrefix(text, repeatMark)
	return text != "" && !strings.HasPrefix(text, "answer") && !asksPermission(text) && !tellsGoal(text) && !showsActivity(text) || unfinished.MatchString(text)
}

// unfinished finds the reason behind an answer that did not come to its end.
var unfinished = regexp.MustCompile(`\n\n\((?:The answer broke off\. |This took too long, )[^()]+\)$`)

// hasRepeatMark reports whether the text says that it may have been seen before.
func hasRepeatMark(text string) bool { return strings.HasPrefix(text, repeatMark) }

// repeatMark stands before an answer that may have arrived before.
const repeatMark = "(This may be a repeat.)\n\n"

// callIn finds the names that calls leave in the file.
var callIn = regexp.MustCompile(`m\d+x\d+c\d`)

func writeCall(path, name string, first bool) model.Block {
	if first {
		return model.Use("write_file", map[string]any{"path": path, "content": name + "\n" + mark + "\n"})
	}
	return model.Use("edit_file", map[string]any{"path": path, "old_text": mark, "new_text": name + "\n" + mark})
}

// scriptCall is a call of bash that does what writeCall does.
func scriptCall(name string) model.Block {
	return model.Use("bash", map[string]any{"command": fmt.Sprintf("echo %s >> %s", name, effects)})
}

func spawnCall(conversation, number, canary string, depth int) model.Block {
	return model.Use("sessions_spawn", map[string]any{
		"task": fmt.Sprintf("part m%sx%s %s depth%d", conversation, number, canary, depth),
	})
}

// countCallsSince returns how many calls the model made since the person said something.
func countCallsSince(p *model.Prompt) int {
	n := 0
	for i := len(p.Messages) - 1; i >= 0; i-- {
		m := p.Messages[i]
		if m.Role == model.User && m.Text != "" {
			break
		}
		n += len(m.Calls)
	}
	return n
}

func lastMatch(re *regexp.Regexp, text string) []string {
	all := re.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}
