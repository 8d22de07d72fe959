//go:build linux && !faultpoints

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// abuse L9: the process was dumpable, so whatever ran as its user could read its
// memory and environment.
func TestARunningGatewayIsNoOpenBook(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("parley")
	if err != nil {
		t.Fatal(err)
	}
	// By a name that whoever it runs as can reach.
	dir, err := os.MkdirTemp("/tmp", "parley") // a test's own folder is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	reach := filepath.Join(dir, "parley")
	if err := exec.Command("cp", program, reach).Run(); err != nil { //nolint:noctx // a moment
		t.Fatal(err)
	}
	owner := os.Getuid()
	cmd := exec.Command(reach, "run", "--config", filepath.Join(dir, "parley.yaml")) //nolint:noctx // ended below
	if owner == 0 {                                                                  // who is root may read everything: another one runs it
		owner = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	config := fmt.Sprintf("state_dir: %s/state\nops: {listen: \"127.0.0.1:0\"}\nchannels: {telegram: {tg: {token: \"123456:%s\", access: {people: [\"1\"]}, api_url: \"http://127.0.0.1:1\"}}}\n"+
		"providers: {anthropic: {api_key: k}}\nagents: {main: {model: anthropic/claude-sonnet-4-5}}\n", dir, strings.Repeat("a", 35))
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "parley.yaml"), reach} {
		if err := os.Chown(path, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for s := bufio.NewScanner(said); ; {
		if !s.Scan() {
			t.Fatal("it ended without having started")
		}
		if strings.Contains(s.Text(), `"gateway started"`) {
			break
		}
		t.Log(s.Text())
	}
	proc := fmt.Sprintf("/proc/%d", cmd.Process.Pid)
	info, err := os.Stat(proc + "/environ")
	if err != nil {
		t.Fatal(err)
	}
	if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 || owner == 0 { // on Linux
		t.Errorf("its environment is open to user %d, who runs it", uid)
	}
	limits, err := os.ReadFile(proc + "/limits")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(limits)) {
		if strings.HasPrefix(line, "Max core file size") && strings.Join(strings.Fields(line)[4:6], " ") != "0 0" {
			t.Errorf("it may leave a core file: %s", line)
		}
	}
}
