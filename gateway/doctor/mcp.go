package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/findings"
	"parley/tools/mcp"
)

// examine says how the server is: as the gateway that runs sees it, or else as it is when it is looked
// at now.
func (s MCPServer) examine(ctx context.Context, running *Running) []findings.Finding {
	if running != nil {
		if i := slices.IndexFunc(running.Servers, func(st mcp.Status) bool { return st.Name == s.Name }); i >= 0 {
			return s.judge(running.Servers[i], true)
		}
	}
	if s.Examine == nil {
		return []findings.Finding{mcpSkipped.At(s.Name, "%s", s.Where)}
	}
	st, err := s.Examine(ctx)
	if err != nil {
		return []findings.Finding{mcpProgram.At(s.Name, "%v", err)}
	}
	return s.judge(st, false)
}

// judge says what the state of the server means. consents says whether it is known what the operator
// has consented to.
func (s MCPServer) judge(st mcp.Status, consents bool) []findings.Finding {
	kind := s.kindOf(st)
	if kind.ID != mcpUp.ID {
		detail := st.Problem
		if detail == "" {
			detail = string(st.State)
		}
		return append([]findings.Finding{kind.At(s.Name, "%s", detail)}, s.judgeTools(st, consents)...)
	}
	detail := s.Where
	if st.Protocol != "" {
		detail += ", MCP " + st.Protocol
	}
	if st.Login != nil {
		detail += ", logged in at " + st.Login.Issuer
	}
	return append([]findings.Finding{mcpUp.At(s.Name, "%s", detail)}, s.judgeTools(st, consents)...)
}

// kindOf returns what the state of the server is a case of.
func (MCPServer) kindOf(st mcp.Status) findings.Kind {
	switch st.Cause {
	case mcp.NoLogin:
		return mcpNoLogin
	case mcp.LoginOver:
		return mcpLoginOver
	case mcp.MoreRights:
		return mcpRights
	case mcp.NoToken:
		return mcpNoToken
	case mcp.TokenDue:
		return mcpTokenDue
	case mcp.Refused:
		return mcpRefused
	}
	switch st.State {
	case mcp.Up:
		return mcpUp
	case mcp.Starting, mcp.Stopped:
		return mcpStarting
	case mcp.NeedsLogin: // of a gateway that says no cause
		return mcpNoLogin
	}
	if strings.Contains(st.Where, "://") {
		return mcpUnreachable
	}
	return mcpProgram
}

// judgeTools says which tools of the configuration are not offered. Of a server that is not there
// only those are known to which nobody has consented.
func (s MCPServer) judgeTools(st mcp.Status, consents bool) []findings.Finding {
	var lacking []string
	for _, t := range st.Tools {
		switch t.State {
		case mcp.Missing, mcp.Unfit, mcp.Changed:
		case mcp.New:
			if !consents {
				continue
			}
		case mcp.Offered, mcp.Unknown, mcp.Unused:
			continue
		}
		lacking = append(lacking, fmt.Sprintf("%s (%s)", t.Tool, t.State))
	}
	if len(lacking) == 0 {
		return nil
	}
	return []findings.Finding{mcpTools.At(s.Name, "%s", strings.Join(lacking, ", "))}
}
