package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway/settings"
)

func slackCommand(p program) *cobra.Command {
	return groupCommand("slack", "Set up a Slack app", "",
		slackManifestCommand(p))
}

func slackManifestCommand(p program) *cobra.Command {
	var file, url string
	c := &cobra.Command{
		Use:   "manifest [ACCOUNT]",
		Short: "Print the manifest of which Slack makes the app",
		Long: `manifest prints the manifest, JSON, of the app that the configuration describes:
on api.slack.com/apps choose "Create New App", "From a manifest", and paste it; or,
for an app that is there, "App Manifest". Its scopes, events and slash commands are
those that parley uses, and no more. ACCOUNT is the name below channels.slack; it
may be left out where there is one. Its tokens need not be there yet. Status 78 is a
mistake in the configuration.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			account := ""
			if len(args) == 1 {
				account = args[0]
			}
			cfg, err := configs.LoadAccounts(file, "slack", p.getenv)
			if err != nil {
				return &exitError{exitConfig, err}
			}
			m, err := settings.SlackManifest(cfg, account, url)
			if err != nil {
				return &exitError{exitConfig, fmt.Errorf("%s: %w", file, err)}
			}
			_, err = fmt.Fprintf(p.out, "%s\n", m)
			return writeError(err)
		},
	}
	c.Flags().StringVarP(&file, "config", "c", "parley.yaml", "the configuration")
	c.Flags().StringVar(&url, "url", "", "where Slack reaches the listener of webhooks, https://your.host; for an account of mode events")
	return c
}
