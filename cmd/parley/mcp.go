package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"parley/gateway/admin"
	"parley/tools/mcp"
	"parley/tools/programs"
)

func mcpCommand(p program) *cobra.Command {
	return groupCommand("mcp", "Look at MCP servers, consent to their tools, log in, and be one for other programs",
		`The servers stand in the configuration, under mcp.servers, with the tools that agents may
have; docs/mcp.md explains them. A tool is offered once you have read how its server
describes it and consented. When that changes it is not offered until you consent again.

parley mcp serve is the other way round: by it a program asks people in their chats.`,
		listServersCommand(p), showToolCommand(p), allowToolCommand(p), revokeToolCommand(p), loginCommand(p), logoutCommand(p), serveCommand(p))
}

func listServersCommand(p program) *cobra.Command {
	return answerCommand(p, &cobra.Command{
		Use:   "ls [SERVER]",
		Short: "List the servers and their tools, also those that no agent has",
		Long: `ls lists the MCP servers of the gateway that runs, and their tools: the category that the
configuration gives each, whether it is offered, and why not. CLAIMS is what the server
says that a call does; nothing depends on it.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeServers(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (admin.ServerPage, error) {
		page, err := ask.MCP().Servers(ctx)
		if err != nil || len(args) == 0 {
			return page, err
		}
		s, err := findServer(page, args[0])
		page.Servers = []mcp.Status{s}
		return page, err
	}, func(b *bytes.Buffer, page admin.ServerPage) {
		if len(page.Servers) == 0 {
			fmt.Fprintln(b, "This process has no MCP servers: mcp.servers lists them.")
		}
		for i, s := range page.Servers {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintln(b, sanitize(s.Name)+": "+serverState(page, s))
			t := newTable("TOOL", "CATEGORY", "STATE", "DIGEST", "CLAIMS", "WHY")
			for _, tool := range s.Tools {
				category, claims := "-", cmp.Or(claimsOf(tool.Hints), "-")
				if tool.Category != "" {
					category = string(tool.Category)
				}
				t.add(sanitize(tool.Tool), category, string(tool.State), cmp.Or(shortDigest(tool.Digest), "-"), claims, sanitize(tool.Why))
			}
			t.print(b)
		}
	})
}

// serverState says how a server is.
func serverState(page admin.ServerPage, s mcp.Status) string {
	text := string(s.State) + " for " + formatDuration(page.Now.Sub(s.Since)) + ", " + sanitize(s.Where)
	if s.Protocol != "" {
		text += ", MCP " + sanitize(s.Protocol)
	}
	if n := (programs.Network{Whole: s.Network, Hosts: s.Hosts}); !n.IsZero() {
		text += ", " + sanitize(n.String())
	}
	if s.Login != nil {
		text += ", logged in at " + sanitize(s.Login.Issuer)
	}
	if s.Problem != "" {
		text += ": " + sanitize(s.Problem)
	}
	return text
}

// claimsOf returns what a server says that a tool does, in a word for each.
func claimsOf(hints json.RawMessage) string {
	var h struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Idempotent  bool `json:"idempotentHint"`
		Destructive bool `json:"destructiveHint"`
	}
	if len(hints) == 0 || json.Unmarshal(hints, &h) != nil {
		return ""
	}
	var words []string
	for word, is := range map[string]bool{"reads": h.ReadOnly, "idempotent": h.Idempotent, "destroys": h.Destructive} {
		if is {
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func shortDigest(digest string) string { return sanitize(digest[:min(len(digest), 12)]) }

func showToolCommand(p program) *cobra.Command {
	var server string
	return answerCommand(p, &cobra.Command{
		Use:               "show SERVER TOOL",
		Short:             "Print all that a model would read of a tool",
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeServers(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (mcp.ToolStatus, error) {
		server = args[0]
		return findTool(ctx, ask, server, args[1])
	}, func(b *bytes.Buffer, t mcp.ToolStatus) { printTool(b, server, t) })
}

// printTool prints a tool as its operator has to read it.
func printTool(b *bytes.Buffer, server string, t mcp.ToolStatus) {
	line := func(format string, a ...any) { fmt.Fprintf(b, format+"\n", a...) }
	line("%s of %s: %s", sanitize(t.Tool), sanitize(server), string(t.State))
	if t.Name != "" {
		line("agents have it as  %s", sanitize(t.Name))
		line("category           %s", string(t.Category))
	}
	line("digest             %s", cmp.Or(sanitize(t.Digest), "-"))
	line("claims             %s", cmp.Or(sanitize(string(t.Hints)), "-"))
	line("description:")
	for part := range strings.SplitSeq(t.Description, "\n") {
		line("  %s", sanitize(part))
	}
	line("parameters:")
	var schema bytes.Buffer
	if json.Indent(&schema, t.Schema, "  ", "  ") != nil {
		schema.Reset()
		schema.WriteString("-")
	}
	for part := range strings.SplitSeq(schema.String(), "\n") {
		line("  %s", sanitize(strings.TrimPrefix(part, "  ")))
	}
}

func allowToolCommand(p program) *cobra.Command {
	return adminCommand(p, &cobra.Command{
		Use:   "allow SERVER [TOOL ...]",
		Short: "Consent to tools of a server, as it describes them now",
		Long: `allow prints what a model will read of the tools, and has them offered from the next turn
on. Without TOOL it takes all tools of the server that wait for consent, the changed ones
too. Only tools that the configuration names are offered.`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: completeServers(p),
	}, func(ctx context.Context, o *operator, ask *admin.Client, args []string) error {
		page, err := ask.MCP().Servers(ctx)
		if err != nil {
			return err // it names what was asked
		}
		s, err := findServer(page, args[0])
		if err != nil {
			return err
		}
		for _, name := range args[1:] {
			if !slices.ContainsFunc(s.Tools, func(t mcp.ToolStatus) bool { return t.Tool == name }) {
				return newUsageError("no tool %q of the MCP server %s; parley mcp ls %s shows which there are", name, s.Name, s.Name)
			}
		}
		var done []mcp.ToolStatus
		for _, t := range s.Tools {
			waits := t.State == mcp.New || t.State == mcp.Changed
			if len(args) > 1 && !slices.Contains(args[1:], t.Tool) || len(args) == 1 && !waits {
				continue
			}
			if !o.json {
				if err := o.print(func(b *bytes.Buffer) { printTool(b, s.Name, t) }); err != nil {
					return err
				}
			}
			now, err := ask.MCP().AllowTool(ctx, s.Name, t.Tool, t.Digest)
			if err != nil && o.json && len(done) > 0 {
				return errors.Join(err, o.printJSON(done))
			}
			if err != nil {
				return err // it names what was asked
			}
			if done = append(done, now); !o.json {
				if _, err := fmt.Fprintf(o.out, "%s is %s from the next turn on\n\n", sanitize(now.Name), string(now.State)); err != nil {
					return err // the caller says what failed
				}
			}
		}
		switch {
		case o.json:
			return o.printJSON(done)
		case len(done) == 0:
			_, err = fmt.Fprintf(o.out, "No tool of %s waits for consent.\n", sanitize(s.Name))
		}
		return err // the caller says what failed
	})
}

func revokeToolCommand(p program) *cobra.Command {
	var server string
	return answerCommand(p, &cobra.Command{
		Use:               "revoke SERVER TOOL",
		Short:             "Take the consent to a tool back",
		Long:              `revoke has a tool not offered any more, from the next turn on.`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeServers(p),
	}, func(ctx context.Context, ask *admin.Client, args []string) (mcp.ToolStatus, error) {
		server = args[0]
		return ask.MCP().RevokeTool(ctx, server, args[1])
	}, func(b *bytes.Buffer, t mcp.ToolStatus) {
		fmt.Fprintf(b, "%s of %s is not offered: %s\n", sanitize(t.Tool), sanitize(server), sanitize(t.Why))
	})
}

// findServer returns one of the servers of a gateway.
func findServer(page admin.ServerPage, name string) (mcp.Status, error) {
	var names []string
	for _, s := range page.Servers {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return mcp.Status{}, newUsageError("no MCP server %q in this process; there are: %s", name, cmp.Or(strings.Join(names, ", "), "none"))
}

// findTool returns a tool of a server of a gateway.
func findTool(ctx context.Context, ask *admin.Client, server, tool string) (mcp.ToolStatus, error) {
	page, err := ask.MCP().Servers(ctx)
	if err != nil {
		return mcp.ToolStatus{}, err // it names what was asked
	}
	s, err := findServer(page, server)
	if err != nil {
		return mcp.ToolStatus{}, err
	}
	for _, t := range s.Tools {
		if t.Tool == tool {
			return t, nil
		}
	}
	return mcp.ToolStatus{}, newUsageError("no tool %q of the MCP server %s; parley mcp ls %s shows which there are", tool, server, server)
}

// completeServers completes a server's name, and behind it those of its tools.
func completeServers(p program) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return completeWith(p, func(ctx context.Context, ask *admin.Client) (names []string, err error) {
			page, err := ask.MCP().Servers(ctx)
			for _, s := range page.Servers {
				if len(args) == 0 {
					names = append(names, s.Name)
				} else if s.Name == args[0] {
					for _, t := range s.Tools {
						names = append(names, t.Tool)
					}
				}
			}
			return names, err
		})(cmd, nil, begun)
	}
}

// printServers names the MCP servers of a configuration.
func printServers(w io.Writer, servers []mcp.Server) error {
	for _, s := range servers {
		var names []string
		for _, t := range s.Tools {
			category := string(t.Category)
			if category == "" {
				category = "admin, because it has no category"
			}
			names = append(names, fmt.Sprintf("%s (%s)", mcp.ToolName(s.Name, t.Name), category))
		}
		network := ""
		if !s.Network.IsZero() {
			network = ", " + sanitize(s.Network.String())
		}
		if s.OAuth.ByItself() {
			network = ", logs in as " + sanitize(s.OAuth.ClientID) + " at " + sanitize(s.OAuth.Issuer)
		}
		if _, err := fmt.Fprintf(w, "MCP server %s: %s%s; tools: %s\n", s.Name, sanitize(s.Where()), network, strings.Join(names, ", ")); err != nil {
			return err // the caller says what failed
		}
	}
	return nil
}
