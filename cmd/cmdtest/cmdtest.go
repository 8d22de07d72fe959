// Package cmdtest builds the programs of this module that tests run as processes.
//
// Each is built once, for all packages that run it: make test builds them before
// it runs the tests and says where they are (ProgramsVariable). Without that, as
// under go test ./gateway, the first test that needs a program builds it into the
// user's cache folder, where the next run finds it if nothing has changed.
//
// All are built as the released program is, so that packages are compiled once for
// both: static, and with trimmed paths.
package cmdtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// ProgramsVariable names the folder of the programs that are built already, by the
// names that Name gives. One that is missing there is built.
const ProgramsVariable = "PARLEY_PROGRAMS"

// The programs that more than one package runs.
const (
	Parley = "parley/cmd/parley"
	Node   = "parley/broker/brokertest/node" // a NATS server
	// SignalCLI is a simulated signal-cli, and the Keeper of one.
	SignalCLI = "parley/channels/signal/signaltest"
)

// FaultPoints is the tag with which a program can be told where to die.
const FaultPoints = "faultpoints"

// Name returns the file name of the program of package pkg, built with tags.
func Name(pkg string, tags ...string) string {
	return strings.Join(append([]string{path.Base(pkg)}, tags...), "-")
}

// Program returns the path of the program of package pkg, built with tags. It
// builds the program unless it is there and up to date. Processes that ask for the
// same program at once build it once.
func Program(pkg string, tags ...string) (string, error) {
	name := Name(pkg, tags...)
	if dir := os.Getenv(ProgramsVariable); dir != "" {
		ready := filepath.Join(dir, name)
		if _, err := os.Stat(ready); err == nil {
			return ready, nil
		}
	}
	dir, err := folder()
	if err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, name+".lock"), os.O_CREATE|os.O_RDWR, 0o600) // in the cache folder
	if err != nil {
		return "", fmt.Errorf("lock the program %s: %w", name, err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock the program %s: %w", name, err)
	}
	target := filepath.Join(dir, name)
	// packages of this module
	build := exec.CommandContext(context.Background(), "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags=-s -w", "-tags="+strings.Join(tags, ","), "-o", target, pkg)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program %s: %w\n%s", name, err, out)
	}
	return target, nil
}

// Instrumented reports whether tests start their own binary in the place of a program
// that holds the same code: in make test-long, so that the race detector watches it, and
// when statements are counted. Elsewhere it costs too much: a process with the race
// detector takes three to ten times the processor time to begin.
func Instrumented() bool { return os.Getenv("PARLEY_LONG") != "" || testing.CoverMode() != "" }

// folder makes the folder of the programs of this module, built with this
// environment's flags. A test that replaces a file (GOFLAGS=-overlay=…) thereby
// has programs of its own.
func folder() (string, error) {
	module, err := exec.CommandContext(context.Background(), "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil { // no home: of this machine's users only
		cache = filepath.Join(os.TempDir(), fmt.Sprintf("parley-cache-%d", os.Getuid()))
	}
	sum := sha256.Sum256([]byte(string(module) + os.Getenv("GOFLAGS")))
	dir := filepath.Join(cache, "parley-test", hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for the programs of the tests: %w", err)
	}
	return dir, nil
}
