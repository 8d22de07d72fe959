// Package policy judges a shell script before it runs: it reads, it writes inside the
// workspace, a person has to decide, or it never runs.
//
// What is judged is not the text that a model wrote. The text is parsed and printed, the
// print is parsed again, and that program is judged. The print is what is shown, hashed,
// approved and run, so what another parser would have read into the first text does not
// matter. (docs/decisions/0078)
//
//	text → checkText → parse → print → parse → judge every part → the highest verdict
//	                             └────────── Judgement.Text ──────────→ bash -c
//
// It is a seat belt: it sees what a script says, not what programs do. The wall is the
// sandbox in which the script runs.
package policy

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"parley/problems"
	"parley/tools/trusted"
)

// Verdict is what may become of a script. A higher one counts before a lower one.
type Verdict int

// Verdicts.
const (
	Read  Verdict = iota // changes nothing: runs without asking
	Write                // changes the workspace: runs without asking where writing is allowed
	Admin                // a person decides each time, about this very text
	Deny                 // never runs, and nobody is asked
)

func (v Verdict) String() string {
	switch v {
	case Read:
		return "read"
	case Write:
		return "write"
	case Admin:
		return "admin"
	case Deny:
		return "deny"
	}
	return fmt.Sprintf("Verdict(%d)", int(v))
}

// Judgement is the verdict on one script.
type Judgement struct {
	Verdict Verdict
	Text    string // the reprint: what is shown, hashed, approved and run; "" where there is none
	Reason  string // a sentence for a person and a model
	Part    string // the part of the script on which Reason stands, shortened; may be empty
}

// String returns the reason with its part.
func (j Judgement) String() string {
	if j.Part == "" {
		return j.Reason
	}
	return j.Reason + " (in: " + j.Part + ")"
}

// Config is what an operator adds to the policy. Nothing in it takes a command off the
// list of those that never run.
type Config struct {
	// Denied are further names of commands that never run.
	Denied []string `json:"denied,omitempty"`
	// Read are further names of commands that only look: their arguments are judged as
	// paths that are read.
	Read []string `json:"read,omitempty"`
	// Write are further names of commands that change the workspace: their arguments are
	// judged as paths that are written.
	Write []string `json:"write,omitempty"`
	// DeniedPaths are absolute paths that no script may name, with everything below them.
	DeniedPaths []string `json:"denied_paths,omitempty"`
	// Trusted are further names of files that something outside the session believes, as
	// in files.Config.
	Trusted []string `json:"trusted,omitempty"`
	// Exposed says that scripts run without the walls of a sandbox. Then what runs code of
	// the workspace, such as a build or a test, needs a person.
	Exposed bool `json:"exposed,omitempty"`
	// Networked says that scripts reach hosts of a network. Then, too, what runs code of the
	// workspace needs a person: the code may send whatever the model knows.
	Networked bool `json:"networked,omitempty"`
}

// Validate reports what is wrong with c: a problems.List, with paths as read[0].
func (c Config) Validate() error {
	var ps problems.List
	known := newRules()
	for key, names := range map[string][]string{"denied": c.Denied, "read": c.Read, "write": c.Write} {
		for i, name := range names {
			path := fmt.Sprintf("%s[%d]", key, i)
			switch {
			case !isPlainName(name):
				ps.Add(path, "%q is not the name of a command, without a path", name)
			case key == "denied":
			case known.isBlocked(name):
				ps.Add(path, "%s never runs, and no list allows it; remove it", name)
			case slices.Contains(c.Denied, name):
				ps.Add(path, "%s is also under denied; keep one of the two", name)
			case key == "write" && slices.Contains(c.Read, name):
				ps.Add(path, "%s is also under read; keep one of the two", name)
			case known.find(name) != nil:
				ps.Add(path, "the policy has rules of its own for %s; remove it", name)
			}
		}
	}
	slices.SortFunc(ps, func(a, b problems.Problem) int { return strings.Compare(a.Path, b.Path) })
	return ps.Err()
}

// isPlainName reports whether a name can be that of a command and of nothing else.
func isPlainName(name string) bool {
	return name != "" && name[0] != '-' && name[0] != '+' && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && r != '+' && !isLetter(r) && !isDigit(r)
	})
}

// Policy judges scripts. It never changes, and may be used concurrently.
type Policy struct {
	config Config
	rules  *rules
}

// New makes a Policy. The error is that of [Config.Validate].
func New(c Config) (*Policy, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("command policy: %w", err)
	}
	p := &Policy{config: c, rules: newRules()}
	p.config.Trusted = trusted.Fold(c.Trusted)
	for _, name := range c.Denied {
		p.rules.blocked[name] = "by the operator"
	}
	for _, name := range c.Read {
		p.rules.known[name] = operators(looks())
	}
	for _, name := range c.Write {
		p.rules.known[name] = operators(changes())
	}
	return p, nil
}

// Place is where a script runs.
type Place struct {
	Dir   string   // working directory, absolute; "": the first root
	Roots []string // absolute paths of folders that scripts may change; the workspace is the first
}

// Judge returns the verdict on a script that runs at a place. It needs some ten
// microseconds for a short one and never waits.
func (p *Policy) Judge(script string, at Place) (result Judgement) {
	return p.judge(script, at, (*judge).program)
}

// judge is Judge with the function that looks through the program.
func (p *Policy) judge(script string, at Place, look func(*judge, *program)) (result Judgement) {
	defer func() {
		if v := recover(); v != nil {
			result = Judgement{Verdict: Deny, Reason: "the command could not be analysed", Part: shorten(fmt.Sprintf("%v at %s", v, firstFrame(debug.Stack())))}
		}
	}()
	prog, err := parseScript(script)
	if err != nil {
		return Judgement{Verdict: Deny, Reason: err.Error()}
	}
	j := newJudge(p, at)
	look(j, prog)
	if j.reason == "" {
		j.reason = "nothing in it changes anything"
	}
	return Judgement{Verdict: j.verdict, Text: prog.text, Reason: j.reason, Part: j.part}
}

// firstFrame returns the line of a stack at which a panic began.
func firstFrame(stack []byte) string {
	_, after, _ := strings.Cut(string(stack), "panic(")
	lines := strings.SplitN(after, "\n", 5)
	if len(lines) < 4 {
		return "an unknown place"
	}
	return strings.TrimSpace(lines[3])
}
