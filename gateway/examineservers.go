package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"parley/gateway/doctor"
	"parley/gateway/settings"
	"parley/tools/mcp"
	"parley/tools/sandbox"
)

// examinationRooms are where the programs of MCP servers run while they are examined: in a sandbox,
// each in an empty folder, as at the first start of a gateway. What they write there is removed.
type examinationRooms struct {
	*setup
	folder string           // empty: no program was started
	box    *sandbox.Sandbox // nil: none was opened
}

// servers returns the MCP servers that turns of this process could use. With unlooked none is asked,
// and no program is started.
func (r *examinationRooms) servers(ctx context.Context, unlooked bool) (all []doctor.MCPServer) {
	if !r.cfg.HasRole(settings.RoleWorker) {
		return nil
	}
	open := sync.OnceValue(func() error { return r.open(ctx) })
	for _, c := range r.cfg.MCP.Servers {
		s := doctor.MCPServer{Name: c.Name, Where: c.Where()}
		if !unlooked {
			s.Examine = func(ctx context.Context) (mcp.Status, error) { return r.examine(ctx, c, open) }
		}
		all = append(all, s)
	}
	return all
}

// open opens the sandbox, and makes the folder in which those of the programs are.
func (r *examinationRooms) open(ctx context.Context) (err error) {
	if r.box, err = (opener{r.setup}).openSandbox(ctx); err != nil {
		return err
	}
	if r.folder, err = os.MkdirTemp("", "parley-doctor-"); err != nil {
		return fmt.Errorf("make a folder for the programs of MCP servers: %w", err)
	}
	return nil
}

// examine looks how a server is. What it or its program says is shown without what is secret.
func (r *examinationRooms) examine(ctx context.Context, c mcp.Server, open func() error) (mcp.Status, error) {
	o := mcp.Options{
		Version: r.o.Version, Now: r.o.Now, Logins: r.cfg.LoginsDir(),
		Conceal: func(server string, secrets ...string) {
			r.redactor.Replace("login at the MCP server "+server, secrets...)
		},
	}
	if len(c.Command) > 0 {
		if err := open(); err != nil {
			return mcp.Status{}, err
		}
		if r.box != nil && r.box.Usable() { // else nothing can be walled in
			o.Runner = walls{Sandbox: r.box}
		}
		o.Folder = func(server string) string { return filepath.Join(r.folder, server) }
	}
	st, err := mcp.Examine(ctx, c, o)
	st.Problem = r.redactor.Clean(st.Problem)
	return st, err // it names the server
}

// close removes what the programs left. None may run any more.
func (r *examinationRooms) close() error {
	var errs []error
	if r.box != nil {
		errs = append(errs, r.box.Close())
	}
	if r.folder != "" {
		errs = append(errs, os.RemoveAll(r.folder))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("clean up after the programs of MCP servers: %w", err)
	}
	return nil
}
