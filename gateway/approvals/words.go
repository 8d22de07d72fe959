package approvals

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"

	"parley/costs"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/tools"
)

// Mark begins every question for permission, and nothing else that the bot says: see
// [Defuse].
const Mark = "🔐"

// Defuse takes the mark out of a text that is no question of the gateway, so that it does not
// look like one; also where a network spells it by name. The text has as many bytes and characters as before.
func Defuse(text string) string {
	return spelledMark.ReplaceAllString(strings.ReplaceAll(text, Mark, "🔒"), "$1;")
}

// spelledMark is the name of the mark in a text, also with Markdown's backslashes in JSON.
var spelledMark = regexp.MustCompile(`(?i)(:closed\\*_lock\\*_with\\*_key):`)

// Petition returns what a call asks people to permit.
func Petition(t tools.Tool, c tools.Call) (tools.Petition, error) {
	if p, ok := t.(tools.Petitioner); ok {
		return p.Petition(c) // the tool's own words
	}
	var text bytes.Buffer
	if err := json.Indent(&text, c.Arguments, "", "  "); err != nil {
		return tools.Petition{}, fmt.Errorf("show the arguments of %s: %w", c.Name, err)
	}
	return tools.Petition{Text: text.String()}, nil
}

// Digest returns what a permission holds for: one tool with exactly these arguments, folder,
// environment and price, and what else the tool says that it depends on. Equal digests are
// equal calls. A folder of the workspace is the one to which its name leads now, so that a link
// in its place is another one.
func Digest(c tools.Call, p tools.Petition) (string, error) {
	var arguments any
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return "", fmt.Errorf("read the arguments of %s: %w", c.Name, err)
	}
	leads := ""
	if c.Dir != "" {
		leads, _ = filepath.EvalSymlinks(filepath.Join(c.Workspace, c.Dir)) // "": it is not there
	}
	b, err := json.Marshal(struct {
		Tool      string
		Arguments any
		Text      string
		Workspace string
		Dir       string
		Env       []string
		Binding   []string
		Price     costs.Amount `json:",omitempty"` // as before where there is none
		Leads     string       `json:",omitempty"`
	}{c.Name, arguments, p.Text, c.Workspace, c.Dir, c.Env, p.Binding, c.Price, leads})
	if err != nil {
		return "", fmt.Errorf("digest of a call of %s: %w", c.Name, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// Unaskable returns why nobody can be asked about what would be shown; "" when somebody can.
func Unaskable(p tools.Petition) string {
	why := Unreadable(p.Text)
	if why == "" {
		return ""
	}
	if isTooLong(p.Text) {
		why += ": do it in smaller steps"
	}
	return "it needs a person's permission, and " + why
}

// Unreadable returns what is wrong with a text that people are to read in a chat, each line of it;
// "" when nothing is.
func Unreadable(text string) string {
	switch {
	case len(text) > MaxShown:
		return fmt.Sprintf("has %d bytes, which are more than the %d that people can be shown in a chat", len(text), MaxShown)
	case isTooLong(text):
		return fmt.Sprintf("has more than the %d lines that people can be shown in a chat", maxLines)
	case strings.ContainsFunc(text, isHidden):
		return "holds characters that people cannot see"
	case hasGap(text):
		return "has so much empty space in one place that people may not see what comes behind it"
	}
	return ""
}

func isTooLong(text string) bool {
	return len(text) > MaxShown || strings.Count(text, "\n") >= maxLines
}

// What people are shown is on one screen, or little more: nothing stands far below or beside
// what they see first.
const (
	maxLines = 80
	maxGap   = 60 // blanks and line ends in a row
)

// hasGap reports whether more than maxGap blanks and line ends stand in a row.
func hasGap(text string) bool {
	n := 0
	for _, r := range text {
		if !unicode.IsSpace(r) {
			n = 0
		} else if n++; n > maxGap {
			return true
		}
	}
	return false
}

// isHidden reports whether a character is not seen, or changes how others are seen. U+2800 is
// a blank that is no white space.
func isHidden(r rune) bool {
	return r == '\u2800' || r != '\n' && r != '\t' && r != ' ' && !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// Typed returns a command as it is typed on a network.
type Typed func(command string) string

// Question returns what people are asked, in Markdown. why is why the tool needs permission,
// "" where it cannot say; most is the most that the work behind it may cost, 0: no limit. here is
// false in a chat where nobody may decide, which the question says.
func (r Request) Question(why string, most costs.Amount, here bool, typed Typed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s **May I use %s?**", Mark, r.Call.Name)
	if why = quoteReason(why); why != "" {
		b.WriteString(" I need permission: " + why + ".")
	}
	b.WriteString("\n\n" + r.frame() + "\n\n" + r.conditions())
	if most > 0 {
		fmt.Fprintf(&b, "What follows costs %s at most. ", most)
	}
	if here {
		b.WriteString(r.commands(typed))
	} else {
		b.WriteString(r.elsewhere(typed))
	}
	fmt.Fprintf(&b, " The question stands for %s.", duration(r.Expires.Sub(r.At)))
	return b.String()
}

// Notice returns what a chat reads while those who may decide are asked alone, in Markdown: that
// something waits, and how they see it again.
func (r Request) Notice(typed Typed) string {
	what := fmt.Sprintf("May I use %s?** I need permission", r.Call.Name)
	if r.Raise != nil {
		what = "May I go on?** I need more money for that"
	}
	return fmt.Sprintf("%s **%s, and I have asked those who may give it, for their eyes only. %s shows it to them once more. The question stands for %s.",
		Mark, what, typed("approve "+r.Code), duration(r.Expires.Sub(r.At)))
}

// Description returns what somebody reads who may decide about r in another chat than that where
// it was asked, in Markdown: as much as there, and who asked, and where.
func (r Request) Description(at sessionkeys.Address, typed Typed) string {
	where := "in direct messages"
	if at.Kind != sessionkeys.DM {
		where = "in the group " + Quote(at.Peer)
	}
	asker := Quote(r.Asker.ID)
	if r.Asker.Name != "" {
		asker = Quote(r.Asker.Name) + ", " + asker
	}
	may := "use " + r.Call.Name
	if r.Raise != nil {
		may = "spend more"
	}
	return fmt.Sprintf("**%s** May I %s? Asked by %s, %s.\n\n%s\n\n%s%s The question stands until %s.",
		r.Code, may, asker, where, r.frame(), r.conditions(), r.commands(typed), r.Expires.UTC().Format("15:04:05 UTC on 2 January"))
}

// frame returns what would run as people read it.
func (r Request) frame() string { return Frame(r.Shown) }

// Frame returns a text as a block of code, which nothing in it ends.
func Frame(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}

// What people read of what a turn had read.
const (
	maxAfter  = 3
	maxSource = 80 // characters
)

// AskedAfter returns r with what the turn had read that others wrote: what asks may be their words.
func (r Request) AskedAfter(sources []string) Request {
	r.After, r.More = nil, max(0, len(sources)-maxAfter)
	for _, s := range sources[:len(sources)-r.More] {
		if rs := []rune(s); len(rs) > maxSource {
			s = string(rs[:maxSource]) + "…"
		}
		r.After = append(r.After, s)
	}
	return r
}

// Read names what the turn had read of others before it asked, as code; "" for nothing.
func (r Request) Read() string {
	if len(r.After) == 0 {
		return ""
	}
	names := make([]string, len(r.After))
	for i, s := range r.After {
		names[i] = Quote(s)
	}
	text := strings.Join(names, ", ")
	if r.More > 0 {
		text += fmt.Sprintf(" and %d more", r.More)
	}
	return text
}

// conditions says under which conditions it runs.
func (r Request) conditions() string {
	var b strings.Builder
	if read := r.Read(); read != "" {
		b.WriteString("It is asked for after reading " + read + ". ")
	}
	if r.Where != "" {
		b.WriteString("It runs in " + r.Where + ". ")
	}
	if r.Dir != "" {
		b.WriteString("Its folder is " + Quote(r.Dir) + ". ")
	}
	if len(r.Env) > 0 {
		b.WriteString("Its environment has " + Quote(strings.Join(r.Env, " ")) + ". ")
	}
	if r.Price > 0 {
		fmt.Fprintf(&b, "The call costs %s at most. ", r.Price)
	}
	return b.String()
}

func (r Request) commands(typed Typed) string {
	if r.Raise != nil {
		return fmt.Sprintf("%s raises that budget %s, %s leaves it as it is.", typed("approve "+r.Code), r.offer(), typed("deny "+r.Code))
	}
	return fmt.Sprintf("%s permits it once, %s refuses it.", typed("approve "+r.Code), typed("deny "+r.Code))
}

// elsewhere says how a question is decided about which nobody may decide where it is asked.
func (r Request) elsewhere(typed Typed) string {
	return fmt.Sprintf("You may not decide about it yourself. Somebody who may finds it under the code %s in direct messages with me, by %s.", r.Code, typed("approvals"))
}

// Quote returns a text of somebody as a piece of code, in which it is no markup.
func Quote(text string) string {
	return "`" + strings.ReplaceAll(Defuse(visible(text)), "`", "'") + "`"
}

// maxReason is the most characters of a reason that are shown.
const maxReason = 300

// quoteReason returns why a call needs permission as a piece of code: a reason names what the
// model wrote, which can so be no markup and no sentence of the gateway.
func quoteReason(why string) string {
	why = strings.TrimRight(strings.Join(strings.Fields(visible(why)), " "), ".")
	if why == "" {
		return ""
	}
	if rs := []rune(why); len(rs) > maxReason {
		why = string(rs[:maxReason]) + "…"
	}
	return "`" + strings.ReplaceAll(Defuse(why), "`", "'") + "`"
}

// maxQuoted is the most characters of what a model said that stand above a question.
const maxQuoted = 600

// Quotation returns what a model said beside its call as it stands above the question about it:
// quoted, on one line, without markup; "" when it said nothing.
func Quotation(words string) string {
	words = strings.Join(strings.Fields(visible(words)), " ")
	if words == "" {
		return ""
	}
	if rs := []rune(words); len(rs) > maxQuoted {
		words = string(rs[:maxQuoted]) + "…"
	}
	return "> " + punctuation.ReplaceAllString(Defuse(words), `\$0`) + "\n\n"
}

// punctuation is what Markdown may take for markup; behind a backslash it is none.
var punctuation = regexp.MustCompile("[!-/:-@[-`{-~]")

// visible returns a text without the characters that people cannot see.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if isHidden(r) {
			return -1
		}
		return r
	}, text)
}

// Choices returns the buttons under the question.
func (r Request) Choices() []sessions.Choice {
	if r.Raise != nil {
		return []sessions.Choice{{Label: "Raise it " + r.offer(), Says: "/approve " + r.Code}, {Label: "Leave it", Says: "/deny " + r.Code}}
	}
	return []sessions.Choice{{Label: "Permit once", Says: "/approve " + r.Code}, {Label: "Refuse", Says: "/deny " + r.Code}}
}

func duration(d time.Duration) string {
	if d%time.Minute == 0 && d < 2*time.Hour {
		if d == time.Minute {
			return "a minute"
		}
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return d.String()
}

// Waiting is what the model reads in place of the call's result.
func (r Request) Waiting() string {
	return "This call needs a person's permission, and waits for it until " + r.Expires.Format("2006-01-02 15:04 MST") +
		". It has not run. If it is permitted in time, it is made then, and you see its result further below. Do not make it again meanwhile."
}

// Opening is what the model reads before the call that was decided on.
func (r Request) Opening() string {
	if r.Raise != nil {
		return fmt.Sprintf("(%s has permitted to spend %s more. Go on where you stopped.)", r.By, r.Raise.Amount.Display())
	}
	if r.State == Denied {
		return fmt.Sprintf("(%s has refused the call of %s that waited for permission.)", r.By, r.Call.Name)
	}
	return fmt.Sprintf("(%s has permitted the call of %s that waited for it. It is made now.)", r.By, r.Call.Name)
}

// Done returns what somebody reads who has decided about r in another chat.
func (r Request) Done() string {
	switch {
	case r.Raise != nil && r.State == Denied:
		return fmt.Sprintf("Refused: the budget that %s asked about stays as it is.", r.Code)
	case r.Raise != nil:
		return fmt.Sprintf("Raised: the budget that %s asked about, by %s until %s. The work goes on in the chat where it was asked.",
			r.Code, r.Raise.Amount.Display(), r.Raise.Until.UTC().Format("15:04:05 UTC on 2 January"))
	}
	if r.State == Denied {
		return fmt.Sprintf("Refused: the call of %s that %s asked about does not run.", r.Call.Name, r.Code)
	}
	return fmt.Sprintf("Permitted, once: the call of %s that %s asked about. Its result goes to the chat where it was asked.", r.Call.Name, r.Code)
}

// Left returns what people read where a higher budget was asked for and refused.
func (r Request) Left() string {
	return fmt.Sprintf("%s has refused a higher budget, so I leave it there.", r.By)
}

// AskerLeft returns what somebody reads who decides about r when its asker may not be answered any
// more.
func (r Request) AskerLeft() string {
	return fmt.Sprintf("%s may not speak to me any more, so %s.", r.Asker, r.undone(false))
}

// about names what was asked.
func (r Request) about() string {
	if r.Raise != nil {
		return fmt.Sprintf("the higher budget that %s asked for", r.Code)
	}
	return fmt.Sprintf("the call of %s that %s asked about", r.Call.Name, r.Code)
}

// undone says that nothing comes of r, or came of it.
func (r Request) undone(past bool) string {
	switch {
	case r.Raise != nil && past:
		return "nothing was raised"
	case r.Raise != nil:
		return "nothing is raised"
	case past:
		return "it did not run"
	}
	return r.about() + " does not run"
}

// NotRun returns what people are told when the call does not run though it was permitted.
func (r Request) NotRun(why string) string {
	return fmt.Sprintf("The call of %s that %s asked about did not run: %s.", r.Call.Name, r.Code, why)
}

// TooLate returns what somebody reads who decides, in a conversation with that session, on a
// request about which there is nothing to be decided any more; "" when there is.
func (r Request) TooLate(session sessionkeys.SessionID, now time.Time) string {
	about := r.about()
	switch {
	case r.State == Pending && r.IsExpired(now):
		return fmt.Sprintf("Too late: the time to decide about %s is over, so %s.", about, r.undone(true))
	case r.Session != session && r.Raise != nil:
		return fmt.Sprintf("The conversation of %s has ended, so nothing is raised.", about)
	case r.Session != session:
		return fmt.Sprintf("The conversation of %s has ended, so it does not run.", about)
	case r.State == Pending || r.IsDecidedOutside():
		return ""
	case r.State == Denied:
		return fmt.Sprintf("%s has refused %s already.", r.By, about)
	case r.State == Withdrawn:
		return fmt.Sprintf("%s has said stop since, so %s.", r.By, r.undone(false))
	}
	return fmt.Sprintf("%s has permitted %s already.", r.By, about)
}
