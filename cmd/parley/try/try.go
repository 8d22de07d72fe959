// Package try is parley's main job with nothing configured: a chat in the
// terminal that goes the whole real way, from a chat network's server on loopback
// through adapter, log, worker and model back to the chat.
package try

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"parley/cmd/parley/terminal"
	"parley/gateway"
	"parley/simulators/model"
)

// Options is what the terminal and the environment give.
type Options struct {
	In       io.Reader
	Out      io.Writer
	Terminal bool // a person types; otherwise each line waits for its answer
	// Screen is the terminal that In and Out are, if it can be drawn on: the person's line
	// stays below what is shown. In and Out are not used then.
	Screen   *terminal.Screen
	Colour   bool // on Screen
	Getenv   func(string) string
	Channel  string        // one of Networks, in lower case; empty: the first
	Model    string        // provider/model, where a key for it is in the environment; empty: chosen
	StateDir string        // kept afterwards; empty: a temporary one, removed
	Ops      string        // where the metrics are; empty: a free port
	Pace     time.Duration // between the demonstration model's words
	Logger   *slog.Logger
	Version  string
	// SignalCLI returns the command that runs signal-cli of a simulated world at a URL;
	// for Channel signal only. Arguments of signal-cli are put behind it.
	SignalCLI func(world string) []string
	// PDFExtractor is as that of the gateway's options.
	PDFExtractor []string

	// settled shows each message once, as it is when its answer is complete: a test that
	// compares what is seen does not depend on how much of it was shown before.
	settled bool
}

// answerWithin is how long a line from a script waits for its answer.
const answerWithin = 3 * time.Minute

// ErrModel is a Model that cannot answer, ErrChannel a Channel that there is not.
var (
	ErrModel   = errors.New("--model")
	ErrChannel = errors.New("--channel")
)

var errNoAnswer = errors.New("no answer came")

// Run chats until the input or ctx ends, which is no error. Everything it
// started has stopped when it returns, but for a read of In that still blocks.
// What the person must mend on the command line is an ErrModel or an ErrChannel.
func Run(ctx context.Context, o Options) (err error) {
	if _, err := chooseModel(o, ""); err != nil {
		return err
	}
	platform, err := openNetwork(o)
	if err != nil {
		return err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	dir := o.StateDir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "parley-try-"); err != nil {
			return fmt.Errorf("make a temporary folder: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	} else if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("find the state folder: %w", err)
	}
	if err := platform.Listen(); err != nil {
		return fmt.Errorf("start the chat server: %w", err)
	}
	demo := model.New(model.Options{Brain: model.Demo(o.Pace)})
	if err := demo.Listen(); err != nil {
		return errors.Join(fmt.Errorf("start the demonstration model: %w", err), platform.Close())
	}
	mind, err := chooseModel(o, demo.URL())
	if err != nil {
		return errors.Join(err, platform.Close(), demo.Close())
	}
	delivered, helpers := make(chan gateway.Answer, 256), make(chan gateway.Subagent, 256)
	gw, err := gateway.New(config(dir, o.Ops, platform, mind, demo.URL()), gateway.Options{
		Logger: o.Logger, Version: o.Version, NewWorkspace: o.seed(mind), PDFExtractor: o.PDFExtractor,
		Delivered: func(a gateway.Answer) {
			select {
			case delivered <- a:
			case <-ctx.Done():
			}
		},
		Subagent: func(s gateway.Subagent) {
			select {
			case helpers <- s:
			case <-ctx.Done():
			}
		},
	})
	if err != nil {
		return errors.Join(err, platform.Close(), demo.Close())
	}

	// The gateway ends before the servers it talks to.
	outer, stopServers := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServers()
	inner, stopGateway := context.WithCancel(ctx)
	defer stopGateway()
	var servers, env errgroup.Group
	servers.Go(func() error { return platform.Run(outer) })
	servers.Go(func() error { return demo.Run(outer) })
	env.Go(func() error {
		defer stopGateway()
		return gw.Run(inner)
	})
	select {
	case <-gw.Started():
		c := &conversation{o: o, network: platform, delivered: delivered, subagents: helpers, model: mind, ops: gw.OpsAddr(), page: gw.NewPageCode("who tries it")}
		err = c.chat(inner)
	case <-inner.Done():
	}
	stopGateway()
	err = errors.Join(err, env.Wait())
	stopServers()
	return errors.Join(err, servers.Wait())
}

// seed puts a file into each conversation's workspace, so that the file tools of the
// demonstration have something to find from the first sentence on.
func (o Options) seed(m modelChoice) func(folder string) {
	if !m.simulated {
		return nil
	}
	return func(folder string) {
		const text = "This file lies in the workspace of one conversation.\nNo other conversation can read it.\n"
		if err := os.WriteFile(filepath.Join(folder, "welcome.txt"), []byte(text), 0o600); err != nil {
			o.Logger.Warn("example file not written", "error", err)
		}
	}
}

// chat runs the conversation over the lines of In.
func (c *conversation) chat(ctx context.Context) error {
	over := make(chan struct{})
	defer close(over)
	var typed <-chan string
	var end <-chan error
	if c.o.Screen != nil {
		prompts := make(chan string, 1)
		c.view = &live{screen: c.o.Screen, colour: c.o.Colour, prompt: prompts}
		c.o.Screen.Complete = func(line string) []string { return completions(line, c.codes.all()) }
		typed, end = readTyped(c.o.Screen, prompts, over)
	} else {
		c.view = &screen{out: c.o.Out}
		typed, end = readLines(c.o.In, over)
	}
	if err := c.network.converse(ctx, c, typed); err != nil {
		return err
	}
	select {
	case err := <-end:
		return err
	default:
		return nil
	}
}

// readLines gives the lines of r as they come, until over is closed; then what
// ended them, if it was not their end. A read that blocks cannot be taken back:
// its goroutine ends when it returns.
func readLines(r io.Reader, over <-chan struct{}) (<-chan string, <-chan error) {
	typed, end := make(chan string), make(chan error, 1)
	go func() {
		defer close(typed)
		s := bufio.NewScanner(r)
		s.Buffer(make([]byte, 0, 4096), 1<<20)
		for s.Scan() {
			select {
			case typed <- s.Text():
			case <-over:
				return
			}
		}
		if err := s.Err(); err != nil {
			end <- fmt.Errorf("read a line: %w", err)
		}
	}()
	return typed, end
}

// readTyped gives the lines that are typed on a screen, one for each prompt, as readLines
// does.
func readTyped(s *terminal.Screen, prompts <-chan string, over <-chan struct{}) (<-chan string, <-chan error) {
	typed, end := make(chan string), make(chan error, 1)
	go func() {
		defer close(typed)
		for prompt := range prompts {
			line, err := s.ReadLine(prompt)
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				end <- fmt.Errorf("read a line: %w", err)
				return
			}
			select {
			case typed <- line:
			case <-over:
				return
			}
		}
	}()
	return typed, end
}
