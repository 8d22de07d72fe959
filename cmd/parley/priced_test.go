package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"parley/cmd/cmdtest"
	"parley/gateway/admin"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// requirements M07: the process is killed between the reservation of a search that costs money,
// the search and its booking. The next one answers, and each search that may have been charged
// has a row: with its price where there is a result, else as a doubt. (docs/decisions/0096)
func TestAKillWhileASearchIsPaid(t *testing.T) {
	t.Parallel()
	program, err := cmdtest.Program(cmdtest.Parley, cmdtest.FaultPoints)
	if err != nil {
		t.Fatal(err)
	}
	for point, want := range map[string]struct{ searches, rows, doubts int64 }{
		"agent.tool.reserved": {1, 2, 1}, // nobody knows that the search never began
		"agent.tool.effect":   {2, 2, 1},
		"agent.tool.settled":  {1, 1, 0},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			var searches atomic.Int64
			engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				searches.Add(1)
				_, _ = fmt.Fprint(w, `{"results":[{"title":"The menu","url":"http://menu.example/","content":"cod"}]}`)
			}))
			t.Cleanup(engine.Close)
			tg, m := sims(t, func(_ context.Context, p *model.Prompt) model.Answer {
				if rs := p.Answering(); len(rs) > 0 {
					return model.Reply(model.Say("found " + fmt.Sprint(strings.Count(rs[0].Text, "menu.example"))))
				}
				return model.Reply(model.Use("web_search", map[string]string{"query": "the menu"}))
			})
			dir, err := os.MkdirTemp("", "priced") // a socket in the folder has a bounded path
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			text, err := os.ReadFile(written(t, tg.URL(), m.URL(), "127.0.0.1:0"))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "parley.yaml")
			text = append(text, fmt.Sprintf("web: {search: {kind: searxng, url: %q, price: 0.005}}\n", engine.URL)...)
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			dies := exec.CommandContext(ctx, program, "run", "-c", file)
			dies.Env = append([]string{"HOME=" + dir, "PARLEY_FAULTS=" + point + "=kill@1"}, environment...)
			if err := dies.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := tg.Say(telegram.PrivateChat(ann), ann, "what is there to eat?", telegram.SayOptions{}); err != nil {
				t.Fatal(err)
			}
			_ = dies.Wait()
			if s, ok := dies.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL || ctx.Err() != nil {
				t.Fatalf("it was not killed: %v", dies.ProcessState)
			}

			p := start(t, environment, "run", "-c", file)
			await(t, tg, "the answer", answer("found 1"))
			usage := start(t, environment, "usage", "-c", file, "--by", "model", "--format", "json")
			var said strings.Builder
			for line := range usage.lines {
				said.WriteString(line)
			}
			var u admin.UsageReport
			if err := json.Unmarshal([]byte(said.String()), &u); err != nil {
				t.Fatalf("%v: %s %s", err, said.String(), usage.err.String())
			}
			found := false
			for _, g := range u.Groups {
				if g.Group != "tools/web_search" {
					continue
				}
				found = true
				if g.Calls != want.rows || g.Interrupted != want.doubts || g.Cost.String() != "$0.0050" || g.Unpriced != 0 {
					t.Errorf("the ledger has %+v", g)
				}
			}
			if !found || searches.Load() != want.searches {
				t.Errorf("the engine was asked %d times: %+v", searches.Load(), u.Groups)
			}
			if status := p.end(syscall.SIGTERM); status != exitOK {
				t.Errorf("it ended with %d: %s", status, p.err.String())
			}
		})
	}
}
