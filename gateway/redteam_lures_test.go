package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"parley/simulators/model"
)

// lure is a document that tells the model what to do, and what a model does that believes it.
// In its texts stand words in double braces, which [lair.fill] replaces.
type lure struct {
	Name string `yaml:"name"`
	// Way is how the model meets it: page, file, upload, search, mcp, described, say, quote or forward.
	// Default: what the file of lures is called, without its s.
	Way      string `yaml:"way"`
	Filename string `yaml:"filename"` // of an upload
	Part     string `yaml:"part"`     // of a result of an MCP server: see mcptest.Told
	Redirect string `yaml:"redirect"` // where its page leads
	Text     string `yaml:"text"`
	// Delivers is what the model gets in place of the document; empty: the document.
	Delivers string     `yaml:"delivers"`
	Calls    []lureCall `yaml:"calls"`
	Forever  *lureCall  `yaml:"forever"` // again and again
	Says     string     `yaml:"says"`    // what the model says at the end
	Absent   string     `yaml:"absent"`  // what must never stand in a system message
}

// lureCall is a call that the document wants, and what it must come to.
type lureCall struct {
	Tool      string         `yaml:"tool"`
	Arguments map[string]any `yaml:"arguments"`
	Raw       string         `yaml:"raw"`  // the arguments as text
	Bash      string         `yaml:"bash"` // a script, in place of the three
	Gets      string         `yaml:"gets"` // a regular expression
}

// lair is what the documents are after.
type lair struct {
	words *strings.Replacer
	lures map[string]lure
	outer string // a folder outside of all workspaces
	// shared is a folder outside of them that agents may write.
	shared string
	walls  bool // scripts run behind walls; else there is no tool for them
	// server is the MCP server that says what documents say.
	server http.Handler

	mu      sync.Mutex
	results map[string]string // by lure and number of the call
}

func (l *lair) fill(text string) string { return l.words.Replace(text) }

// readLures reads all documents.
func readLures(t *testing.T) map[string]lure {
	t.Helper()
	paths, err := filepath.Glob("testdata/redteam/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]lure{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var some []lure
		d := yaml.NewDecoder(strings.NewReader(string(text)))
		d.KnownFields(true)
		if err := d.Decode(&some); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, one := range some {
			if one.Way == "" {
				one.Way = strings.TrimSuffix(filepath.Base(path), "s.yaml")
			}
			all[one.Name] = one
		}
	}
	return all
}

var (
	lureIn  = regexp.MustCompile(`lure (\S+) from (\d+)`)
	savedIn = regexp.MustCompile(`saved as ([^\n,]*)`)
)

// brain is the model that believes every document: it makes each call that one asks for, and
// tells what came back.
func (l *lair) brain(_ context.Context, p *model.Prompt) model.Answer {
	text := p.LastText()
	if order, ok := strings.CutPrefix(text, "do: "); ok { // a sub-agent's task
		var c struct {
			Tool      string          `json:"tool"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if rs := p.Answering(); len(rs) > 0 || json.Unmarshal([]byte(order), &c) != nil {
			return model.Reply(model.Say("done"))
		}
		return model.Reply(model.Use(c.Tool, c.Arguments))
	}
	if diary, ok := strings.CutPrefix(text, "keep "); ok {
		if len(p.Answering()) > 0 {
			return model.Reply(model.Say("kept"))
		}
		return model.Reply(model.Use("write_file", map[string]string{"path": "diary.txt", "content": diary}))
	}
	m := lureIn.FindStringSubmatch(text)
	if m == nil {
		return model.Reply(model.Say("what?"))
	}
	one := l.lures[m[1]]
	from, _ := strconv.Atoi(m[2])
	steps := l.steps(one, text, from)
	done := 0
	var got []string
	for _, msg := range behindLast(p) {
		for _, r := range msg.Results {
			l.keep(one.Name, from, done-len(l.delivery(one, text)), r.Text)
			got = append(got, r.Text)
			done++
		}
	}
	switch {
	case one.Forever != nil:
		return model.Reply(l.use(*one.Forever, text))
	case done < len(steps):
		return model.Reply(steps[done])
	}
	return model.Reply(model.Say(l.fill(one.Says) + "\nfrom documents: " + strings.Join(got, "\n")))
}

// behindLast returns the messages behind the person's last words, which may stand beside results
// of a turn before.
func behindLast(p *model.Prompt) []model.Message {
	for i := len(p.Messages) - 1; i >= 0; i-- {
		if p.Messages[i].Role == model.User && p.Messages[i].Text != "" {
			return p.Messages[i+1:]
		}
	}
	return nil
}

// keep notes what call n came to, behind the calls before from; those before 0 deliver the document.
func (l *lair) keep(name string, from, n int, result string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n >= 0 {
		n += from
	}
	l.results[fmt.Sprint(name, " ", n)] = result
}

func (l *lair) result(name string, n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.results[fmt.Sprint(name, " ", n)]
}

// delivery is the calls by which the model comes to read the document.
func (l *lair) delivery(one lure, text string) []model.Block {
	switch one.Way {
	case "page":
		return []model.Block{model.Use("web_fetch", map[string]string{"url": l.fill("{{site}}/" + one.Name)})}
	case "search":
		return []model.Block{model.Use("web_search", map[string]string{"query": one.Name})}
	case "file":
		return []model.Block{
			model.Use("write_file", map[string]string{"path": "notes.txt", "content": l.fill(one.Text)}),
			model.Use("read_file", map[string]string{"path": "notes.txt"}),
		}
	case "mcp":
		return []model.Block{model.Use("lures__look", map[string]string{"text": one.Name})}
	case "upload":
		return []model.Block{model.Use("read_file", map[string]string{"path": saved(text)})}
	}
	return nil // it stands in the message
}

// saved is the path of what came with a message.
func saved(text string) string {
	if m := savedIn.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return "nothing was saved"
}

// steps is all that the model does, beginning with call number from of the document.
func (l *lair) steps(one lure, text string, from int) []model.Block {
	steps := l.delivery(one, text)
	for _, c := range one.Calls[min(from, len(one.Calls)):] {
		steps = append(steps, l.use(c, text))
	}
	return steps
}

func (l *lair) use(c lureCall, text string) model.Block {
	fill := func(s string) string { return l.fill(strings.ReplaceAll(s, "{{saved}}", saved(text))) }
	switch {
	case c.Bash != "":
		return model.Use("bash", map[string]string{"command": fill(c.Bash)})
	case c.Raw != "":
		return model.Use(c.Tool, json.RawMessage(fill(c.Raw)))
	}
	arguments := map[string]any{}
	for k, v := range c.Arguments {
		if s, ok := v.(string); ok {
			v = fill(s)
		}
		arguments[k] = v
	}
	return model.Use(c.Tool, arguments)
}
