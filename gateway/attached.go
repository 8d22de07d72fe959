package gateway

import (
	"slices"

	"parley/broker"
	"parley/gateway/attachments"
	"parley/gateway/worker"
)

// bringer brings the files that came with messages to agents that can read them.
func (g *Gateway) bringer(b *broker.Broker) *attachments.Bringer {
	return &attachments.Bringer{
		Config: g.cfg.Attachments, Log: b, Files: g.cfg.Files, Count: g.metrics.Attached, Logger: g.o.Logger, Now: g.o.Now, Around: worker.Around,
		Space: attachments.Space{MaxBytes: max(0, g.cfg.Workspaces.MaxBytes), MaxFiles: max(0, g.cfg.Workspaces.MaxFiles)},
		Reads: func(agent string) bool {
			set := g.agents[agent].Tools
			return set != nil && slices.ContainsFunc([]string{"read_file", "view"}, func(tool string) bool {
				_, ok := set.Lookup(tool)
				return ok
			})
		},
	}
}
