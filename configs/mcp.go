package configs

import (
	"fmt"
	"strings"

	"parley/gateway/settings"
	"parley/tools/programs"
)

// completeServers makes the paths of MCP servers absolute, notes what is secret, and finds the
// programs, if this process runs any.
func (d *decoder) completeServers(cfg *settings.Config) {
	path, _ := d.lookup("PATH")
	for i := range cfg.MCP.Servers {
		s, at := &cfg.MCP.Servers[i], fmt.Sprintf("mcp.servers[%d]", i)
		d.noteSecrets(at+".env", s.Env)
		d.noteSecrets(at+".headers", s.Headers)
		for n, p := range s.ReadOnly {
			s.ReadOnly[n] = d.absolutePath(p)
		}
		for _, path := range []*string{&s.OAuth.ClientSecretFile, &s.OAuth.KeyFile} {
			*path = d.absolutePath(*path)
		}
		if len(s.Command) > 0 && strings.Contains(s.Command[0], "/") {
			s.Command[0] = d.absolutePath(s.Command[0])
		}
		if len(s.Command) == 0 || s.Command[0] == "" || !cfg.HasRole(settings.RoleWorker) {
			continue
		}
		var err error
		if s.Program, err = programs.FindProgram(s.Command[0], path); err != nil {
			where := at + ".command[0]"
			d.addMistake(d.positions[where], where, err.Error())
		}
		for n, file := range s.ReadOnly {
			if err := programs.LookReadOnly(file); err != nil {
				where := fmt.Sprintf("%s.read_only[%d]", at, n)
				d.addMistake(d.positions[where], where, fmt.Sprintf("%s: %s", file, withoutPath(err)))
			}
		}
	}
}
