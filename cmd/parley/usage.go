package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
)

func usageCommand(p program) *cobra.Command {
	var by, from, to, format string
	formats := []string{"table", "csv", "json", "focus"}
	var groupings []string
	for _, g := range admin.Groupings() {
		groupings = append(groupings, string(g))
	}
	c := adminCommand(p, &cobra.Command{
		Use:   "usage",
		Short: "Sum up what models were used for, and what it cost",
		Long: `usage sums up the ledger, exactly: every attempt of every model call, in dollars
to the last decimal. Days are days in UTC. A session stands for its own calls;
what its sub-agents cost stands beside it. By person and by group its calls count for who
asked, those of sub-agents too; those of jobs for the job.

Two groupings divide each other: --by model,person. The format focus is CSV with the columns
of FOCUS 1.3, a row for each day, model, instance, agent and purpose.`,
	}, func(ctx context.Context, o *operator, ask *admin.Client, _ []string) error {
		at, err := parseSince(time.Now(), from)
		if err != nil {
			return err
		}
		end, err := parseUntil(time.Now(), to)
		if err != nil {
			return err
		}
		if err := checkOneOf("--format", format, formats...); err != nil {
			return err
		}
		if o.json {
			format = "json"
		}
		q := admin.UsageQuery{Since: at, Until: end}
		for i, one := range strings.Split(by, ",") {
			if err := checkOneOf("--by", one, groupings...); err != nil {
				return err
			}
			switch i {
			case 0:
				q.By = admin.Grouping(one)
			case 1:
				q.Also = []admin.Grouping{admin.Grouping(one)}
			default:
				return newUsageError("--by %s: usage is summed up by two things at most", by)
			}
		}
		if format == "focus" {
			q.By, q.Also = focusBy()
		}
		u, err := ask.Usage(ctx, q)
		if err != nil {
			return err
		}
		switch format {
		case "json":
			return o.printJSON(u)
		case "csv":
			return printUsageCSV(o.out, u)
		case "focus":
			return printFocus(o.out, u)
		}
		return o.print(func(b *bytes.Buffer) { printUsage(b, u) })
	})
	f := c.Flags()
	f.StringVar(&from, "since", "", "only calls since: 24h, 7d, or a day as 2026-01-01 (UTC); without, of all time")
	f.StringVar(&to, "until", "", "only calls before: as --since, or now")
	f.StringVar(&by, "by", "model", "sum up by "+strings.Join(groupings, ", ")+", or by two of them: model,day")
	f.StringVar(&format, "format", "table", "table, csv, json, or focus, which has its own groups")
	c.MarkFlagsMutuallyExclusive("json", "format")
	completeFlag(c, "by", groupings...)
	completeFlag(c, "format", formats...)
	return c
}

// usageCells are the counts of u in the order of the columns.
func usageCells(u admin.Usage) []string {
	var cells []string
	for _, n := range []int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.Unpriced, u.Interrupted} {
		cells = append(cells, strconv.FormatInt(n, 10))
	}
	return cells
}

func printUsage(b *bytes.Buffer, u admin.UsageReport) {
	columns := []string{strings.ToUpper(string(u.By))}
	for _, also := range u.Also {
		columns = append(columns, strings.ToUpper(string(also)))
	}
	columns = append(columns, ">CALLS", ">COST", ">INPUT", ">CACHE READ", ">CACHE WRITE", ">OUTPUT", ">REASONING", ">UNPRICED", ">INTERRUPTED")
	titled := slices.ContainsFunc(u.Groups, func(g admin.Usage) bool { return g.Title != "" })
	if titled {
		columns = append(columns, "TITLE")
	}
	t := newTable(columns...)
	also := len(u.Also)
	row := func(group string, u admin.Usage) {
		cells := []string{sanitize(group)}
		for i := range also {
			name := ""
			if i < len(u.Also) {
				name = sanitize(u.Also[i])
			}
			cells = append(cells, name)
		}
		cells = append(cells, strconv.FormatInt(u.Calls, 10), "$"+u.Cost.Exact())
		cells = append(cells, usageCells(u)...)
		if titled {
			cells = append(cells, sanitize(u.Title))
		}
		t.add(cells...)
	}
	for _, g := range u.Groups {
		row(g.Group, g)
	}
	row("total", u.Total)
	printTable(b, t, u.Total.Unpriced)
}

// printUsageCSV has no line for the total, so that a column may be summed up.
func printUsageCSV(w io.Writer, u admin.UsageReport) error {
	out := csv.NewWriter(w)
	head := []string{string(u.By)}
	for _, also := range u.Also {
		head = append(head, string(also))
	}
	head = append(head, "calls", "cost_usd", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens", "unpriced", "interrupted")
	if err := out.Write(head); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	for _, g := range u.Groups {
		if err := out.Write(slices.Concat([]string{g.Group}, g.Also, []string{strconv.FormatInt(g.Calls, 10), g.Cost.Exact()}, usageCells(g))); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	out.Flush()
	return out.Error() // the caller says what failed
}
