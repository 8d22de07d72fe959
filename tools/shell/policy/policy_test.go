package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/tools/secrets"
	"parley/tools/shell/policy"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	err := policy.Config{
		Denied: []string{"curl", "a b"},
		Read:   []string{"kubectl-view", "rm", "curl", "/bin/x", "mkfs.ext4"},
		Write:  []string{"", "env", "kubectl-view", "-x", "python3"},
	}.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		`denied[1]: "a b" is not the name of a command, without a path`,
		`read[1]: rm never runs, and no list allows it; remove it`,
		`read[2]: curl is also under denied; keep one of the two`,
		`read[3]: "/bin/x" is not the name of a command, without a path`,
		`read[4]: mkfs.ext4 never runs, and no list allows it; remove it`,
		`write[0]: "" is not the name of a command, without a path`,
		`write[1]: the policy has rules of its own for env; remove it`,
		`write[2]: kubectl-view is also under read; keep one of the two`,
		`write[3]: "-x" is not the name of a command, without a path`,
		`write[4]: the policy has rules of its own for python3; remove it`,
	}
	if d := cmp.Diff(want, strings.Split(err.Error(), "\n")); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	if _, err := policy.New(policy.Config{Read: []string{"sudo"}}); err == nil || !strings.Contains(err.Error(), "read[0]") {
		t.Errorf("New: %v", err)
	}
}

// An operator adds to the lists and never makes the blocklist smaller.
func TestConfig(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		config policy.Config
		want   map[string]string
	}{
		{"without anything", policy.Config{}, map[string]string{
			"look-up x": "admin", "put-down x": "admin", "ls private": "read", "echo x > plan.txt": "write", "go test ./...": "write", "python3 x.py": "write", "bash x.sh": "admin",
		}},
		{"commands that read", policy.Config{Read: []string{"look-up"}}, map[string]string{
			"look-up x": "read", "look-up /etc/x": "admin", "look-up ~/.ssh/id": "deny", "env look-up x": "read", "./look-up x": "admin", "look-up rm": "admin", "look-up > /etc/x": "admin", "$x look-up": "deny",
		}},
		{"commands that write", policy.Config{Write: []string{"put-down"}}, map[string]string{
			"put-down x": "write", "put-down /etc/x": "admin", "put-down .git/config": "admin", "put-down $x": "admin", "put-down /bin/rm x": "admin",
		}},
		{"commands that are denied", policy.Config{Denied: []string{"ls", "put-down"}}, map[string]string{
			"ls": "deny", "/bin/ls": "deny", "env ls": "deny", "put-down": "deny", "cat x": "read",
		}},
		{"paths that are denied", policy.Config{DeniedPaths: []string{"/workspace/private", "/usr/share/keys", "/workspace"}}, map[string]string{
			"ls private": "deny", "cat private/x": "deny", "cat priv*/x": "deny", "cat ./sub/../private/x": "deny", "echo x > private/y": "deny", "cat < private/x": "deny",
			"cat privat": "read", "cat /usr/share/keys/a": "deny", "cat /usr/share/a": "read", "ls": "read", "x=/usr/share/keys/a": "deny", "look-up private/x": "deny",
		}},
		{"names that are trusted", policy.Config{Trusted: []string{"Plan.txt"}}, map[string]string{
			"echo x > plan.txt": "admin", "echo x > plan.txt/y": "admin", "cat plan.txt": "read", "cd plan.txt": "admin",
		}},
		{"without a sandbox", policy.Config{Exposed: true}, map[string]string{
			"go test ./...": "admin", "python3 x.py": "admin", "make": "admin", "npm test": "admin", "node x.js": "admin", "cargo build": "admin", "pytest": "admin", "ls": "read", "touch x": "write",
			"yarn list": "admin", "npm ls": "read", "npm version patch": "admin", "git commit -m x": "admin", "git status": "read", "cargo metadata": "admin", "kill 4711": "admin", "kill $!": "write", "kill %1": "write", "x=/etc; cat $x/shadow": "admin", "cat \"$x\"": "admin", "cat *": "read",
		}},
		{"with hosts that scripts reach", policy.Config{Networked: true}, map[string]string{
			"go test ./...": "admin", "python3 x.py": "admin", "env python3 x.py": "admin", "make": "admin", "make check | tail": "admin", "npm test": "admin", "node x.js": "admin", "cargo build": "admin",
			"pytest": "admin", "perl x.pl": "admin", "curl https://example.org": "admin", "git push": "admin", "ls": "read", "touch x": "write", "npm ls": "read", "cargo tree": "admin",
			"git add x": "admin", "git commit -m x": "admin", "git switch x": "admin", "git stash": "admin", "git status": "read", "git log -p": "read",
			"kill 4711": "write", "x=/etc; cat $x/shadow": "read",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := mustNew(t, c.config)
			for script, want := range c.want {
				if got := p.Judge(script, sandboxed); got.Verdict.String() != want {
					t.Errorf("%q: %s, want %s (%s)", script, got.Verdict, want, got)
				}
			}
		})
	}
}

// requirements J03: a person and a model read why, and what to do instead.
func TestJudgementString(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{})
	for script, want := range map[string]string{
		"rm -rf /":                     "rm is always denied: use delete_file (in: rm -rf /)",
		"ls && r\\m x":                 `rm is always denied: use delete_file (in: r\m x)`,
		"x=rm; $x y":                   "the name of the command is only known at run time (in: $x y)",
		"ls; echo x > /etc/cron.d/x":   "the redirection writes /etc/cron.d/x, which lies outside the workspace (in: /etc/cron.d/x)",
		"touch a; frobnicate; touch b": "frobnicate is not a command that the policy knows (in: frobnicate)",
		"cat < /dev/tcp/192.0.2.1/80":  "bash makes a network connection of /dev/tcp/192.0.2.1/80 (in: /dev/tcp/192.0.2.1/80)",
		"ls":                           "nothing in it changes anything",
		"echo " + strings.Repeat("long ", 100) + "> x": "the redirection writes x (in: x)",
		"rm " + strings.Repeat("ä", 100):               "rm is always denied: use delete_file (in: rm " + strings.Repeat("ä", 58) + " [...])",
	} {
		if got := p.Judge(script, sandboxed).String(); got != want {
			t.Errorf("%q:\n got %s\nwant %s", script, got, want)
		}
	}
}

func TestJudgeText(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{})
	for script, want := range map[string]string{
		"ls   -la":                      "ls -la",
		"ls #comment\n# more\npwd":      "ls\n\npwd",
		"ls|wc":                         "ls | wc",
		"if true;then ls;fi":            "if true; then ls; fi",
		"echo `ls`":                     "echo $(ls)",
		"l\\\ns":                        "ls",
		"cat <<E >x\na\nE\n":            "cat <<E >x\na\nE",
		"a=1 ; b=2":                     "a=1\nb=2",
		"echo \"a  b\"   'c  d' $'\\n'": "echo \"a  b\" 'c  d' $'\\n'",
	} {
		if got := p.Judge(script, sandboxed); got.Text != want {
			t.Errorf("%q: %q, want %q (%s)", script, got.Text, want, got)
		}
	}
	for name, c := range map[string]struct{ script, want string }{
		"what is too long":                {"echo " + strings.Repeat("x", policy.MaxScript), "longer than"},
		"what becomes too long":           {strings.Repeat("{ ", 90) + strings.Repeat("ls;", 4000) + strings.Repeat("} ;", 90), "longer than"},
		"bytes that are no text":          {"ls \xff", "not UTF-8"},
		"nothing":                         {"", "no command"},
		"comments alone":                  {"# rm", "no command"},
		"what is not bash":                {"ls (", "not valid bash"},
		"blocks in each other":            {strings.Repeat("{ ", 150) + "ls" + strings.Repeat("; }", 150), "nested too deeply"},
		"open parentheses":                {"echo " + strings.Repeat("(", 300), "nested too deeply"},
		"what is nested deeply":           {strings.Repeat("$(", 500) + "ls" + strings.Repeat(")", 500), "nested too deeply"},
		"a comment at a word":             {"( ls \"a\"#; rm x\n)", "comment touches"},
		"a comment with a backslash":      {"ls #\\\nrm x", "backslash"},
		"a comment in backquotes":         {"echo `ls \\\n# a`", ""},
		"too many scripts in each other":  {nested(5), "too many scripts"},
		"too many commands in each other": {strings.Repeat("env ", 40) + "ls", "too many commands"},
	} {
		if got := p.Judge(c.script, sandboxed); c.want != "" && (got.Verdict != policy.Deny || !strings.Contains(got.Reason, c.want)) {
			t.Errorf("%s: %s, %s", name, got.Verdict, got)
		}
	}
	for _, r := range "\u00a0\u00ad\u034f\u061c\u115f\u17b4\u180e\u2000\u200b\u200d\u202e\u2028\u2029\u2060\u2066\u2800\u3000\u3164\ufe0f\ufeff\uffa0\ufff9\ue000\x00\x01\x1b\x7f\u0085\r\v\f" {
		if got := p.Judge("ls a"+string(r), sandboxed); got.Verdict != policy.Deny || !strings.Contains(got.Reason, fmt.Sprintf("U+%04X", r)) {
			t.Errorf("U+%04X: %s, %s", r, got.Verdict, got)
		}
	}
}

// nested returns a script with n scripts inside each other.
func nested(n int) string {
	script := "ls"
	for range n {
		script = "bash -c '" + strings.ReplaceAll(script, "'", `'\''`) + "'"
	}
	return script
}

func TestJudgePlace(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{})
	for _, c := range []struct {
		dir, script, want string
	}{
		{"/workspace/sub", "cat ../a", "read"},
		{"/workspace/sub", "cat ../../a", "admin"},
		{"/workspace/sub", "echo x > ../a", "write"},
		{"/workspace/sub", "echo x > /tmp/agent/a", "write"},
		{"/workspace/sub", "echo x > /tmp/agents", "admin"},
		{"/workspace/sub", "cd /workspace; cat ../a", "admin"},
		{"/workspace/sub", "find /workspace -name a -exec cat ../a \\;", "read"},
		{"/workspace/sub", "cd /workspace; echo x > ../a", "admin"},
		{"/etc", "cat passwd", "deny"},
		{"/etc", "echo x > motd", "admin"},
	} {
		if got := p.Judge(c.script, policy.Place{Dir: c.dir, Roots: sandboxed.Roots}); got.Verdict.String() != c.want {
			t.Errorf("in %s, %q: %s, want %s (%s)", c.dir, c.script, got.Verdict, c.want, got)
		}
	}
	for script, want := range map[string]policy.Verdict{"mktemp": policy.Write, "mktemp -d": policy.Write, "mktemp x.XXX": policy.Write} {
		if got := p.Judge(script, policy.Place{Roots: []string{"/workspace", "/tmp"}}); got.Verdict != want {
			t.Errorf("%q with /tmp: %s, want %s (%s)", script, got.Verdict, want, got)
		}
	}
	if got := p.Judge("cat a", policy.Place{}); got.Verdict != policy.Admin {
		t.Errorf("without a place: %s, want admin", got.Verdict)
	}
}

// I02: what the file tools never reach in a root, no script names.
func TestWhatHoldsKeysIsDenied(t *testing.T) {
	t.Parallel()
	p := mustNew(t, policy.Config{})
	paths := secrets.Paths()
	for _, name := range secrets.Names() {
		paths = append(paths, "/home/ann/"+name, "~/"+name+"/x", name)
	}
	for _, path := range paths {
		if got := p.Judge("cat "+path, sandboxed); got.Verdict != policy.Deny {
			t.Errorf("%s: %s", path, got)
		}
	}
}
