package main

import (
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/gateway/settings"
)

// hangingGateway answers nothing to its end. It returns its state folder, and what tells that it
// was asked.
func hangingGateway(t *testing.T) (state string, asked <-chan struct{}) {
	t.Helper()
	state = t.TempDir()
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", settings.AdminConfig{}.Defaults(state).Socket)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan struct{}, 1)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // of this test
		_, _ = w.Write([]byte("PK"))
		_ = http.NewResponseController(w).Flush()
		heard <- struct{}{}
		<-r.Context().Done()
	})}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return state, heard
}

// Whoever waits for the status of a command would go on as if it had been done.
func TestAnInterruptedCommandHasFailed(t *testing.T) {
	t.Parallel()
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // who is run by nohup ignores it, and so would what it starts
	t.Cleanup(func() { signal.Stop(hangups) })
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		for _, command := range [][]string{{"status"}, {"backup"}, {"sessions", "export", "01A"}} {
			t.Run(command[0]+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				state, asked := hangingGateway(t)
				dir := t.TempDir()
				args := append(command[:len(command):len(command)], "--state", state)
				switch command[0] {
				case "backup":
					args = append(args, dir)
				case "sessions":
					args = append(args, "--out", filepath.Join(dir, "x.jsonl"))
				}
				p := start(t, nil, args...)
				<-asked
				if status := p.end(sig); status != exitFailed || !strings.HasPrefix(p.err.String(), "parley: ") {
					t.Errorf("it ended with %d: %q", status, p.err.String())
				}
				if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
					t.Errorf("it left %v, %v", left, err)
				}
			})
		}
	}
}
