package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/configs"
	"parley/gateway"
	"parley/gateway/prices"
	"parley/gateway/settings"
)

func pricesCommand(p program) *cobra.Command {
	return groupCommand("prices", "Show what models cost, and check a list of prices", "",
		pricesListCommand(p), pricesCheckCommand(p))
}

// loadPrices reads a configuration and the prices that a gateway with it uses.
func loadPrices(p program, file string) (settings.Config, *prices.Table, error) {
	cfg, err := configs.Load(file, p.getenv)
	if err != nil {
		return cfg, nil, &exitError{exitConfig, err}
	}
	t, err := gateway.Prices(cfg, configs.Prices)
	if err != nil {
		return cfg, nil, &exitError{exitConfig, configs.Locate(file, p.getenv, err)}
	}
	return cfg, t, nil
}

func pricesListCommand(p program) *cobra.Command {
	var file, provider, model string
	var asJSON bool
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the prices as a gateway with this configuration uses them",
		Long: `ls lists what models cost in dollars per million tokens, with where each price was
read and when: the built-in list with prices.file laid over it. The provider is
the part of the list that a provider's key prices names. Models of the
configuration that have no price come last. --json gives the rows in the form
of a file.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, t, err := loadPrices(p, file)
			if err != nil {
				return err
			}
			rows := t.View().Rows(provider, model)
			if asJSON {
				out := json.NewEncoder(p.out)
				out.SetIndent("", "  ")
				return writeError(out.Encode(map[string]any{"prices": rows}))
			}
			return writeError(p.print(func(b *bytes.Buffer) {
				printPrices(b, rows)
				printUnpriced(b, gateway.UnpricedModels(cfg, t.View()))
			}))
		},
	}
	c.Flags().StringVarP(&file, "config", "c", "parley.yaml", "the configuration")
	c.Flags().StringVar(&provider, "provider", "", "only this part of the list: anthropic, openai, …")
	c.Flags().StringVar(&model, "model", "", "only this model, or the row that a dated version of it has")
	c.Flags().BoolVar(&asJSON, "json", false, "in the form of a file of prices")
	return c
}

func printPrices(b *bytes.Buffer, rows []prices.Row) {
	t := newTable("PROVIDER", "MODEL", ">INPUT", ">OUTPUT", ">CACHE READ", ">WRITE 5M", ">WRITE 1H", "DATE", "SOURCE")
	for _, r := range rows {
		t.add(r.Provider, r.Model, r.Input, r.Output, r.CacheRead, r.CacheWrite5m, r.CacheWrite1h, r.Date, r.Source)
		for _, above := range r.Tiers {
			t.add("", fmt.Sprintf("  above %d", above.Above), above.Input, above.Output, above.CacheRead, above.CacheWrite5m, above.CacheWrite1h, "", "")
		}
	}
	t.print(b)
}

// printUnpriced reports which configured models have no price.
func printUnpriced(b *bytes.Buffer, us []gateway.Unpriced) {
	for _, u := range us {
		what := "counted, but not in the sums"
		switch {
		case u.Ceiling:
			what = "reckoned at prices.ceiling"
		case u.Refused:
			what = "refused, because budgets apply: " + u.Remedy()
		}
		meant := ""
		if len(u.Meant) > 0 {
			meant = "; did you mean " + strings.Join(u.Meant, " or ") + "?"
		}
		fmt.Fprintf(b, "no price: %s (%s), %s%s\n", u.Model, u.ConfigPath(), what, meant)
	}
}

func pricesCheckCommand(p program) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say every mistake in a list of prices, or which models have no price",
		Long: `check FILE reads a list of prices as prices.file is read, and says every mistake
at once. Without FILE it reads the configuration and the list that it names, and
says which of its models have no price. Status 78 is a mistake, or a model that
would be refused.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return checkPrices(p, args[0])
			}
			cfg, t, err := loadPrices(p, file)
			if err != nil {
				return err
			}
			us := gateway.UnpricedModels(cfg, t.View())
			if err := p.print(func(b *bytes.Buffer) { printUnpriced(b, us) }); err != nil {
				return writeError(err)
			}
			for _, u := range us {
				if u.Refused {
					return &exitError{exitConfig, fmt.Errorf("%s: models without a price are refused", file)} // for the operator
				}
			}
			_, err = fmt.Fprintf(p.out, "%s: ok\n", file)
			return writeError(err)
		},
	}
	c.Flags().StringVarP(&file, "config", "c", "parley.yaml", "the configuration")
	return c
}

func checkPrices(p program, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return &exitError{exitConfig, fmt.Errorf("read the prices: %w", err)}
	}
	list, err := configs.Prices(file, data)
	if err != nil {
		return &exitError{exitConfig, err}
	}
	n := 0
	for _, provider := range list.Providers() {
		n += len(list.Models(provider))
	}
	newest := ""
	if n > 0 {
		newest = ", the newest of " + list.Newest().Format(time.DateOnly)
	}
	_, err = fmt.Fprintf(p.out, "%s: ok, prices of %d models%s\n", file, n, newest)
	return writeError(err)
}

func writeError(err error) error {
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("write: %w", err)}
	}
	return nil
}
