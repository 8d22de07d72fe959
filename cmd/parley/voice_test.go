package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/cmd/cmdtest"
	"parley/gateway/admin"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// firstday A1: the process is killed between a note's reservation, its request and its
// settlement. The next one says the words once; the endpoint is paid once, or the second
// time is on the books as a doubt.
func TestAKillWhileAVoiceNoteIsHeard(t *testing.T) {
	t.Parallel()
	program, err := cmdtest.Program(cmdtest.Parley, cmdtest.FaultPoints)
	if err != nil {
		t.Fatal(err)
	}
	for point, want := range map[string]struct{ requests, rows, doubts int64 }{
		"agent.hear.reserved": {1, 2, 1}, // nobody knows that the request never left
		"agent.hear.answered": {2, 2, 1},
		"agent.hear.settled":  {1, 1, 0},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			tg, m := sims(t, func(_ context.Context, p *model.Prompt) model.Answer {
				asked.Add(1)
				return model.Reply(model.Say("heard " + fmt.Sprint(strings.Count(p.LastText(), "wie wird das Wetter?"))))
			})
			dir, err := os.MkdirTemp("", "voice") // a socket in the folder has a bounded path
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			text, err := os.ReadFile(written(t, tg.URL(), m.URL(), "127.0.0.1:0"))
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "parley.yaml")
			text = append(text, "transcription: {model: sim/whisper-1, price_per_minute: \"0.006\"}\n"...)
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
			if _, err := tg.Say(telegram.PrivateChat(ann), ann, "", telegram.SayOptions{
				Media: "voice", File: model.Voice("wie wird das Wetter?", 8470*time.Millisecond), Seconds: 8,
			}); err != nil {
				t.Fatal(err)
			}
			_ = dies.Wait()
			if s, ok := dies.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != syscall.SIGKILL || ctx.Err() != nil {
				t.Fatalf("it was not killed: %v", dies.ProcessState)
			}

			p := start(t, environment, "run", "-c", file)
			await(t, tg, "the answer", answer("heard 1"))
			usage := start(t, environment, "usage", "-c", file, "--by", "purpose", "--format", "json")
			var said strings.Builder
			for line := range usage.lines {
				said.WriteString(line)
			}
			var u admin.UsageReport
			if err := json.Unmarshal([]byte(said.String()), &u); err != nil {
				t.Fatalf("%v: %s %s", err, said.String(), usage.err.String())
			}
			for _, g := range u.Groups {
				if g.Group == "transcription" && (g.Calls != want.rows || g.Interrupted != want.doubts || fmt.Sprint(g.Cost) != "$0.0009") {
					t.Errorf("the ledger has %+v", g)
				}
			}
			if len(u.Groups) != 2 || asked.Load() != 1 {
				t.Errorf("the model was asked %d times: %+v", asked.Load(), u.Groups)
			}
			requests := int64(0)
			for _, r := range m.Requests() {
				if r.Protocol == model.OpenAITranscriptions {
					requests++
				}
			}
			if requests != want.requests {
				t.Errorf("the endpoint was asked %d times", requests)
			}
			if status := p.end(syscall.SIGTERM); status != exitOK {
				t.Errorf("it ended with %d: %s", status, p.err.String())
			}
		})
	}
}
