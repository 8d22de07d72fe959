package model

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	demoNotice = "Hello! To be plain about it: I am a small scripted demonstration, not a real model. I only know a few tricks, and everything you see around me works the same with a real one.\n\n"
	demoTricks = "Ask me to **list files**, to **read** one by its name, for something **long** or something **slow**, what **12*7** is, to **research** something with sub-agents, to **set COLOUR=blue**, for which I need your permission, or to **spend your money** with a sub-agent, until a cap stops it. Or show me a picture."
)

//go:embed demo_long.md
var demoLong string

var (
	demoList = regexp.MustCompile(`(?i)\b(list|show|what|which)\b.{0,20}\b(files|directory|folder)\b`)
	demoRead = regexp.MustCompile("(?i)\\bread\\s+(?:the\\s+file\\s+|file\\s+|me\\s+)?[\"'`“]?([\\pL\\pN_./~-]+)")
	demoSet  = regexp.MustCompile(`\bset\s+([A-Z][A-Z0-9_]{0,31})=([\pL\pN_.-]{1,64})`)
	demoSum  = regexp.MustCompile(`(-?\d{1,40})\s*([-+*/x×÷])\s*(-?\d{1,40})`)
	demoWord = regexp.MustCompile(`(?i)\b(long|slow|slowly|help|hello|hi|hey|thanks|thank you)\b`)
)

// Demo returns the scripted demonstration model. At its first answer it says plainly
// that it is no real model. It calls list_directory and read_file when asked
// about files and they are offered, and then comments on what came back. "long"
// gives more than 4096 characters of Markdown, "slow" a slow answer, it can do
// sums, and to "research …" it has two sub-agents work with sessions_spawn, one of
// which has a helper of its own. "set NAME=value" writes a file of settings with write_file,
// for which a gateway may need a person's permission. "spend my money" has a sub-agent
// call list_directory without end, which only its cap stops. Of pictures it tells their size and
// colours. Words come at pace; 0: all at once.
func Demo(pace time.Duration) Brain {
	return func(_ context.Context, p *Prompt) Answer {
		a := Answer{Pace: pace, FirstToken: 4 * pace}
		if rs := p.Answering(); len(rs) > 0 && !demoIsOver(rs) {
			if a.Blocks = demoSpend(p, p.LastText()); a.Blocks != nil {
				a.Pace, a.FirstToken = 0, 0
				return a
			}
			a.Blocks = []Block{Say(demoComment(p, rs))}
			return a
		}
		a.Blocks = demoAnswer(p)
		text := p.LastText()
		if w := strings.ToLower(demoWord.FindString(text)); strings.HasPrefix(w, "slow") {
			a.Pace = max(20*pace, 300*time.Millisecond)
		}
		if p.IsFirst() && !strings.HasPrefix(text, demoPart) {
			if a.Blocks[0].Kind == TextBlock {
				a.Blocks[0].Text = demoNotice + a.Blocks[0].Text
			} else {
				a.Blocks = append([]Block{Say(demoNotice)}, a.Blocks...)
			}
		}
		return a
	}
}

// demoIsOver reports whether results are of a turn that has ended without an answer: with a
// question for permission, or with a no. The words behind them are what is to be answered.
func demoIsOver(rs []Result) bool {
	last := rs[len(rs)-1].Text
	return strings.HasPrefix(last, "This call needs a person's permission") || strings.HasPrefix(last, "Error: Permission denied: ") && strings.HasSuffix(last, " has refused it")
}

// demoAnswer has at least one block.
func demoAnswer(p *Prompt) []Block {
	text := p.LastText()
	if blocks := demoLook(p); blocks != nil {
		return blocks
	}
	if blocks := demoSpend(p, text); blocks != nil {
		return blocks
	}
	if blocks := demoResearch(p, text); blocks != nil {
		return blocks
	}
	if m := demoSet.FindStringSubmatch(text); m != nil {
		if _, ok := p.Offers("write_file"); ok {
			return []Block{Use("write_file", map[string]string{"path": ".env", "content": m[1] + "=" + m[2] + "\n"})}
		}
		return []Block{Say("I would note that, but nobody gave me a tool that writes files.")}
	}
	if m := demoRead.FindStringSubmatch(text); m != nil {
		path := strings.TrimRight(m[1], ".")
		if tool, ok := p.Offers("read_file"); ok && path != "" {
			return []Block{Say("Let me read `" + path + "`."), Use("read_file", demoInput(tool, path))}
		}
		if !demoList.MatchString(text) {
			return []Block{Say("I would read that for you, but nobody gave me a tool that reads files.")}
		}
	}
	if demoList.MatchString(text) {
		if tool, ok := p.Offers("list_directory"); ok {
			return []Block{Say("Let me look."), Use("list_directory", demoInput(tool, "."))}
		}
		return []Block{Say("I would look, but nobody gave me a tool that lists files.")}
	}
	if m := demoSum.FindStringSubmatch(text); m != nil {
		return []Block{Say(demoCalculate(m[1], m[2], m[3]))}
	}
	switch w := strings.ToLower(demoWord.FindString(text)); w {
	case "long":
		return []Block{Say(demoLong)}
	case "slow", "slowly":
		return []Block{Say("As you wish. I am taking my time with every single word, so that you can see an answer grow while it is being written.")}
	case "help", "hello", "hi", "hey":
		return []Block{Say("Nice to meet you. " + demoTricks)}
	case "thanks", "thank you":
		return []Block{Say("You are welcome.")}
	}
	if isBlank(text) {
		return []Block{Say("I see nothing to answer. " + demoTricks)}
	}
	return []Block{Say("You said: “" + demoShort(text, 200) + "”. That is beyond my script. " + demoTricks)}
}

// demoInput returns the input of a tool that takes a path, under the name that its
// schema has for it.
func demoInput(t Tool, path string) map[string]string {
	var schema struct {
		Required   []string `json:"required"`
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
	}
	name := "path"
	if json.Unmarshal(t.Schema, &schema) == nil {
		if _, ok := schema.Properties["path"]; !ok && len(schema.Required) > 0 && schema.Properties[schema.Required[0]].Type == "string" {
			name = schema.Required[0]
		}
	}
	return map[string]string{name: path}
}

// demoComment says something about what tools gave back.
func demoComment(p *Prompt, rs []Result) string {
	var b strings.Builder
	for i, r := range rs {
		if i > 0 {
			b.WriteString("\n\n")
		}
		r.Text = demoFramed(r.Text)
		lines := strings.Count(strings.TrimSpace(r.Text), "\n") + 1
		switch {
		case r.Error:
			b.WriteString("That did not work: " + demoShort(r.Text, 400))
		case isBlank(r.Text):
			b.WriteString("`" + r.Name + "` found nothing: it is empty.")
		case r.Name == demoSpawn:
			b.WriteString(demoReport(p, r))
		case r.Name == "write_file":
			b.WriteString("Done, with your permission: " + demoShort(r.Text, 400))
		case r.Name == "list_directory":
			b.WriteString(demoListing(r.Text, lines))
		default:
			b.WriteString("I got " + plural(utf8.RuneCountInString(r.Text), "character") + " in " + plural(lines, "line") + " from `" + cmp.Or(r.Name, "the tool") + "`. It begins:\n\n```\n" + fenced(r.Text) + "\n```")
		}
	}
	return b.String()
}

// demoListing shows what is in a folder. A line in brackets is a remark of the tool's.
func demoListing(text string, lines int) string {
	if strings.HasPrefix(text, "[") && lines == 1 {
		return "Nobody has put a file there yet: the tool says “" + strings.Trim(strings.TrimSpace(text), "[]") + "”."
	}
	listing := "Here is what I found, " + plural(lines, "line") + " of it:\n\n```\n" + fenced(text) + "\n```"
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "dir" && !strings.HasSuffix(words[len(words)-1], "/") {
			return listing + "\n\nSay **read " + words[len(words)-1] + "**, if you like."
		}
	}
	return listing
}

// fenced returns the beginning of text, fit for a block of code.
func fenced(text string) string {
	return demoShort(strings.ReplaceAll(strings.TrimSpace(text), "```", "'''"), 700)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return pathf("%d %ss", n, noun)
}

// demoShort returns at most n characters of text.
func demoShort(text string, n int) string {
	text = strings.TrimSpace(text)
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}

// demoCalculate does a sum of whole numbers of any size.
func demoCalculate(left, op, right string) string {
	a, _ := new(big.Int).SetString(left, 10)
	b, _ := new(big.Int).SetString(right, 10)
	z := new(big.Int)
	sum := left + " " + op + " " + right + " = "
	switch op {
	case "+":
		z.Add(a, b)
	case "-":
		z.Sub(a, b)
	case "/", "÷":
		if b.Sign() == 0 {
			return "Nobody can divide by zero, and I least of all."
		}
		rest := new(big.Int)
		if z.QuoRem(a, b, rest); rest.Sign() != 0 {
			return sum + z.String() + ", and " + rest.String() + " remains."
		}
	default:
		z.Mul(a, b)
	}
	return sum + z.String()
}
