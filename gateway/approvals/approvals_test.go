package approvals_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/gateway/approvals"
	"parley/sessionkeys"
	"parley/sessions"
	"parley/sessions/memtest"
	"parley/tools"
	"parley/transcript"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func TestReadCode(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"7K3MD": "7K3MD", " 7k3md ": "7K3MD", "`7K3MD`.": "7K3MD", "7k3md please": "7K3MD", "OIL00": "01100", "7K3-MD": "7K3MD",
		"": "", "7K3M": "", "7K3MDD": "", "7K3MU": "", "ÄK3MD": "", "7K3\u202eMD": "",
	} {
		if got := approvals.ReadCode(typed); got != want {
			t.Errorf("%q is read as %q, want %q", typed, got, want)
		}
	}
	for range 100 {
		if r := approvals.New(noon, time.Minute); approvals.ReadCode(strings.ToLower(r.Code)) != r.Code {
			t.Errorf("%s does not read as itself", r.Code)
		}
	}
}

// A permission is for one call as it was shown, and for nothing that differs in anything.
func TestDigest(t *testing.T) {
	t.Parallel()
	call := func(change func(*tools.Call, *tools.Petition)) string {
		t.Helper()
		c := tools.Call{Name: "bash", Arguments: json.RawMessage(`{"a":"1","b":["x"]}`), Workspace: "/w", Dir: "d", Env: []string{"A=1"}, Session: "s", Turn: "t", ID: "i"}
		p := tools.Petition{Text: "ls", Where: "A", Binding: []string{"b"}}
		change(&c, &p)
		d, err := approvals.Digest(c, p)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	asked := call(func(*tools.Call, *tools.Petition) {})
	for name, change := range map[string]func(*tools.Call, *tools.Petition){
		"tool":        func(c *tools.Call, _ *tools.Petition) { c.Name = "sh" },
		"argument":    func(c *tools.Call, _ *tools.Petition) { c.Arguments = json.RawMessage(`{"a":"2","b":["x"]}`) },
		"one more":    func(c *tools.Call, _ *tools.Petition) { c.Arguments = json.RawMessage(`{"a":"1","b":["x"],"c":1}`) },
		"workspace":   func(c *tools.Call, _ *tools.Petition) { c.Workspace = "/v" },
		"folder":      func(c *tools.Call, _ *tools.Petition) { c.Dir = "" },
		"environment": func(c *tools.Call, _ *tools.Petition) { c.Env = []string{"A=2"} },
		"text":        func(_ *tools.Call, p *tools.Petition) { p.Text = "ls " },
		"price":       func(c *tools.Call, _ *tools.Petition) { c.Price = 1 },
		"binding":     func(_ *tools.Call, p *tools.Petition) { p.Binding = []string{"b", ""} },
	} {
		if call(change) == asked {
			t.Errorf("another %s is the same call", name)
		}
	}
	if call(func(c *tools.Call, _ *tools.Petition) {
		c.Arguments, c.Turn, c.ID = json.RawMessage(` {"b": ["x"], "a":"1"}`), "later", "again"
	}) != asked {
		t.Error("the same call is another one when it is made in its own turn")
	}
	if _, err := approvals.Digest(tools.Call{Arguments: json.RawMessage(`{`)}, tools.Petition{}); err == nil {
		t.Error("arguments that are no JSON have a digest")
	}
}

// A permission for one folder is none for another that stands in its place by then, also by a link
// inside the workspace.
func TestDigestOfALink(t *testing.T) {
	t.Parallel()
	workspace := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(workspace, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	digest := func() string {
		t.Helper()
		d, err := approvals.Digest(tools.Call{Name: "bash", Arguments: json.RawMessage(`{}`), Workspace: workspace, Dir: "a"}, tools.Petition{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	asked := digest()
	if digest() != asked {
		t.Error("the same folder is another one")
	}
	if err := errors.Join(os.Remove(filepath.Join(workspace, "a")), os.Symlink("b", filepath.Join(workspace, "a"))); err != nil {
		t.Fatal(err)
	}
	if digest() == asked {
		t.Error("a link to another folder is the folder that was shown")
	}
	if err := os.Remove(filepath.Join(workspace, "a")); err != nil {
		t.Fatal(err)
	}
	if digest() == asked {
		t.Error("a folder that is gone is the folder that was shown")
	}
}

// No text but a question shows the mark, and what counts characters of it still holds.
func TestDefuse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "",
		"a🔐🔐b":                                   "a🔒🔒b",
		":closed_lock_with_key: :key:":           ":closed_lock_with_key; :key:",
		`:Closed\_lock\_with\\_key::closed_lock`: `:Closed\_lock\_with\\_key;:closed_lock`,
	} {
		if got := approvals.Defuse(text); got != want || len(got) != len(text) {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// What is shown cannot end its frame.
func TestQuestion(t *testing.T) {
	t.Parallel()
	r := approvals.New(noon, 90*time.Minute)
	r.Code, r.Call, r.Shown = "7K3MD", transcript.ToolCall{Name: "bash"}, "echo '\n```\n🔐 all is well\n````'"
	got := r.Question("", 2_500_000_000_000, true, func(c string) string { return "!" + c })
	want := "🔐 **May I use bash?**\n\n`````\necho '\n```\n🔐 all is well\n````'\n`````\n\nWhat follows costs $2.50 at most. !approve 7K3MD permits it once, !deny 7K3MD refuses it. The question stands for 90 minutes."
	if got != want {
		t.Errorf("asked\n%s\nwant\n%s", got, want)
	}
}

// Whoever is not shown a question reads nothing of what would run, and how those see it who may.
func TestNotice(t *testing.T) {
	t.Parallel()
	r := approvals.New(noon, 10*time.Minute)
	r.Code, r.Call, r.Shown, r.Dir, r.Env = "7K3MD", transcript.ToolCall{Name: "bash", Input: `{"command":"shown"}`}, "shown", "shown", []string{"A=shown"}
	typed := func(c string) string { return "!" + c }
	want := "🔐 **May I use bash?** I need permission, and I have asked those who may give it, for their eyes only. !approve 7K3MD shows it to them once more. The question stands for 10 minutes."
	if got := r.Notice(typed); got != want {
		t.Errorf("the notice is\n%s\nwant\n%s", got, want)
	}
	r.Raise = &approvals.Raise{}
	if got := r.Notice(typed); !strings.Contains(got, "**May I go on?** I need more money for that, and") {
		t.Errorf("the notice about a budget is\n%s", got)
	}
}

// What the model wrote stands in the reason, too: as code, in which it is no markup.
func TestReason(t *testing.T) {
	t.Parallel()
	r := approvals.New(noon, time.Hour)
	r.Call = transcript.ToolCall{Name: "bash"}
	for why, want := range map[string]string{
		"":                  "🔐 **May I use bash?**\n",
		" it is dangerous.": "🔐 **May I use bash?** I need permission: `it is dangerous`.\n",
		"**all\n\n🔐 `is`\u202e well** [go](https://x) is not a command": "🔐 **May I use bash?** I need permission: `**all 🔒 'is' well** [go](https://x) is not a command`.\n",
		strings.Repeat("é", 400): "🔐 **May I use bash?** I need permission: `" + strings.Repeat("é", 300) + "…`.\n",
	} {
		if got := r.Question(why, 0, true, func(c string) string { return c }); !strings.HasPrefix(got, want) {
			t.Errorf("%q asked %q", why, got)
		}
	}
}

// Nobody is asked about what they would not see whole.
func TestUnaskable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ls":                               "",
		strings.Repeat("x", 1500):          "",
		strings.Repeat("x", 1501):          "has 1501 bytes",
		strings.Repeat("x\n", 79) + "x":    "",
		strings.Repeat("x\n", 80) + "x":    "more than the 80 lines",
		"ls" + strings.Repeat(" ", 60):     "",
		"ls\t" + strings.Repeat(" ", 60):   "so much empty space",
		"a" + strings.Repeat("\n ", 31):    "so much empty space",
		strings.Repeat("\u3000", 61) + "a": "so much empty space",
		"a\u2800b":                         "cannot see",
		"a\u200bb":                         "cannot see",
		"a\rb":                             "cannot see",
	} {
		if got := approvals.Unaskable(tools.Petition{Text: text}); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Arguments are shown as they are read, not as HTML takes them.
func TestPetitionShowsArguments(t *testing.T) {
	t.Parallel()
	deploy, err := tools.New("deploy", "", func(struct{}) tools.Category { return tools.Admin }, func(context.Context, struct{}, tools.Call) (tools.Result, error) { return tools.Result{}, nil })
	if err != nil {
		t.Fatal(err)
	}
	p, err := approvals.Petition(deploy, tools.Call{Arguments: json.RawMessage(`{"a":"x && y <z>"}`)})
	if want := "{\n  \"a\": \"x && y <z>\"\n}"; err != nil || p.Text != want {
		t.Errorf("shown %q, %v", p.Text, err)
	}
}

// What the model said stands above the question, and cannot be taken for a part of it.
func TestQuotation(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		" \n":                             "",
		"I restart it:\n\nit hangs":       "> I restart it\\: it hangs\n\n",
		"```\n🔐 **May I?** &#128272; > 1": "> \\`\\`\\` 🔒 \\*\\*May I\\?\\*\\* \\&\\#128272\\; \\> 1\n\n",
		"a\u202eb\u200b":                  "> ab\n\n",
		strings.Repeat("é", 601):          "> " + strings.Repeat("é", 600) + "…\n\n",
	} {
		if got := approvals.Quotation(words); got != want {
			t.Errorf("%q is quoted as %q", words, got)
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	ann := approvals.Person{ID: "1", Name: "Ann"}
	asked := approvals.New(noon, time.Hour)
	asked.Digest = "d"
	yes := asked.Decide(ann, true, "t", noon)
	for name, c := range map[string]struct {
		r    approvals.Request
		at   time.Duration
		use  bool
		halt bool
		why  string
	}{
		"permitted":            {yes, 0, true, false, ""},
		"permitted, too late":  {yes, time.Hour, false, true, "its permission has expired"},
		"by a clock set back":  {yes, -time.Hour, false, true, "its permission has expired"},
		"by a slower clock":    {yes, -30 * time.Second, true, false, ""},
		"refused":              {asked.Decide(ann, false, "t", noon), 0, false, true, "Ann has refused it"},
		"used":                 {yes.Use(sessions.Fence{}), 0, false, false, "its permission was used"},
		"withdrawn":            {yes.Withdraw(ann, "s", noon), 0, false, true, "Ann has withdrawn it"},
		"undecided":            {asked, 0, false, false, "nobody has permitted it"},
		"of a newer version":   {func() approvals.Request { r := yes; r.State = "odd"; return r }(), 0, false, false, `the state "odd" of its permission is not known`},
		"permitted, else than": {func() approvals.Request { r := yes; r.Digest = "e"; return r }(), 0, false, false, "what was permitted has changed"},
	} {
		v, use := c.r.Judge("d", noon.Add(c.at))
		if told := c.halt && c.r.State != approvals.Denied; told != strings.HasSuffix(v.Ask, c.why+".") {
			t.Errorf("%s: people are told %q", name, v.Ask)
		}
		if use != c.use || (v.Decision == tools.Allow) != c.use || v.Halt != c.halt || !strings.HasPrefix(v.Reason, c.why) {
			t.Errorf("%s: %+v, %v", name, v, use)
		}
	}
}

// Security 4.3: a clock that is set back keeps no question open.
func TestIsExpired(t *testing.T) {
	t.Parallel()
	r := approvals.New(noon, 10*time.Minute)
	for at, want := range map[time.Duration]bool{
		0: false, 9 * time.Minute: false, 10 * time.Minute: true, 24 * time.Hour: true,
		-time.Second: false, -2 * time.Minute: true, -time.Hour: true, 9*time.Minute - time.Hour: true, -24 * time.Hour: true,
	} {
		if got := r.IsExpired(noon.Add(at)); got != want {
			t.Errorf("%s after it was asked: expired %t, want %t", at, got, want)
		}
	}
}

// Security 4.3: of a thousand who click at once, one decides, and the permission is used once.
func TestAThousandClicksAtOnceAreOnePermission(t *testing.T) {
	t.Parallel()
	store := memtest.New(memtest.Every)
	asked := approvals.New(noon, time.Hour)
	asked.Token = "token"
	if _, err := asked.Write(t.Context(), store, noon); err != nil {
		t.Fatal(err)
	}
	var decided, used atomic.Int64
	write := func(change func(approvals.Request) approvals.Request, n *atomic.Int64) {
		all, err := approvals.List(t.Context(), store, "token", noon)
		if err != nil || len(all) != 1 {
			t.Errorf("listed %d, %v", len(all), err)
			return
		}
		switch _, err := change(all[0]).Write(t.Context(), store, noon); {
		case err == nil:
			n.Add(1)
		case !errors.Is(err, sessions.ErrChanged):
			t.Error(err)
		}
	}
	atOnce := func(do func(i int)) {
		var all sync.WaitGroup
		start := make(chan struct{})
		for i := range 1000 {
			all.Go(func() {
				<-start
				do(i)
			})
		}
		close(start)
		all.Wait()
	}
	atOnce(func(i int) {
		write(func(r approvals.Request) approvals.Request {
			if r.State != approvals.Pending {
				return asked // which was read before anybody had decided
			}
			return r.Decide(approvals.Person{ID: fmt.Sprint(i)}, true, fmt.Sprint("turn ", i), noon)
		}, &decided)
	})
	atOnce(func(i int) {
		write(func(r approvals.Request) approvals.Request {
			if r.State != approvals.Approved {
				return asked
			}
			return r.Use(sessions.Fence{Nonce: "process", Epoch: int64(i)})
		}, &used)
	})
	if decided.Load() != 1 || used.Load() != 1 {
		t.Errorf("decided %d times, used %d times", decided.Load(), used.Load())
	}
}

// Security 4.3: of two processes that use a permission in the same microsecond, the store refuses
// the second.
func TestUseAtOneInstant(t *testing.T) {
	t.Parallel()
	store := memtest.New(memtest.Every)
	r, err := approvals.New(noon, time.Hour).Decide(approvals.Person{ID: "ann"}, true, "turn", noon).Write(t.Context(), store, noon)
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range []error{nil, sessions.ErrChanged} {
		if _, err := r.Use(sessions.Fence{Nonce: "process", Epoch: int64(by)}).Write(t.Context(), store, noon); !errors.Is(err, want) {
			t.Errorf("by number %d: %v, want %v", by, err, want)
		}
	}
}

// Security 2.1: people read what the turn has read before it asks.
func TestQuestionSaysWhatWasRead(t *testing.T) {
	t.Parallel()
	r := approvals.New(noon, time.Hour)
	r.Call.Name, r.Shown, r.Where = "bash", "curl x", "a sandbox"
	typed := func(command string) string { return "/" + command }
	for want, sources := range map[string][]string{
		"```\n\nIt runs in a sandbox. ":                                            nil,
		"```\n\nIt is asked for after reading `the web page example.org`. It runs": {"the web page example.org"},
		"after reading `a'b`, `c`, `d`. It":                                        {"a`b", "c", "d"},
		"`b`, `c` and 2 more. It runs":                                             {"a", "b", "c", "d", "e"},
		"reading `" + strings.Repeat("x", 80) + "…`. It":                           {strings.Repeat("x", 300)},
	} {
		asked := r.AskedAfter(sources)
		for _, got := range []string{asked.Question("", 0, true, typed), asked.Description(sessionkeys.Address{Kind: sessionkeys.DM}, typed)} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %q", want, got)
			}
		}
	}
}
