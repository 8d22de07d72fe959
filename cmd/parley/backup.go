package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway/admin"
	"parley/gateway/backup"
)

func backupCommand(p program) *cobra.Command {
	var workspaces bool
	o := &operator{program: p}
	c := o.bindAdmin(&cobra.Command{
		Use:   "backup FILE|DIR",
		Short: "Write the state of the gateway that runs into one file, while it works",
		Long: `backup writes conversations, the ledger, what people decided and the message log of the
gateway that runs into FILE, or into a new file in DIR whose name has the time. The gateway
goes on meanwhile. It needs room in the state folder for a copy of the database.

The file is a ZIP archive that only its owner can read; it appears when it is complete and
was checked, and no file is overwritten. What people said is in it: keep it as you keep the
state folder. Not in it: the configuration, secrets, keys of Signal accounts, and, without
--workspaces, the files of conversations.

parley restore makes a state folder of it. A gateway on NATS or Redis is backed up with
their tools (docs/backup.md).`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		return o.writeBackup(ctx, ask, args[0], workspaces)
	})
	c.Flags().BoolVar(&workspaces, "workspaces", false, "with the files of conversations")
	return c
}

// writeBackup writes a backup to a new file, and says what it holds.
func (o *operator) writeBackup(ctx context.Context, ask *admin.Client, name string, workspaces bool) error {
	if st, err := os.Stat(name); err == nil && st.IsDir() {
		name = filepath.Join(name, time.Now().UTC().Format("parley-20060102-150405Z.zip"))
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = fmt.Errorf("%s: %w: name another file, nothing is overwritten", name, fs.ErrExist)
		}
		return err // it names the file
	}
	var held backup.Manifest
	err := createFileAtomic(name, func(f *os.File) error {
		if err := ask.Backup(ctx, workspaces, f); err != nil {
			return err // it says what failed
		}
		// What is on the disk is what will be restored.
		a, err := backup.Open(ctx, f.Name())
		if err != nil {
			return err // it says what is wrong
		}
		held = a.Manifest
		return a.Close() // it says what failed
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.out, "%s: %s, of %s.\nTo make a state folder of it: parley restore %s\n", name, describeBackup(held), formatTime(held.At), name)
	return err // the caller says what failed
}

// describeBackup says what a backup holds.
func describeBackup(m backup.Manifest) string {
	with := "no workspaces"
	if m.Workspaces {
		with = "workspaces"
	}
	return fmt.Sprintf("database, message log and %s (%s)", with, formatSize(uint64(m.Size())))
}

// createFileAtomic makes a file that only its owner can read, and that is there with all that write
// writes or not at all. It replaces none that somebody made meanwhile.
func createFileAtomic(name string, write func(*os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // it has its name by then, or is not wanted
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), name); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %s: %w", name, err)
	} else if err != nil { // a file system without links
		if err := os.Rename(f.Name(), name); err != nil {
			return fmt.Errorf("make %s: %w", name, err)
		}
	}
	return nil
}

func restoreCommand(p program) *cobra.Command {
	var config, state string
	var check bool
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a state folder of a backup",
		Long: `restore takes a file that parley backup wrote, checks all of it, and makes the state
folder of it: the one that the configuration names, or --state. The folder must not exist,
or be empty, and no gateway may run on it. Run it as the user that runs the gateway.

When the gateway starts, it answers what was unanswered at the time of the backup. It cannot
know whether that was answered afterwards, so it marks these answers as possible repeats. What
was said since is in the networks, and not in the bot's conversations; the ledger lacks
what was spent since.

With --check it only says whether the backup is complete.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilHangup(cmd.Context())
			defer stop()
			return restore(ctx, p, args[0], config, state, check)
		},
	}
	f := c.Flags()
	f.StringVarP(&config, "config", "c", "parley.yaml", "the configuration of the gateway")
	f.StringVar(&state, "state", "", "instead of a configuration: the state folder")
	f.BoolVar(&check, "check", false, "only check the backup")
	c.MarkFlagsMutuallyExclusive("config", "state")
	if err := errors.Join(c.MarkFlagFilename("config", "yaml", "yml"), c.MarkFlagDirname("state")); err != nil {
		panic(err) // the flags are those above
	}
	return c
}

func restore(ctx context.Context, p program, file, config, state string, check bool) (err error) {
	if !check && state == "" {
		place, err := configs.LoadPaths(config, p.getenv)
		if err != nil {
			return &exitError{exitConfig, err}
		}
		if place.Shared != "" {
			return commandError(fmt.Errorf("%s of this configuration is elsewhere, and a backup is of one machine: name a folder with --state, or see docs/backup.md", place.Shared)) // for the operator
		}
		state = place.StateDir
	}
	a, err := backup.Open(ctx, file)
	if err != nil {
		return commandError(err)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if check {
		_, err = fmt.Fprintf(p.out, "%s: complete. It holds %s, of %s.\n", file, describeBackup(a.Manifest), formatTime(a.Manifest.At))
		return commandError(err)
	}
	log := slog.New(slog.NewTextHandler(p.err, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := a.Restore(ctx, state, log); err != nil {
		return commandError(err)
	}
	_, err = fmt.Fprintf(p.out, `%s holds %s, of %s.
When the gateway starts, it answers what was unanswered then, and marks these answers as possible repeats.
`, state, describeBackup(a.Manifest), formatTime(a.Manifest.At))
	return commandError(err)
}
