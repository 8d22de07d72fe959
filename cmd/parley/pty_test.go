package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"parley/cmd/parley/try"
)

// tty opens a terminal: the side of the screen and keyboard, and the program's.
func tty(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(screen.Fd()) // a file descriptor is small
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
	cmd.Env = append(instruments(), "PATH="+os.Getenv("PATH"), "TMPDIR="+t.TempDir(), "TERM=xterm", "NO_COLOR=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	discard(program)
	before := mode(t, screen)
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
	seen, all := "", ""
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
				all += piece
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
	if mode(t, screen)&unix.ECHO != 0 {
		t.Error("the terminal shows keys by itself")
	}
	press("what is 6*8\x7f7\r")
	await("6 * 7 = 42")
	await("ann> ")
	press("something slow\r")
	await("parley: ")
	press("/sto\tp\r")
	await("parley: Stopped.")
	await("ann> ")
	press("\x03") // Ctrl-C
	for range pieces {
		continue // until it has ended
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	if got := mode(t, screen); got != before {
		t.Errorf("the terminal's mode is %x, and was %x", got, before)
	}
	if look := regexp.MustCompile(`\x1b\[[0-9;]*m`).FindString(all); look != "" {
		t.Errorf("with NO_COLOR there is %q", look)
	}
}

// mode returns how a terminal treats keys.
func mode(t *testing.T, f *os.File) uint32 {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS) // a file descriptor is small
	if err != nil {
		t.Fatal(err)
	}
	return m.Lflag
}

func TestOnlyATerminalThatCanMoveItsCursorIsDrawnOn(t *testing.T) {
	t.Parallel()
	screen, keyboard := tty(t)
	defer discard(screen)
	defer discard(keyboard)
	for _, c := range []struct {
		term string
		out  io.Writer
		want bool
	}{
		{"xterm-256color", keyboard, true}, {"", keyboard, true}, {"dumb", keyboard, false}, {"xterm", io.Discard, false},
	} {
		var o try.Options
		restore, err := openScreen(program{in: keyboard, out: c.out, getenv: func(name string) (string, bool) {
			return map[string]string{"TERM": c.term}[name], name == "TERM"
		}}, &o)
		if err != nil || (o.Screen != nil) != c.want || o.Colour != c.want {
			t.Errorf("TERM=%q: screen %v, colour %v, %v", c.term, o.Screen != nil, o.Colour, err)
		}
		if err := restore(); err != nil {
			t.Error(err)
		}
	}
}
