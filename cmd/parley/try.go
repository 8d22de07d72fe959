package main

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/cmd/parley/terminal"
	"parley/cmd/parley/try"
	"parley/gateway/settings"
)

func tryCommand(p program) *cobra.Command {
	var o try.Options
	var verbose bool
	c := &cobra.Command{
		Use:   "try",
		Short: "Chat with a complete gateway in this terminal, without configuration",
		Long: `try starts a ` + try.JoinWords(try.Networks(), "or") + ` server on loopback, a gateway with its embedded
message log and database, and a chat in this terminal that goes the whole real way
through them. With ANTHROPIC_API_KEY or OPENAI_API_KEY in the environment a real
model answers; without, a small scripted demonstration model. Sub-agents are seen
at work, and after an answer what each of them has cost. What is said in a voice
note is made words of, by a simulated service.

In a terminal the line that you type stays below the answers: arrow keys edit it and
recall earlier ones, the tab key completes commands, Ctrl-D ends. NO_COLOR turns
colours off.

It also takes lines from standard input: each waits for its answer, and try ends
with the last one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.In, o.Out, o.Terminal, o.Version = p.in, p.out, isTerminal(p.in), version()
			o.SignalCLI, o.PDFExtractor = signalCLIArgs, pdfExtractor()
			o.Getenv = func(key string) string { v, _ := p.getenv(key); return v }
			restore, err := openScreen(p, &o)
			if err != nil {
				return runError(cmd.Context(), err)
			}
			switch {
			case verbose && o.Screen != nil && isTerminal(p.err): // the line that is typed stays below the log, too
				o.Logger = slog.New(newTerminalHandler(o.Screen, slog.LevelInfo, o.Colour))
			case verbose:
				o.Logger = newLogger(p, settings.LogConfig{Format: "text"}, slog.LevelInfo)
			}
			err = errors.Join(try.Run(cmd.Context(), o), restore())
			if errors.Is(err, try.ErrModel) || errors.Is(err, try.ErrChannel) {
				return err // a mistake in the command line: said as it is
			}
			return runError(cmd.Context(), err)
		},
	}
	f := c.Flags()
	networks := strings.Fields(strings.ToLower(strings.Join(try.Networks(), " ")))
	f.StringVar(&o.Channel, "channel", networks[0], "through which chat network: "+try.JoinWords(networks, "or"))
	completeFlag(c, "channel", networks...)
	f.StringVar(&o.Model, "model", "", "which model answers, as provider/model (default: by the key in the environment)")
	f.StringVar(&o.StateDir, "state", "", "keep the state in this folder (default: a temporary one, removed at the end)")
	f.StringVar(&o.Ops, "ops", "", "where metrics and health are served, host:port (default: a free port on loopback)")
	f.DurationVar(&o.Pace, "pace", 20*time.Millisecond, "pause between the demonstration model's words")
	f.BoolVarP(&verbose, "verbose", "v", false, "show the gateway's log on standard error")
	return c
}

// openScreen has o draw on the terminal, if the program is used from one that can be drawn
// on. The caller runs restore at the end.
func openScreen(p program, o *try.Options) (restore func() error, err error) {
	in, ok := p.in.(*os.File)
	out, ok2 := p.out.(*os.File)
	if kind, _ := p.getenv("TERM"); !ok || !ok2 || !isTerminal(in) || !isTerminal(out) || kind == "dumb" {
		return func() error { return nil }, nil
	}
	restore, err = terminal.Begin(in)
	if errors.Is(err, errors.ErrUnsupported) {
		return func() error { return nil }, nil
	} else if err != nil {
		return nil, err // it says what it was
	}
	o.Screen = terminal.New(in, out, func() (columns, rows int) { return terminal.Size(out) })
	o.Colour = p.wantsColour()
	return restore, nil
}
