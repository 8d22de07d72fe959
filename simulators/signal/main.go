package signal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	ossignal "os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// WorldVariable names, in the environment of a simulated signal-cli, the URL of
// the [Server]. A program that calls [Main] when it is set can be signal-cli.
const WorldVariable = "SIGNAL_CLI_SIMULATED_WORLD"

// The exit statuses of signal-cli.
const (
	exitUser       = 1
	exitUnexpected = 2
	exitIO         = 3
)

// Main is signal-cli as a process: it runs with the command line args, without the
// program's name, and gives the exit status. SIGINT and SIGTERM end it in order;
// when the simulator kills it, the process ends by SIGKILL.
//
// It knows the commands daemon and link, and --version.
func Main(args []string, getenv func(string) string, out, errs io.Writer) int {
	complain := func(status int, err error) int {
		_, _ = fmt.Fprintln(errs, err)
		return status
	}
	c, err := parse(args, getenv)
	switch {
	case err != nil:
		return complain(exitUser, fmt.Errorf("signal-cli: %w", err))
	case c.help:
		_, _ = fmt.Fprintln(out, "usage: signal-cli [-h] [--version] [-v] [--config CONFIG] [-a ACCOUNT] [-o {plain-text,json}] [--trust-new-identities {on-first-use,always,never}] daemon [--socket [SOCKET]] [--tcp [TCP]] [--http [HTTP]] [--receive-mode {on-start,on-connection,manual}] [--no-receive-stdout]")
		return 0
	case c.version && getenv(WorldVariable) != "":
		v, err := newUplink(getenv(WorldVariable)).version(context.Background())
		if err != nil {
			return complain(exitUser, err)
		}
		_, _ = fmt.Fprintln(out, "signal-cli "+v)
		return 0
	case c.command != "daemon" && c.command != "link":
		return complain(exitUser, usage("the simulated signal-cli knows the commands daemon and link only, not %q", c.command))
	case getenv(WorldVariable) == "":
		return complain(exitUser, usage("%s is not set: it names the simulated service", WorldVariable))
	}
	if c.command == "link" {
		return link(newUplink(getenv(WorldVariable)), c.device, out, errs)
	}
	c.daemon.World, c.daemon.Stdout, c.daemon.Stderr = getenv(WorldVariable), out, errs
	c.daemon.Die = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }
	d, err := NewDaemon(c.daemon)
	if err != nil {
		return complain(exitUser, err)
	}
	ossignal.Ignore(syscall.SIGPIPE) // as Java does: whoever reads the log may be gone
	ctx, stop := ossignal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch err := d.Run(ctx); {
	case err == nil:
		return 0
	case errors.Is(err, errLink):
		return complain(exitUser, fmt.Errorf("user is not registered: %w", err))
	case errors.Is(err, errLost):
		return complain(exitIO, err)
	default:
		return complain(exitUnexpected, err)
	}
}

// link shows the address of a new device and waits until somebody has scanned it. It
// does not open the folder of an account, whose lock a daemon may have.
func link(u *uplink, device string, out, errs io.Writer) int {
	ctx, stop := ossignal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	defer u.close()
	var uri string
	var a Account
	err := u.get(ctx, "/link/provision?"+url.Values{"name": {device}}.Encode(), &uri)
	if err == nil {
		_, _ = fmt.Fprintf(out, "%s\n\n  ▄▄▄ (a QR code, since 0.14.0)\n\n", uri)
		err = u.get(ctx, "/link/provisioned?"+url.Values{"uri": {uri}}.Encode(), &a)
	}
	if err != nil {
		_, _ = fmt.Fprintln(errs, "Link request error: "+err.Error())
		return exitIO
	}
	_, _ = fmt.Fprintln(out, "Associated with: "+a.ID())
	return 0
}

// Install writes a program named signal-cli into dir, which runs program with its
// arguments in front of signal-cli's own and names the world to it. It keeps its
// process id, so that who kills it kills the daemon. It gives the program's path.
//
// The program calls [Main] when [WorldVariable] is set.
func Install(dir, world, program string, args ...string) (string, error) {
	path := filepath.Join(dir, "signal-cli")
	var b strings.Builder
	// A program with the race detector would sleep for a second before it exits.
	fmt.Fprintf(&b, "#!/bin/sh\nexport GORACE=atexit_sleep_ms=0 %s=%s\nexec %s", WorldVariable, quoteShell(world), quoteShell(program))
	for _, a := range args {
		b.WriteString(" " + quoteShell(a))
	}
	b.WriteString(" \"$@\"\n")
	// A process that is started meanwhile would hold the file open for writing, and
	// then it cannot be run.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(b.String()), 0o700); err != nil {
		return "", fmt.Errorf("install signal-cli: %w", err)
	}
	return path, nil
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
