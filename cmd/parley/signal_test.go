package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rsc.io/qr"

	"parley/gateway/admin"
	"parley/runtest"
	"parley/simulators/model"
	"parley/simulators/signal"
)

// firstday G4.
func TestASignalAccountIsOperatedThroughTheGateway(t *testing.T) {
	t.Parallel()
	const number, aci = "+4915550000001", "b0700000-0000-4000-8000-000000000001"
	world, err := signal.New(signal.Options{NoReceipts: true, Accounts: []signal.Account{{Number: number, ACI: aci, Unlinked: true}}})
	if err != nil {
		t.Fatal(err)
	}
	runtest.Serve(t, world)
	_, m := sims(t, model.Echo)
	config := inSignalOnly(t, world.URL(), m.URL(), number)
	start(t, environment, "run", "--config", config).err.awaitLines(t, 1, "gateway started")
	inWorld := func(what string, done func(signal.Book) bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := world.Await(ctx, done); err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
	}

	type result struct {
		status    int
		out, said string
	}
	linked := make(chan result, 1)
	go func() {
		status, out, said := asked(t, "signal", "link", "-c", config)
		linked <- result{status, out, said}
	}()
	inWorld("a device to be linked", func(signal.Book) bool { return len(world.Linking()) == 1 })
	uri := world.Linking()[0]
	if err := world.Scan(uri, number); err != nil {
		t.Fatal(err)
	}
	code, err := drawQR(uri, false)
	if err != nil {
		t.Fatal(err)
	}
	if l := <-linked; l.status != exitOK || !strings.HasPrefix(l.out, code) || !strings.Contains(l.out, "  "+uri+"\n") ||
		!strings.HasSuffix(l.out, "Linked to "+number+". parley starts signal-cli for it within a minute; parley status shows the channel as up.\n") {
		t.Errorf("link ended with %d: %s\n%s", l.status, l.said, l.out)
	}
	inWorld("the account to receive", func(b signal.Book) bool { return b.Receiving[number] })
	if status, _, said := asked(t, "signal", "link", "-c", config); status != exitFailed || !strings.Contains(said, "already") {
		t.Errorf("a second time link ended with %d: %s", status, said)
	}

	person := signal.Person{ACI: signal.MadeUpACI(1), Name: "Ann"}
	listed, other := signal.Chat{Group: signal.MadeUpGroup(1), Name: "Team"}, signal.Chat{Group: signal.MadeUpGroup(2), Name: "Ot\x1bher"}
	for _, g := range []signal.Chat{listed, other} {
		if _, err := world.Invite(g, person, aci); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := world.Say(signal.Chat{}, person, "hello", signal.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	inWorld("the answer", func(b signal.Book) bool { return len(b.Messages) == 1 })
	var groups admin.Groups
	// Each look is a process, so there is no need to pause between them.
	for deadline := time.Now().Add(patience); len(groups.Groups) != 2 || !groups.Groups[0].Member; {
		if time.Now().After(deadline) {
			t.Fatalf("the invitation is not accepted: %+v", groups)
		}
		groups = admin.Groups{}
		if err := json.Unmarshal([]byte(saidOf(t, "signal", "groups", "--json", "-c", config)), &groups); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "groups", saidOf(t, "signal", "groups", "-c", config), `
ID                                            NAME   MEMBERS  THE ACCOUNT  ACCESS.GROUPS
Z3JvdXAgMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDE=  Team         2  member       yes
Z3JvdXAgMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDI=  Other        1  invited      no
`)

	if err := world.Reinstall(person); err != nil {
		t.Fatal(err)
	}
	var keys admin.PeerKeys
	if err := json.Unmarshal([]byte(saidOf(t, "signal", "trust", "--json", "-c", config)), &keys); err != nil {
		t.Fatal(err)
	}
	if len(keys.Keys) != 1 || keys.Keys[0].Trust != "UNTRUSTED" {
		t.Fatalf("%+v", keys)
	}
	if out := saidOf(t, "signal", "trust", "-c", config); !strings.Contains(out, person.ACI+"          UNTRUSTED  "+keys.Keys[0].SafetyNumber) {
		t.Errorf("the keys are listed as\n%s", out)
	}
	if status, _, said := asked(t, "signal", "trust", "-c", config, person.ACI, "12345"); status != exitFailed || !strings.Contains(said, "60 digits") {
		t.Errorf("a short safety number: %d, %s", status, said)
	}
	if status, _, said := asked(t, "signal", "trust", "-c", config, person.ACI); status != exitUsage || !strings.Contains(said, "safety number") {
		t.Errorf("no safety number: %d, %s", status, said)
	}
	spaced := []string{"signal", "trust", "-c", config, person.ACI, keys.Keys[0].SafetyNumber[:20], keys.Keys[0].SafetyNumber[20:]}
	golden(t, "trust", saidOf(t, spaced...), "phone trusts the key that "+person.ACI+" has now. What was kept back of them comes.\n")
	if status, _, said := asked(t, "signal", "groups", "-c", config, "--channel", "other"); status != exitFailed || !strings.Contains(said, "there are: phone") {
		t.Errorf("another channel: %d, %s", status, said)
	}
}

// inSignalOnly writes the configuration of a gateway with one Signal account.
func inSignalOnly(t *testing.T, world, base, number string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "op") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "parley.yaml")
	text := fmt.Sprintf(`state_dir: state
channels:
  signal:
    phone: {account: %q, command: [parley, sim, signal-cli, --world, %q], access: {people: [%q], groups: [%q]}}
providers: {sim: {kind: openai, base_url: "%s/v1", api_key: "${KEY}", prices: demo}}
agents: {main: {model: sim/demo, window: 200000}}
ops: {listen: "127.0.0.1:0"}
`, number, world, signal.MadeUpACI(1), signal.MadeUpGroup(1), base)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What is drawn has the modules of the code, and light around it.
func TestDrawQR(t *testing.T) {
	t.Parallel()
	const text = "sgnl://linkdevice?uuid=1&pub_key=2"
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		t.Fatal(err)
	}
	drawn, err := drawQR(text, false)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(drawn, "\n"), "\n")
	if want := (code.Size + 2*quiet + 1) / 2; len(lines) != want {
		t.Fatalf("%d lines, not %d", len(lines), want)
	}
	for i, line := range lines {
		runes := []rune(line)
		if len(runes) != code.Size+2*quiet {
			t.Fatalf("line %d has %d characters", i, len(runes))
		}
		for x, r := range runes {
			upper, lower := code.Black(x-quiet, 2*i-quiet), code.Black(x-quiet, 2*i-quiet+1)
			if want := map[[2]bool]rune{{false, false}: '█', {false, true}: '▀', {true, false}: '▄', {true, true}: ' '}[[2]bool{upper, lower}]; r != want {
				t.Fatalf("at %d,%d stands %c, not %c", x, i, r, want)
			}
		}
	}
	coloured, err := drawQR(text, true)
	if err != nil || strings.Count(coloured, "\x1b[97;40m") != len(lines) || strings.Count(coloured, "\x1b[0m\n") != len(lines) {
		t.Errorf("in colours it is %q, %v", coloured, err)
	}
}
