package model

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// What a sub-agent of the demonstration is told to do, about a topic in
// quotation marks. It is played by the same brain, which knows its part by these
// words.
const (
	demoPart  = "Your part: "
	demoFiles = demoPart + "list the files of the workspace that may tell of “%s”."
	demoAsk   = demoPart + "find out how long “%s” is, with a helper of your own."
	demoCount = demoPart + "count the characters and the words of “%s”."

	demoSpawn = "sessions_spawn"
)

var (
	demoTopic = regexp.MustCompile(`(?is)\b(?:research|investigate|look into)\b[\s:,]*(.*)`)
	demoQuote = regexp.MustCompile(`(?s)“(.*)”`)
	demoFrame = regexp.MustCompile(`(?s)up to the mark [0-9a-f]+:\n(.*)\n[0-9a-f]+`)
)

// demoResearch hands a request to two sub-agents side by side, of which one has
// a helper of its own; nil: text asks for nothing of the kind.
func demoResearch(p *Prompt, text string) []Block {
	if part, ok := demoPlay(p, text); ok {
		return part
	}
	m := demoTopic.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	if _, ok := p.Offers(demoSpawn); !ok {
		return []Block{Say("I would hand that to sub-agents, but nobody gave me a tool that starts them.")}
	}
	topic := strings.NewReplacer("“", "'", "”", "'").Replace(strings.Trim(m[1], " \t\n.?!\"'`“”"))
	topic = cmp.Or(demoShort(topic, 120), "it")
	return []Block{
		Say("I hand that to two sub-agents, who work side by side."),
		Use(demoSpawn, map[string]string{"label": "the files", "task": pathf(demoFiles, topic)}),
		Use(demoSpawn, map[string]string{"label": "the question", "task": pathf(demoAsk, topic)}),
	}
}

// demoPlay returns the answer of a sub-agent that was given its part.
func demoPlay(p *Prompt, text string) ([]Block, bool) {
	m := demoQuote.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	topic := m[1]
	counted := "“" + topic + "” has " + plural(utf8.RuneCountInString(topic), "character") + " in " + plural(len(strings.Fields(topic)), "word") + "."
	switch text {
	case pathf(demoFiles, topic):
		tool, ok := p.Offers("list_directory")
		if !ok {
			return []Block{Say("I have no tool that lists files.")}, true
		}
		return []Block{Say("Let me look."), Use("list_directory", demoInput(tool, "."))}, true
	case pathf(demoAsk, topic):
		if _, ok := p.Offers(demoSpawn); !ok {
			return []Block{Say(counted)}, true
		}
		return []Block{Use(demoSpawn, map[string]string{"label": "the counting", "task": pathf(demoCount, topic)})}, true
	case pathf(demoCount, topic):
		return []Block{Say(counted)}, true
	}
	return nil, false
}

// demoReport returns what sub-agents came back with, each under its label.
func demoReport(p *Prompt, r Result) string {
	return "**" + demoLabel(p, r.CallID) + "**, says my sub-agent: " + demoShort(r.Text, 1000)
}

// demoFramed returns what stands in the frame around untrusted words, or all of text.
func demoFramed(text string) string {
	if m := demoFrame.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// demoLabel returns the label in the input of a call.
func demoLabel(p *Prompt, id string) string {
	for _, m := range p.Messages {
		for _, c := range m.Calls {
			var in struct{ Label string }
			if c.ID == id && json.Unmarshal(c.Input, &in) == nil && in.Label != "" {
				return in.Label
			}
		}
	}
	return "The task"
}
