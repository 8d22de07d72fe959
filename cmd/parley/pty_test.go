package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tty opens a terminal: the side of the screen and keyboard, and the program's.
func tty(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(screen.Fd()) //nolint:gosec // a file descriptor is small
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, program
}

func TestTryIsAChatInARealTerminal(t *testing.T) {
	t.Parallel()
	screen, program := tty(t)
	defer discard(screen)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "parley", "try", "--pace", "1ms")
	cmd.Env = append(instruments(), "PATH="+os.Getenv("PATH"), "TMPDIR="+t.TempDir())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	discard(program)
	pieces := make(chan string, 1024)
	go func() {
		defer close(pieces)
		b := make([]byte, 4096)
		for {
			n, err := screen.Read(b)
			if n > 0 {
				pieces <- string(b[:n])
			}
			if err != nil {
				return // the program's side is closed
			}
		}
	}()
	seen := ""
	await := func(text string) {
		t.Helper()
		limit := time.After(patience)
		for {
			if _, rest, ok := strings.Cut(seen, text); ok {
				seen = rest
				return
			}
			select {
			case piece, ok := <-pieces:
				if !ok {
					t.Fatalf("it ended before %q: %q", text, seen)
				}
				seen += piece
			case <-limit:
				t.Fatalf("no %q: %q", text, seen)
			}
		}
	}
	press := func(keys string) {
		t.Helper()
		if _, err := screen.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	await("ann> ")
	press("what is 6*7\n")
	await("6 * 7 = 42")
	await("ann> ")
	press("something slow\n")
	await("parley: ")
	press("/stop\n")
	await("parley: Stopped.")
	await("ann> ")
	press("\x03") // Ctrl-C
	for range pieces {
		continue // until it has ended
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
