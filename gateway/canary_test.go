package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/gateway/admin"
	"parley/gateway/gatewaytest"
	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/model"
	"parley/simulators/telegram"
	"parley/tools/commandline"
	"parley/tools/programs"
)

// H03, I11; security S7.1: each secret of a configuration is unlike all others, everything that
// can tell one does, in every spelling, and none is found anywhere: neither in what people,
// operators, models and listeners get, nor on disk, nor in the processes of tools. There is no
// exception here; [TestWhatSomebodySaysIsKept] has them.
func TestNoSecretOfAConfigurationIsFoundAnywhere(t *testing.T) {
	const environment = "PARLEY_TEST_CANARY"
	secrets := newCanaries()
	t.Setenv(environment, secrets.environ)
	root := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(root, "leak.txt"), []byte(everySpelling(secrets.all())), 0o600))
	offered := make(chan []string, 100)
	n := openNest(t, using(offered), func(c *settings.Config) {
		c.Files.ExtraRoots = []string{root}
		c.Tools.Commands = []commandline.Spec{
			program(t, "tell", `echo "$TOOL_TOKEN"; printf %s "$TOOL_TOKEN" | base64; printf %s "$TOOL_TOKEN" | od -An -v -tx1 | tr -d ' '; declare -p TOOL_TOKEN; env; exit 3`,
				programs.Variable{Name: "TOOL_TOKEN", Value: secrets.tool, Secrets: []string{secrets.tool}}),
			program(t, "look", `env > seen; for p in /proc/[0-9]*/environ /proc/[0-9]*/cmdline; do cat $p >> seen 2> /dev/null; done; echo looked`),
			program(t, "stay", `touch here; while [ ! -e go ]; do sleep 0.02; done; echo went`),
		}
	})
	st, err := admin.NewClient(n.gw.AdminSocket()).Status(t.Context())
	noError(t, err)
	asks := []string{
		`read_file {"path":"` + filepath.Join(root, "leak.txt") + `"}`,
		`grep {"pattern":"^[0-9]+[.] ","path":"` + root + `"}`,
		`web_search {"query":"anything"}`,
		`web_search {"query":"nothing"}`,
		`read_file {"path":"none, refuse it"}`, `read_file {"path":"none, fail at it"}`, `read_file {"path":"none, deny it"}`, `read_file {"path":"none, hang up"}`,
	}
	if st.Sandbox.Usable {
		asks = append(asks, `tell {}`, `look {}`, `bash {"command":"env"}`, `bash {"command":"cat seen"}`)
	}
	var answers []string
	for i, ask := range asks {
		person := gatewaytest.Ann
		if strings.Contains(ask, "none, ") { // what was refused is refused again with all that follows it
			person = telegram.Person{ID: int64(2000 + i), FirstName: "Person " + strconv.Itoa(i)}
		}
		answers = append(answers, n.gw.Ask(person, ask))
	}
	// The test is worth nothing if nothing was to be taken out.
	for i, want := range map[int]string{0: "[redacted]", 1: "[redacted]", 2: "you sent [redacted]"} {
		if !strings.Contains(answers[i], want) {
			t.Errorf("%s is answered with\n%s\nwant %q", asks[i], answers[i], want)
		}
	}
	// A file that a tool has filled leaves the machine as it is, so it does not leave.
	file := filepath.Join(n.gw.Folder(gatewaytest.Ann), "out.txt")
	noError(t, os.WriteFile(file, []byte("the key: "+base64.StdEncoding.EncodeToString([]byte(n.secrets.search))+"\n"), 0o600))
	if got := n.gw.Ask(gatewaytest.Ann, `send_file {"path":"out.txt"}`); !strings.Contains(got, "the file holds a password or key of the gateway itself") {
		t.Errorf("a file with a secret in it: %s", got)
	}
	noError(t, os.Remove(file))
	if st.Sandbox.Usable {
		if got := answers[8]; strings.Count(got, "[redacted]") < 5 || !strings.Contains(got, "exit code: 3") {
			t.Errorf("the tool tells\n%s", got)
		}
		seen, err := os.ReadFile(filepath.Join(n.gw.Folder(gatewaytest.Ann), "seen"))
		if err != nil || !bytes.Contains(seen, []byte("PATH=")) || !bytes.Contains(seen, []byte("look")) {
			t.Errorf("a program sees %q, %v", seen, err)
		}
		n.checkProcesses("here", "go")
	}
	n.check(n.said())
	for _, r := range n.env.Model.Requests() {
		n.check(map[string][]byte{"what the model gets": r.Body})
	}
	if len(n.env.Model.Requests()) < 8 {
		t.Errorf("the model was asked only %d times", len(n.env.Model.Requests()))
	}
	n.gw.Stop()
	n.stop()
	n.check(n.files())
	n.check(map[string][]byte{"the log": n.log.bytes(), "events": n.events.bytes()})
	if log := n.log.bytes(); bytes.Count(log, []byte("[redacted]")) < 3 || len(n.events.bytes()) == 0 {
		t.Errorf("the log has nothing to hide, or there were no events:\n%s", log)
	}
}

// What is kept although it is a secret, and where: all that a person or a model said is theirs,
// and is needed as it is. A turn goes on with it after a restart, a signed answer goes back to
// its provider to the byte, and a message that was not read may be queued again. Nowhere else
// is any of it, and nobody but the model gets it back.
//
//   - the message log (state/log): the person's message
//   - the store (state/parley.db): the person's message, the model's answer and the arguments
//     of its calls; what an approver was asked to permit; the answer, before it is delivered
//   - requests to the model: the conversation
//   - the network: what the person wrote there
func TestWhatSomebodySaysIsKept(t *testing.T) {
	t.Parallel()
	secrets := newCanaries()
	n := openNest(t, func(_ context.Context, p *model.Prompt) model.Answer {
		if text := p.LastText(); !strings.HasPrefix(text, "write ") {
			return model.Reply(model.Think("it is "+text), model.Say("You said "+text+", in base64 "+base64.StdEncoding.EncodeToString([]byte(text))))
		}
		return model.Reply(model.Use("write_file", map[string]string{"path": ".env", "content": p.LastText()}))
	}, func(c *settings.Config) { c.Limits = policy.Limits{PersonPerMinute: -1, PersonBurst: -1, Queue: -1} })
	if got := n.gw.Ask(gatewaytest.Ann, secrets.provider); strings.Count(got, "[redacted]") != 2 {
		t.Errorf("the answer is %q", got)
	}
	if got := n.gw.Ask(gatewaytest.Ann, "write "+secrets.search); !strings.Contains(got, "🔐") || !strings.Contains(got, "[redacted]") {
		t.Errorf("the question is %q", got)
	}
	said := n.said()
	said["telegram"] = bytes.ReplaceAll(bytes.ReplaceAll(said["telegram"], []byte(secrets.provider), nil), []byte(secrets.search), nil)
	n.check(said)
	n.gw.Stop()
	n.stop()
	n.check(map[string][]byte{"the log": n.log.bytes(), "events": n.events.bytes()})
	kept := map[string]bool{}
	for path, data := range n.files() {
		rel, err := filepath.Rel(n.env.Config().StateDir, path)
		noError(t, err)
		if len(findCanaries(data)) > 0 {
			kept[strings.Split(rel, string(filepath.Separator))[0]] = true
		}
	}
	if got := slices.Sorted(maps.Keys(kept)); !slices.Equal(got, []string{"log", "parley.db"}) {
		t.Errorf("it is kept in %q", got)
	}
}
