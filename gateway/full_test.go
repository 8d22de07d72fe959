package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/disks/diskstest"
	"parley/gateway/gatewaytest"
	"parley/simulators/model"
	"parley/simulators/telegram"
)

// A full disk, of each thing that is stored and of all: the gateway is not ready
// within 5 seconds, acknowledges nothing, loses nothing, and goes on by itself
// once there is room. (F9)
func TestAFullDiskClosesTheDoorAndNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		on      []string // what lies on the small disk
		webhook bool
	}{
		{"everything", []string{database, "log", "workspaces"}, false},
		{"everything by webhook", []string{database, "log", "workspaces"}, true},
		{"the database", []string{database}, false},
		{"the log", []string{"log"}, true},
		{"the workspaces", []string{"workspaces"}, false},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			diskstest.Run(t, func(t *testing.T, mount func(int) *diskstest.Disk) {
				d := mount(48 << 20)
				h := gatewaytest.Open(t, gatewaytest.Options{Webhook: c.webhook, Brain: echoSlowly})
				layOut(t, filepath.Join(h.Dir, "state"), d.Dir, c.on)
				fullDisk(t, h, d)
			})
		})
	}
}

const database = "database"

// layOut makes a state folder of which some lies on the small disk and the rest
// does not.
func layOut(t *testing.T, state, small string, on []string) {
	t.Helper()
	link := func(to, from string) {
		noError(t, os.Symlink(to, from))
	}
	place := func(name string) string {
		if slices.Contains(on, name) {
			dir := filepath.Join(small, name)
			noError(t, os.Mkdir(dir, 0o700))
			return dir
		}
		return t.TempDir()
	}
	link(place(database), state)
	for _, name := range []string{"log", "workspaces"} {
		link(place(name), filepath.Join(state, name))
	}
}

// slowly is a question that is answered once the disk is full.
const slowly = "slowly"

func echoSlowly(_ context.Context, p *model.Prompt) model.Answer {
	a := model.Reply(model.Say("re: " + p.LastText()))
	if p.LastText() == slowly {
		a.Latency = 3 * time.Second
	}
	return a
}

func fullDisk(t *testing.T, h *gatewaytest.Env, d *diskstest.Disk) {
	t.Helper()
	gw := h.Start()
	if got := gw.Ask(gatewaytest.Ann, "before"); got != "re: before" {
		t.Fatalf("before: %q", got)
	}
	ben := telegram.PrivateChat(gatewaytest.Ben)
	h.Say(ben, gatewaytest.Ben, slowly) // runs while the disk fills up
	h.Await("the slow question to be taken", func(b telegram.Book) bool { return b.Pending[gatewaytest.Username] == 0 })
	confirmed := h.Telegram.Totals().Confirmed
	d.Fill()
	full := time.Now()
	gw.AwaitStatus("/readyz", http.StatusServiceUnavailable)
	t.Logf("not ready after %s", time.Since(full))
	ann := telegram.PrivateChat(gatewaytest.Ann)
	want := []string{"re: before", "re: " + slowly}
	for i := range 5 {
		text := fmt.Sprint("meanwhile ", i)
		h.Say(ann, gatewaytest.Ann, text)
		want = append(want, "re: "+text)
	}
	h.Await("telegram to offer what was said", func(b telegram.Book) bool {
		return slices.ContainsFunc(b.Updates, func(u telegram.UpdateEntry) bool { return u.Text == "meanwhile 0" && u.Handed > 0 })
	})
	if now := h.Telegram.Totals().Confirmed; now > confirmed {
		t.Errorf("%d updates were acknowledged while nothing could be stored", now-confirmed)
	}
	d.Free()
	free := time.Now()
	h.Await("all answers", func(b telegram.Book) bool {
		for _, text := range want {
			if !slices.ContainsFunc(b.Messages, func(m telegram.MessageEntry) bool { return m.Text() == text }) {
				return false
			}
		}
		return true
	})
	gw.AwaitStatus("/readyz", http.StatusOK)
	t.Logf("back %s after there was room", time.Since(free).Round(time.Millisecond))
	var got []string
	for _, m := range h.Telegram.Books().Messages {
		got = append(got, m.Text())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("sent %q", got)
	}
}
