package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"parley/configs"
)

func initCommand(p program) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a configuration that explains every key",
		Long: `init writes a commented configuration, which only its owner can read. A file that
is there already is left as it is.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := writeNewFile(file, configs.Example); err != nil {
				return runError(cmd.Context(), err)
			}
			_, err := fmt.Fprintf(p.out, `%[1]s is written. Say in it who may talk to the bot, put the bot's token and the
model's key into the environment, and then:
  parley check-config --config %[1]s
  parley run --config %[1]s
`, file)
			return runError(cmd.Context(), err)
		},
	}
	c.Flags().StringVarP(&file, "config", "c", "parley.yaml", "the file to write")
	return c
}

func schemaCommand(p program) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Write a JSON Schema of the configuration, for your editor",
		Long: `schema writes a JSON Schema of the configuration to standard output. Editors complete
and explain keys by it, and mark unknown ones. For those with yaml-language-server:

  parley schema > parley.schema.json

and as the first line of parley.yaml

  # yaml-language-server: $schema=parley.schema.json

What depends on other values only check-config knows.`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := configs.Schema()
			if err != nil {
				return runError(cmd.Context(), err)
			}
			_, err = p.out.Write(text)
			return writeError(err)
		},
	}
}

// writeNewFile writes text into a file that does not exist yet.
func writeNewFile(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: it exists, and is left as it is", file) // for the operator
	}
	if err != nil {
		return fmt.Errorf("write a configuration: %w", err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil { // half a file may be a valid one
		return errors.Join(fmt.Errorf("write a configuration: %w", err), os.Remove(file))
	}
	return nil
}
