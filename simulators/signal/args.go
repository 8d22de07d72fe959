package signal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Addresses that signal-cli takes when a channel is asked for without one.
const (
	defaultHTTP = "localhost:8080"
	defaultTCP  = "localhost:7583"
)

// commandLine is what signal-cli was called with.
type commandLine struct {
	daemon  DaemonOptions
	device  string // of link
	command string
	version bool
	help    bool
}

var errUsage = errors.New("usage")

func usage(format string, a ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errUsage}, a...)...)
}

// flagKind describes what a flag takes.
type flagKind int

const (
	takesNothing flagKind = iota
	takesOne
	takesMaybe // a value, or its default
)

// parse reads signal-cli's arguments: global ones, the command, the command's. As in
// signal-cli, those before the command are global ones and those behind it are not:
// daemon --config is a mistake.
func parse(args []string, getenv func(string) string) (commandLine, error) {
	var c commandLine
	o := &c.daemon
	type flag struct {
		kind flagKind
		set  func(string) error
	}
	var output string
	global, ofDaemon, ofLink := map[string]flag{}, map[string]flag{}, map[string]flag{}
	on := func(where map[string]flag, kind flagKind, set func(string) error, names ...string) {
		for _, n := range names {
			where[n] = flag{kind, set}
		}
	}
	text := func(to *string) func(string) error { return func(v string) error { *to = v; return nil } }
	yes := func(to *bool) func(string) error { return func(string) error { *to = true; return nil } }
	on(global, takesNothing, yes(&c.help), "-h", "--help")
	on(global, takesNothing, yes(&c.version), "--version")
	on(global, takesNothing, yes(&o.Verbose), "-v", "--verbose")
	on(global, takesOne, text(&o.Config), "--config")
	on(global, takesOne, text(&o.Account), "-a", "--account", "-u", "--username")
	on(global, takesOne, choice(&o.Trust, "on-first-use", "always", "never"), "--trust-new-identities")
	on(global, takesOne, choice(&output, "plain-text", "json"), "-o", "--output")
	on(ofDaemon, takesNothing, yes(&c.help), "-h", "--help")
	on(ofDaemon, takesMaybe, text(&o.Socket), "--socket")
	on(ofDaemon, takesMaybe, text(&o.TCP), "--tcp")
	on(ofDaemon, takesMaybe, text(&o.HTTP), "--http")
	on(ofDaemon, takesOne, choice(&o.ReceiveMode, OnStart, OnConnection, Manual), "--receive-mode")
	on(ofDaemon, takesNothing, yes(&o.NoReceiveStdout), "--no-receive-stdout")

	on(ofLink, takesOne, text(&c.device), "-n", "--name")

	known := global
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "-") {
			if c.command != "" {
				return c, usage("unrecognized arguments: '%s'", args[i])
			}
			if c.command, known = args[i], ofDaemon; c.command == "link" {
				known = ofLink
			}
			continue
		}
		if !given && !strings.HasPrefix(name, "--") && len(name) > 2 {
			// -a+123 and -ojson
			if f, ok := known[name[:2]]; ok && f.kind == takesOne {
				name, value, given = name[:2], name[2:], true
			}
		}
		f, ok := known[name]
		switch {
		case !ok:
			return c, usage("unrecognized arguments: '%s'", args[i])
		case f.kind == takesNothing && given:
			return c, usage("argument %s: ignored explicit argument '%s'", name, value)
		case f.kind == takesOne && !given:
			if i++; i >= len(args) {
				return c, usage("argument %s: expected one argument", name)
			}
			value = args[i]
		case f.kind == takesMaybe && !given:
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				value = args[i]
			} else {
				value = implicit(name, getenv)
			}
		}
		if err := f.set(value); err != nil {
			return c, usage("argument %s: %w", name, err)
		}
	}
	o.JSON = output == "json"
	if o.Config == "" {
		o.Config = filepath.Join(dataHome(getenv), "signal-cli")
	}
	return c, nil
}

var errChoice = errors.New("invalid choice")

func choice(to *string, of ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(of, v) {
			return fmt.Errorf("%w: '%s' (choose from {%s})", errChoice, v, strings.Join(of, ","))
		}
		*to = v
		return nil
	}
}

func implicit(name string, getenv func(string) string) string {
	switch name {
	case "--http":
		return defaultHTTP
	case "--tcp":
		return defaultTCP
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "signal-cli", "socket")
}

func dataHome(getenv func(string) string) string {
	if d := getenv("XDG_DATA_HOME"); d != "" {
		return d
	}
	return filepath.Join(getenv("HOME"), ".local", "share")
}
