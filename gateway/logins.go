package gateway

import (
	"context"
	"fmt"

	"parley/gateway/admin"
	"parley/tools/mcp"
	"parley/tools/mcp/oauth"
)

// beginLogin begins a login at an MCP server of this process. An error is what the operator reads.
func (s *servers) beginLogin(ctx context.Context, server, redirect string, scopes []string) (oauth.Started, error) {
	if err := s.checkServer(server); err != nil {
		return oauth.Started{}, err
	}
	started, err := s.BeginLogin(ctx, server, redirect, scopes...)
	if err != nil {
		return started, loginError("log in at", server, err)
	}
	return started, nil
}

// finishLogin ends a login with the address to which the browser was led, which no log shows.
func (s *servers) finishLogin(ctx context.Context, server, address string) (mcp.Status, error) {
	if err := s.checkServer(server); err != nil {
		return mcp.Status{}, err
	}
	if err := s.FinishLogin(ctx, server, address); err != nil {
		return mcp.Status{}, loginError("log in at", server, err)
	}
	for _, st := range s.status() {
		if st.Name == server {
			return st, nil
		}
	}
	return mcp.Status{}, nil
}

// logout forgets the login at an MCP server of this process.
func (s *servers) logout(ctx context.Context, server string) (bool, error) {
	if err := s.checkServer(server); err != nil {
		return false, err
	}
	was, err := s.Logout(ctx, server)
	if err != nil {
		return was, loginError("log out of", server, err)
	}
	return was, nil
}

// checkServer reports that this process has no MCP server of that name.
func (s *servers) checkServer(name string) error {
	for _, st := range s.status() {
		if st.Name == name {
			return nil
		}
	}
	return &admin.Error{Kind: admin.NotFound, Message: fmt.Sprintf("no MCP server %q in this process; parley mcp ls shows which there are", name)}
}

// loginError words an error for the operator, who caused it: nothing of the gateway is broken.
func loginError(what, server string, err error) error {
	return &admin.Error{Kind: admin.Refused, Message: fmt.Sprintf("%s the MCP server %s: %v", what, server, err)}
}
