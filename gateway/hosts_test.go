package gateway_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"parley/gateway"
	"parley/gateway/settings"
	"parley/tools"
	"parley/tools/commandline"
	"parley/tools/programs"
	"parley/tools/sandbox"
	"parley/tools/web/guard"
)

// A command line with a list of hosts reaches these, and its result names the others that it
// asked for. (docs/decisions/0112)
func TestACommandLineReachesItsHosts(t *testing.T) {
	t.Parallel()
	box, err := sandbox.Open(t.Context(), sandbox.Config{Getenv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	confines := box.Confines()
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello from the site") }))
	defer site.Close()
	bash, err := programs.FindProgram("bash", os.Getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	at := site.Listener.Addr().(*net.TCPAddr)
	spec := commandline.Spec{
		Name: "fetch", Description: "d", Category: tools.Read, Cmd: "bash", Program: bash,
		Args: []string{"-c", `for host in "$@"; do
			exec 3<>/dev/tcp/127.0.0.1/3128
			printf 'GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' "$host" >&3
			cat <&3; echo
		done`, "fetch", "{{host}}", "127.0.0.1:9"},
		Parameters:   []commandline.Parameter{{Name: "host", Type: "string"}},
		Network:      programs.Network{Hosts: []string{at.String()}},
		AllowPrivate: []guard.Network{{CIDR: "127.0.0.1/32", Ports: []int{at.Port}}},
	}
	cfg := settings.Config{Tools: settings.ToolsConfig{Commands: []commandline.Spec{spec}}}.Defaults()
	got, err := gateway.CallTool(t.Context(), cfg, gateway.ToolCall{Name: "fetch", Arguments: []string{"host=" + at.String()}, Getenv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	if !confines {
		if got.Err == nil || !strings.Contains(got.Err.Error(), sandbox.ErrNoOutlet.Error()) && !strings.Contains(got.Err.Error(), sandbox.ErrNoWalls.Error()) {
			t.Errorf("without namespaces it answers %q, %v", got.Result, got.Err)
		}
		return
	}
	for _, want := range []string{
		"HTTP/1.1 200 OK", "hello from the site", "HTTP/1.1 403 Forbidden",
		"stderr:\nparley: 127.0.0.1:9 is out of reach: this program may connect to " + at.String() + " only. Do without, or tell the person that parley's operator would have to add the host under network.\n",
	} {
		if !strings.Contains(got.Result, want) || got.Err != nil {
			t.Errorf("nothing of %q in %q, %v", want, got.Result, got.Err)
		}
	}
}
