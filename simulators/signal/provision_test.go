package signal_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	sim "parley/simulators/signal"
)

// firstday G4. Linking needs no account, and so waits for no lock of a daemon that runs.
func TestADeviceIsLinkedBesideADaemonThatRuns(t *testing.T) {
	t.Parallel()
	const other = "+4915550000002"
	w := start(t, func(o *sim.Options) { o.Accounts = append(o.Accounts, sim.Account{Number: other, Unlinked: true}) })
	dir := t.TempDir()
	w.daemon(func(o *sim.DaemonOptions) { o.Config = dir })
	getenv := func(k string) string {
		if k == sim.WorldVariable {
			return w.URL()
		}
		return ""
	}
	refused, err := sim.NewDaemon(sim.DaemonOptions{World: w.URL(), Account: other, HTTP: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := refused.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "no such account") {
		t.Errorf("a daemon of an account that is not linked: %v", err)
	}
	var out bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- sim.Main([]string{"--config", dir, "link", "-n", "parley"}, getenv, &out, &out)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := w.Await(ctx, func(sim.Book) bool { return len(w.Linking()) == 1 }); err != nil {
		t.Fatalf("nobody wants to be linked: %v", err)
	}
	uri := w.Linking()[0]
	if err := w.Scan(uri, other); err != nil {
		t.Fatal(err)
	}
	if s := <-status; s != 0 || !strings.HasPrefix(out.String(), uri+"\n") || !strings.HasSuffix(out.String(), "Associated with: "+other+"\n") || !strings.HasPrefix(uri, "sgnl://linkdevice?uuid=") {
		t.Errorf("link ended with %d and wrote %s", s, out.String())
	}
	if err := w.Scan(uri, other); err == nil {
		t.Error("an address is scanned twice")
	}
}

// firstday G4.
func TestADaemonOfSeveralAccountsLinksAnother(t *testing.T) {
	t.Parallel()
	const other = "+4915550000002"
	w := start(t, func(o *sim.Options) { o.Accounts = append(o.Accounts, sim.Account{Number: other, Unlinked: true}) })
	if r := w.daemon().call("startLink", nil); r.Error == nil || r.Error.Code != -32601 {
		t.Errorf("a daemon of one account: %+v", r)
	}
	d := w.daemon(func(o *sim.DaemonOptions) { o.Account = "" })
	var begun struct {
		URI string `json:"deviceLinkUri"`
	}
	if err := json.Unmarshal(d.call("startLink", nil).Result, &begun); err != nil {
		t.Fatal(err)
	}
	if err := w.Scan(begun.URI, other); err != nil {
		t.Fatal(err)
	}
	if r := d.call("finishLink", args{"deviceLinkUri": begun.URI, "deviceName": "parley"}); r.Error != nil || !strings.Contains(string(r.Result), other) {
		t.Errorf("finishLink: %+v %s", r.Error, r.Result)
	}
}
