package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/gateway/ops"
)

// checkHealth runs healthcheck with a configuration, in this process.
func checkHealth(t *testing.T, config string) (status int, out, said string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	// The variables of the gateway are not there.
	status = run([]string{"healthcheck", "-c", file}, program{out: &stdout, err: &stderr, getenv: func(string) (string, bool) { return "", false }})
	return status, stdout.String(), strings.ReplaceAll(stderr.String(), file, "parley.yaml")
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	s := &ops.Server{Metrics: ops.NewMetrics(ops.LabelSets{})}
	gateway := httptest.NewServer(s.Handler())
	t.Cleanup(gateway.Close)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	address := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	_, port, err := net.SplitHostPort(address(gateway))
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, config string, wantStatus int, wantOut, wantSaid string) {
		t.Helper()
		status, out, said := checkHealth(t, config)
		if status != wantStatus || out != wantOut || !strings.HasPrefix(said, wantSaid) || wantSaid == "" && said != "" {
			t.Errorf("%s: %d %q %q, want %d %q %q", name, status, out, said, wantStatus, wantOut, wantSaid)
		}
	}

	check("starting", fmt.Sprintf("ops: {listen: %q}", address(gateway)), exitFailed, "", "parley: not ready: gateway: starting or ending\n")
	s.SetReady(true)
	check("ready", fmt.Sprintf("ops: {listen: %q}", address(gateway)), exitOK, "ready\n", "")
	for _, host := range []string{"", "0.0.0.0"} {
		check("on every interface", fmt.Sprintf("ops: {listen: %q, public: true}", net.JoinHostPort(host, port)), exitOK, "ready\n", "")
	}
	check("beside what only the gateway knows", fmt.Sprintf("channels: {telegram: {main: {token: \"${TOKEN}\"}}}\nops: {listen: %q}", address(gateway)), exitOK, "ready\n", "")

	check("nobody", fmt.Sprintf("ops: {listen: %q}", address(gone)), exitNobody, "", "parley: no gateway answers at "+address(gone)+": dial tcp")
	check("somebody else", fmt.Sprintf("ops: {listen: %q}", address(other)), exitNobody, "", "parley: at "+address(other)+" something else than a gateway answers: status 404 to GET /readyz\n")
	check("off", "ops: {listen: off}", exitConfig, "", "parley: parley.yaml: ops.listen is off")
	check("any port", `ops: {listen: "127.0.0.1:0"}`, exitConfig, "", "parley: parley.yaml: ops.listen has port 0")
	check("public", `ops: {listen: "0.0.0.0:9464"}`, exitConfig, "", "parley.yaml:1:7: ops.listen: /metrics and /readyz have no password")
	check("an unset variable", `ops: {listen: "${WHERE}"}`, exitConfig, "", "parley.yaml:1:15: ops.listen: variable WHERE is not set")
}

func TestDialable(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:9464": "127.0.0.1:9464", ":9464": "127.0.0.1:9464", "0.0.0.0:9464": "127.0.0.1:9464",
		"[::]:9464": "[::1]:9464", "[::1]:9464": "[::1]:9464", "ops.internal:9464": "ops.internal:9464",
	} {
		if got, err := dialable(listen); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", listen, got, err, want)
		}
	}
}
