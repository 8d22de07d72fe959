package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/gateway"
	"parley/gateway/gatewaytest"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
	"parley/tools/files"
)

// asked calls the tools in order, one for each step, and says back what they
// gave. seen gets the prompts.
func asked(seen chan<- *model.Prompt, calls ...model.Block) model.Brain {
	return func(_ context.Context, p *model.Prompt) model.Answer {
		if seen != nil {
			seen <- p
		}
		done, words := 0, ""
		for _, m := range p.Messages {
			for _, r := range m.Results {
				done++
				words += r.Text + "\n"
			}
		}
		if done < len(calls) {
			return model.Reply(calls[done])
		}
		return model.Reply(model.Say(words + "END"))
	}
}

func TestAnAgentHasAllToolsByDefault(t *testing.T) {
	t.Parallel()
	seen := make(chan *model.Prompt, 1)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: asked(seen), Change: func(c *settings.Config) {
		c.Skills = []string{exampleSkills(t)} // without any, the tool that reads them is left out
	}})
	env.Start().Ask(gatewaytest.Ann, "hello")
	var names []string
	for _, tool := range (<-seen).Tools {
		names = append(names, tool.Name)
	}
	off := []string{"bash", "set_working_directory", "web_fetch", "web_search", "schedule"} // see TestAnAgentRunsScripts, TestAnAgentReadsThePage and TestAPersonSchedulesByTalking
	all := slices.DeleteFunc(settings.ToolNames(), func(name string) bool { return slices.Contains(off, name) })
	if d := cmp.Diff(all, names); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}

// G12: all that goes to the model for one word, frame included, in both
// protocols' shapes and in the longest place, a group.
func TestAWordCostsASmallPrompt(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]gatewaytest.Options{
		"messages":         {},
		"chat completions": {OpenAI: true},
		"responses": {Change: func(c *settings.Config) {
			p := c.Providers["sim"]
			c.Providers["sim"] = settings.ProviderConfig{Kind: settings.KindOpenAIResponses, BaseURL: p.BaseURL + "/v1", Prices: p.Prices}
		}},
	} {
		env := gatewaytest.Open(t, o)
		env.Start().AskIn(gatewaytest.Kitchen, gatewaytest.Ann, "@"+gatewaytest.Username+" hello")
		sent := env.Model.Requests()
		if len(sent) != 1 {
			t.Fatalf("%s: %d requests", name, len(sent))
		}
		t.Logf("%s: %d bytes", name, len(sent[0].Body))
		if n := len(sent[0].Body); n > 8<<10 || !bytes.Contains(sent[0].Body, []byte("sessions_history")) {
			t.Errorf("%s: %d bytes are sent for one word", name, n)
		}
	}
}

// U06, U07: what a session is told of itself, and that there is no other.
func TestAnAgentSeesItsOwnSessionAndNoOther(t *testing.T) {
	t.Parallel()
	var stranger atomic.Value
	stranger.Store("")
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		return asked(nil,
			model.Use("session_status", map[string]string{}),
			model.Use("sessions_list", map[string]string{}),
			model.Use("agents_list", map[string]string{}),
			model.Use("sessions_history", map[string]string{}),
			model.Use("sessions_history", map[string]string{"session": stranger.Load().(string)}),
			model.Use("sessions_history", map[string]string{"session": "01JZZZZZZZZZZZZZZZZZZZZZZZ"}),
		)(ctx, p)
	}})
	gw := env.Start()
	env.Say(telegram.PrivateChat(gatewaytest.Ben), gatewaytest.Ben, "Ben's secret")
	ben := gw.NextDelivered()
	stranger.Store(ben.Session)
	got := gw.Ask(gatewaytest.Ann, "Ann's question")
	for want, n := range map[string]int{
		"Agent: main, model sim/demo": 2, "main, running, ": 2, "(this one)": 2, "user: Ann's question": 1, "assistant: calls session_status": 1,
		"main: sim/demo, when agent is left out": 2, "\nLeft to spend: $": 2, " for who asks today": 2,
		"there is no such session among yours": 2,
	} {
		if strings.Count(got, want) != n {
			t.Errorf("%q is not %d times in %q", want, n, got)
		}
	}
	if strings.Contains(got, "Ben's secret") || strings.Contains(got, ben.Session) {
		t.Errorf("Ann was told of Ben: %q", got)
	}
}

// F03, F05, K03
func TestAnAgentWorksWithFilesAndAPersonDecidesAboutTheRest(t *testing.T) {
	t.Parallel()
	use := func(tool string, pairs ...string) model.Block {
		in := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			in[pairs[i]] = pairs[i+1]
		}
		return model.Use(tool, in)
	}
	seen := make(chan *model.Prompt, 100)
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: asked(seen,
		use("write_file", "path", "notes.txt", "content", "eggs\n"),
		use("edit_file", "path", "notes.txt", "old_text", "eggs", "new_text", "flour"),
		use("grep", "pattern", "fl.ur"),
		use("glob", "pattern", "*"),
		use("view", "path", "notes.txt"),
		use("delete_file", "path", "notes.txt"),
		use("list_directory"),
		// What a person has to decide about:
		use("write_file", "path", ".env", "content", "A=1"),
		use("write_file", "path", ".git/hooks/post-checkout", "content", "rm -rf /"),
		use("edit_file", "path", "CLAUDE.md", "old_text", "a", "new_text", "b"),
		use("delete_file", "path", "AGENTS.md"),
		// What nobody may:
		use("write_file", "path", "/etc/cron.d/x", "content", "x"),
		use("read_file", "path", "../../parley.db"),
		use("glob", "path", "..", "pattern", "**"),
	)})
	gw := env.Start()
	text := gw.Ask(gatewaytest.Ann, "go")
	folder := gw.Folder(gatewaytest.Ann)
	var results []string
	for len(seen) > 0 {
		for _, r := range (<-seen).Answering() {
			results = append(results, r.Text)
		}
	}
	wants := []string{
		"wrote a new file notes.txt, 5 bytes", "replaced the text on line 1 in notes.txt", "notes.txt:1:flour", "notes.txt", "1\tflour",
		"deleted notes.txt", "",
		"needs a person's approval", "needs a person's approval", "needs a person's approval", "needs a person's approval",
		"path not allowed", "path not allowed", "path not allowed",
	}
	if len(results) != len(wants) {
		t.Fatalf("%d results: %q\n%s", len(results), results, text)
	}
	for i, want := range wants {
		if !strings.Contains(results[i], want) {
			t.Errorf("call %d gave %q, want %q", i+1, results[i], want)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("in the workspace are %v, %v", entries, err)
	}
	if text == "" || !strings.HasSuffix(text, "END") {
		t.Errorf("the turn ended with %q", text)
	}
	gw.AwaitMetrics(`parley_tool_calls_total{agent_kind="root",outcome="denied",tool="write_file"} 2`)
	if _, err := os.Stat(filepath.Join(folder, ".env")); err == nil {
		t.Error(".env was written")
	}
}

// What the operator says of the file tools holds: a further root is read and
// never changed, what is denied is out of reach, a name of the operator's own
// needs a person.
func TestTheOperatorSaysWhatTheFileToolsReach(t *testing.T) {
	t.Parallel()
	book := t.TempDir()
	for path, text := range map[string]string{"a.txt": "alpha", "private/b.txt": "beta"} {
		noError(t, errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(book, path)), 0o700), os.WriteFile(filepath.Join(book, path), []byte(text), 0o600)))
	}
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: asked(nil,
			model.Use("read_file", map[string]string{"path": book + "/a.txt"}),
			model.Use("grep", map[string]string{"path": book, "pattern": "a"}),
			model.Use("read_file", map[string]string{"path": book + "/private/b.txt"}),
			model.Use("write_file", map[string]string{"path": "persona.md", "content": "x"}),
			model.Use("write_file", map[string]string{"path": "big.txt", "content": "123456789"}),
		),
		Change: func(c *settings.Config) {
			c.Files = files.Config{ExtraRoots: []string{book}, Denied: []string{book + "/private"}, Trusted: []string{"PERSONA.md"}, MaxWrite: 8}
		},
	})
	got := env.Start().Ask(gatewaytest.Ann, "go")
	for _, want := range []string{"alpha", "a.txt:1:alpha", "path not allowed", "needs a person's approval", "the most is 8"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(got, "beta") {
		t.Errorf("what is denied came in: %q", got)
	}
}

func TestARootThatLeadsToTheStateIsRefused(t *testing.T) {
	t.Parallel()
	env := gatewaytest.Open(t, gatewaytest.Options{})
	state := env.Config().StateDir
	link := filepath.Join(t.TempDir(), "link")
	noError(t, os.Symlink(filepath.Dir(state), link))
	for root, atStart := range map[string]bool{state: false, filepath.Dir(state): false, state + "/workspaces": false, link: true} {
		c := env.Config()
		c.Files.ExtraRoots = []string{"/nowhere", root}
		var log bytes.Buffer
		g, err := gateway.New(c, gateway.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err == nil && atStart {
			err = g.Run(t.Context())
			if !strings.Contains(log.String(), "key=files.extra_roots[0] path=/nowhere") {
				t.Errorf("nothing is said of a root that is not there: %s", &log)
			}
		}
		if err == nil || !strings.Contains(err.Error(), "files.extra_roots[1]: ") || !strings.Contains(err.Error(), "lie in each other") {
			t.Errorf("%s: %v", root, err)
		}
	}
}

// U06, U07: a child is told of itself and of what is below it, and not even of
// its parent; what it may not have is not there for it.
func TestAChildCannotLookAboveItself(t *testing.T) {
	t.Parallel()
	none := map[string]string{}
	env := gatewaytest.Open(t, gatewaytest.Options{Brain: func(ctx context.Context, p *model.Prompt) model.Answer {
		if parent, is := strings.CutPrefix(p.LastText(), "look above "); is {
			return asked(nil,
				model.Use("sessions_list", none),
				model.Use("sessions_history", map[string]string{"session": parent}),
				model.Use("sessions_history", map[string]string{"session": "nobody"}),
				model.Use("session_status", none),
				model.Use("agents_list", none),
			)(ctx, p)
		}
		calls := []model.Block{model.Use("session_status", none)}
		if rs := p.Answering(); len(rs) > 0 {
			id, _, _ := strings.Cut(strings.TrimPrefix(rs[0].Text, "Session "), ":")
			calls = append(calls, model.Use("sessions_spawn", map[string]string{"task": "look above " + id, "label": "spy"}))
		}
		return asked(nil, calls...)(ctx, p)
	}})
	got := env.Start().Ask(gatewaytest.Ann, "Ann's secret")
	for want, n := range map[string]int{
		" task \"spy\", running, ": 1, " (this one)": 1, "there is no such session among yours": 2,
		"Unknown tool 'session_status'": 1, "Unknown tool 'agents_list'": 1,
	} {
		if strings.Count(got, want) != n {
			t.Errorf("%q is not %d times in %q", want, n, got)
		}
	}
	if strings.Contains(got, "Ann's secret") {
		t.Errorf("the child was told what its parent heard: %q", got)
	}
}
