package gateway_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/broker/brokertest"
	"parley/gateway/gatewaytest"
	"parley/sessions/redis/redistest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// Who runs turns and who sends are two processes, each with a folder of its own.
// Either is killed wherever a file is on its way, and goes on. The file comes before
// the answer, and a second copy of it is marked.
func TestAFileArrivesWhereverAProcessIsKilled(t *testing.T) {
	t.Parallel()
	program, err := mortal()
	if err != nil {
		t.Fatal(err)
	}
	nodes, shared := brokertest.Cluster(t, 1), redistest.Start(t, redistest.Options{})
	report := strings.Repeat("0123456789abcdef", 100)
	env := gatewaytest.Open(t, gatewaytest.Options{
		Brain: func(_ context.Context, p *model.Prompt) model.Answer {
			calls, sent := 0, 0
			for _, m := range p.Messages {
				for _, r := range m.Results {
					calls, sent = calls+1, sent+strings.Count(r.Text, "is on its way")
				}
			}
			switch calls { // the answer has nothing of the name, by which the points know the file
			case 0:
				return model.Reply(model.Use("write_file", map[string]string{"path": "report.txt", "content": report}))
			case 1:
				return model.Reply(model.Use("send_file", map[string]string{"path": "report.txt"}))
			}
			return model.Reply(model.Say(fmt.Sprintf("%d sent END", sent)))
		},
	})
	config := func(role string) string {
		path := filepath.Join(env.Dir, role+".yaml")
		text := fmt.Sprintf(`
state_dir: %s
name: %s
roles: [%s]
broker: {url: "%s", lease: 2s}
store: {redis: {url: "%s"}}
channels: {telegram: {tg: {token: "%s", api_url: %s, pace: 200, access: {everyone: true}}}}
providers: {sim: {kind: anthropic, base_url: %s, prices: demo}}
agents: {main: {model: sim/demo, window: 200000}}
worker: {lease: 2s}
ops: {listen: "127.0.0.1:0"}
log: {format: json}
`, filepath.Join(env.Dir, role), role, role, nodes.URL(), shared.URL, gatewaytest.Token, env.Telegram.URL(), env.Model.URL())
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	alive := map[string]*process{}
	for _, role := range []string{"gateway", "worker"} {
		alive[role] = startAs(t, program, config(role))
	}
	file := sumOf("report.txt", report)
	for i, c := range []struct {
		role, point string
		copies      int
		marked      bool // the last of them
		long        bool // only in make test-long: another moment of a role that the others cover
	}{
		{"worker", "worker.file.kept", 1, false, true},
		{"worker", "worker.file.posted", 1, false, false},
		{"worker", "agent.tool.effect[send_file]", 1, false, true},
		{"gateway", "delivery.marked[report.txt]", 1, true, true},
		{"gateway", "delivery.accepted[report.txt]", 2, true, false},
		{"gateway", "delivery.receipt.after[report.txt]", 1, false, true},
	} {
		if c.long && os.Getenv("PARLEY_LONG") == "" {
			continue
		}
		alive[c.role].kill()
		doomed := startAs(t, program, config(c.role), "PARLEY_FAULTS="+c.point+"=kill")
		ann := telegram.Person{ID: int64(9000 + i), FirstName: "Ann"}
		chat := telegram.PrivateChat(ann)
		env.Say(chat, ann, "the report, please")
		doomed.died()
		alive[c.role] = startAs(t, program, config(c.role))
		var got []string
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("killed at %s: the chat has %q", c.point, got)
			}
		})
		env.Await("the answer after "+c.point, func(b telegram.Book) bool {
			got = shownIn(b, chat)
			return len(got) > 0 && strings.HasSuffix(got[len(got)-1], "END")
		})
		files := got[:len(got)-1]
		if len(files) != c.copies || slices.ContainsFunc(files, func(s string) bool { return !strings.HasPrefix(s, file) }) {
			t.Errorf("killed at %s: the chat has %q", c.point, got)
			continue
		}
		for n, s := range files {
			if marked := s != file; marked != (c.marked && n == len(files)-1) {
				t.Errorf("killed at %s: copy %d is %q", c.point, n+1, s)
			}
		}
		if said := got[len(got)-1]; said != "1 sent END" {
			t.Errorf("killed at %s: the answer is %q", c.point, said)
		}
	}
}
