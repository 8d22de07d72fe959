// Package prompt writes the system message, from sections in a fixed order:
//
//	           section       written by             in
//	stable     identity      parley                 both: full.md, minimal.md
//	           tools         parley                 full, where there are any
//	           agent         the operator: prompt   full
//	           skills        the operator's files   both
//	           instructions  the operator's files   full; minimal: AGENTS.md, TOOLS.md
//	volatile   channel       parley                 full
//	           plan mode     parley                 both, where it is on
//	           goal          people, quoted         full, where the operator wants it
//	           date          parley                 both
//
// Full is for a person's turn, minimal for a sub-agent, whose task is its first message.
// The stable sections are one block that providers cache: its bytes change only with the
// configuration and the operator's files, never with the conversation or the time. The
// volatile ones are a short block behind it; the date is last, and the same all day.
//
// Every word of a system message is parley's or the operator's, but for a goal, which is
// quoted on one line. What others wrote (names, quotes, forwarded text, files) is in the
// messages, framed there; none of it comes here, whatever its file is called.
package prompt

import (
	"bytes"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/llm"
	"parley/sessionkeys"
	"parley/tools"
)

//go:embed full.md
var fullText string

//go:embed minimal.md
var minimalText string

const toolsText = "Use a tool when it helps; what it returns is such material, too."

// Agent is what the operator says to one agent.
type Agent struct {
	Prompt       string // of the configuration
	Instructions []File
	Skills       []Skill
	SkillTool    string // the name of the tool that reads Skills
	// Goal is what people want to reach in the conversation, in their words; "": nothing is
	// said of it.
	Goal string
	// Plan is whether the turn is in plan mode.
	Plan bool
}

// Skill is a skill as it is listed.
type Skill struct{ Name, Description string }

// Full returns the system message of a turn that starts at now in the conversation key,
// with the tools of set.
func (a Agent) Full(set *tools.Set, key sessionkeys.Key, now time.Time) []llm.SystemBlock {
	sections := []string{strings.TrimSpace(fullText)}
	if set.Len() > 0 {
		sections = append(sections, toolsText)
	}
	sections = append(sections, strings.TrimSpace(a.Prompt), a.skillsSection(set), instructionsSection(a.Instructions))
	return blocks(sections, channelText(key)+" "+a.planText()+goalText(a.Goal)+dateText(now))
}

// goalText quotes the goal, which is no instruction of the operator's.
func goalText(goal string) string {
	if goal == "" {
		return ""
	}
	return goalLead + strconv.Quote(goal) + "\n"
}

// goalLead stands before a goal. It has no character that JSON writes otherwise.
const goalLead = "The people here have set this goal, quoted in their words: "

// HoldsGoal reports whether a system message, or what it stands in as JSON, quotes a goal: words of
// people.
func HoldsGoal(text []byte) bool { return bytes.Contains(text, []byte(goalLead)) }

const planText = "Plan mode is on: look around and propose what to do, step by step, but change nothing. You have no tool that could; what is proposed is done when a person has ended plan mode.\n"

// planText says that the turn is in plan mode, if it is. (AI04)
func (a Agent) planText() string {
	if a.Plan {
		return planText
	}
	return ""
}

// Minimal returns the system message of a sub-agent's turn that starts at now, with the
// tools of set.
func (a Agent) Minimal(set *tools.Set, now time.Time) []llm.SystemBlock {
	return blocks([]string{strings.TrimSpace(minimalText), a.skillsSection(set), instructionsSection(bootstrapFiles(a.Instructions))}, a.planText()+dateText(now))
}

// blocks joins the stable sections that are not empty to one block, before the volatile
// one.
func blocks(stable []string, volatile string) []llm.SystemBlock {
	text := ""
	for _, s := range stable {
		if s != "" && text != "" {
			text += "\n\n"
		}
		text += s
	}
	return []llm.SystemBlock{{Text: text, Cache: true}, {Text: volatile}}
}

// skillsSection lists the skills for a set that has the tool to read them.
func (a Agent) skillsSection(set *tools.Set) string {
	if _, ok := set.Lookup(a.SkillTool); !ok || len(a.Skills) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Skills are your operator's instructions for some tasks. When a task fits a description, first call %s with the name, and follow what it returns.\n<available_skills>\n", a.SkillTool)
	for _, s := range a.Skills {
		b.WriteString(s.line())
	}
	b.WriteString("</available_skills>")
	return b.String()
}

func (s Skill) line() string { return s.Name + ": " + s.Description + "\n" }

// channelText says where the conversation is.
func channelText(key sessionkeys.Key) string {
	at := key.Address()
	if at.Kind == sessionkeys.DM {
		return "You are in a direct message with one person over " + at.Channel + "."
	}
	return "You are in a group over " + at.Channel + "; messages start with [name #id], of which only the id is sure."
}

func dateText(now time.Time) string {
	return "Today is " + now.UTC().Format("Monday, 2 January 2006") + " (UTC)."
}
