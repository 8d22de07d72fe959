package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func exportSessionCommand(p program) *cobra.Command {
	var file string
	o := &operator{program: p}
	c := o.bindAdmin(&cobra.Command{
		Use:   "export ID",
		Short: "Write a session's whole history as lines of JSON, for parley replay or another program",
		Long: `export takes the id of a session or of a sub-agent, or as much of its beginning as
no other has, and writes the whole tree that it stands in: what came, turns, what
models were asked and answered, calls of tools with their results, sub-agents,
answers as they were sent, and every row of the ledger. go doc
parley/gateway/recording explains the lines.

Configured secrets are taken out. What people said is in it: keep it as you keep
the conversation.`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeSessions(p),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		if file == "" {
			return ask.Export(ctx, args[0], o.out) // it names what was asked
		}
		return writeFileAtomic(file, func(f *os.File) error { return ask.Export(ctx, args[0], f) })
	})
	c.Flags().StringVar(&file, "out", "", "the file to write; it appears when it is complete")
	if err := c.MarkFlagFilename("out", "jsonl"); err != nil {
		panic(err) // the flag is the one above
	}
	return c
}

// writeFileAtomic makes a file that only its owner can read, and that is there with
// all that write writes or not at all. What is no file, such as a pipe or a terminal, is
// written to, and so is the file that a link leads to.
func writeFileAtomic(name string, write func(*os.File) error) (err error) {
	if st, err := os.Stat(name); err == nil {
		if !st.Mode().IsRegular() {
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				return err // it names the file
			}
			return errors.Join(write(f), f.Close())
		}
		if name, err = filepath.EvalSymlinks(name); err != nil {
			return err // it names the file
		}
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err // each says what failed
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}
