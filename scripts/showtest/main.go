// Showtest runs go test and says what matters of what it prints:
//
//	go run ./scripts/showtest -log FILE go test -json …
//
// The command must print the events of go test -json. Showtest prints the line of
// each package when the package has ended, and writes all that the tests print to
// FILE, whose folder it makes. When something failed, the last lines, at most 100, are each test that
// failed, its seed, and of its output the lines that matter: without logs of
// servers, and in the middle of a long output without the middle. It ends with the
// command's exit status.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	logPath := flag.String("log", os.DevNull, "the file for all that the tests print")
	flag.Parse()
	code, err := run(*logPath, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "showtest:", err)
	}
	os.Exit(code)
}

func run(logPath string, command []string) (code int, err error) {
	if len(command) == 0 {
		return 2, errors.New("no command was given: showtest [-log FILE] go test -json …")
	}
	if err := os.MkdirAll(filepath.Dir(logPath), 0o750); err != nil {
		return 2, fmt.Errorf("make the folder of the log: %w", err)
	}
	file, err := os.Create(logPath) // the caller names it
	if err != nil {
		return 2, fmt.Errorf("open the log: %w", err)
	}
	log := bufio.NewWriter(file)
	defer func() { err = errors.Join(err, log.Flush(), file.Close()) }()

	// An interrupt reaches the command too, which ends by itself; what it printed
	// until then is shown. (Ignored, it would be ignored by the command as well.)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM)
	cmd := exec.CommandContext(context.Background(), command[0], command[1:]...) // the caller names it
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 2, fmt.Errorf("open the output of %s: %w", command[0], err)
	}
	if err := cmd.Start(); err != nil {
		return 2, fmt.Errorf("start %s: %w", command[0], err)
	}
	r := newReport(os.Stdout, log)
	read := r.read(out)
	err = cmd.Wait()
	r.finish(logPath)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), read // -1: ended by a signal
	}
	return 0, errors.Join(read, err)
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build-output
	Test        string
	Output      string
	FailedBuild string
}

// read takes events until the end of the output. A line that is no event is passed
// on as it is.
func (r *report) read(out io.Reader) error {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.add(e)
			} else {
				r.print(string(line))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output: %w", err)
		}
	}
}
