package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/mcp/oauth"
)

// errSeen ends the session of an examination.
var errSeen = errors.New("it was examined")

// Examine connects to a server as a [Host] does, has it list its tools, and returns how it is: Up, or
// Down, NeedsLogin or Off with why. It tries once and keeps nothing: of a login no token is replaced and
// no file is written, and of the program of a server nothing is left but what it wrote into the folder
// that o.Folder returns. It takes two times startTime at most, or until ctx ends.
//
// Consents are not known to it, so tools are Missing, Unfit, or New.
func Examine(ctx context.Context, c Server, o Options) (Status, error) {
	o.examining = true
	o.Changed = func() {}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := newServer(c, &o)
	if err != nil {
		return Status{}, fmt.Errorf("MCP server %s: %w", c.Name, err)
	}
	s.stay = func(context.Context, *sdk.ClientSession) error { return errSeen }
	if err := s.prepare(); err != nil {
		s.enter(Off, err)
		return s.status(), nil
	}
	connected, err := s.serve(ctx, false)
	if !connected && s.isOlder(err) && ctx.Err() == nil {
		connected, err = s.serve(ctx, true)
	}
	switch _, need := errors.AsType[*oauth.LoginError](err); {
	case connected:
	case need:
		s.enter(NeedsLogin, err)
	default:
		s.enter(Down, err)
	}
	return s.status(), nil
}
