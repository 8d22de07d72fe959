// Package consents keeps what the operator has consented to of the tools of MCP servers: how
// each was described when they read it.
//
// Each consent is a record of the store, so it holds in every process and over restarts. See
// docs/decisions/0086.
package consents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/gateway/records"
	"parley/sessions"
	"parley/tools/mcp"
)

// kind is that of the records. The key is the server's name and the tool's: the name of a server
// has no slash.
const kind = "mcp_tool"

// Store is where consents are kept.
type Store = sessions.Records

// Book reads and writes consents. Its methods may be called concurrently, by several processes.
type Book struct {
	Store Store
	Now   func() time.Time
}

func idOf(server, tool string) sessions.RecordID {
	return sessions.RecordID{Kind: kind, Key: server + "/" + tool}
}

// Of returns what was consented to of a server's tools, by their names. Beside an error of kind
// records.ErrUnreadable it returns all others: nobody has consented to what cannot be read.
func (b *Book) Of(ctx context.Context, server string) (map[string]mcp.Definition, error) {
	all := map[string]mcp.Definition{}
	var unreadable []error
	err := b.Store.Records(ctx, kind, server+"/", b.Now(), func(r sessions.Record) bool {
		var d mcp.Definition
		name := strings.TrimPrefix(r.ID.Key, server+"/")
		if err := json.Unmarshal(r.Body, &d); err != nil || d.Name != name || d.Digest == "" {
			unreadable = append(unreadable, fmt.Errorf("read the consent to %s of the MCP server %s: %w", name, server, records.ErrUnreadable))
			return true
		}
		all[name] = d
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("read the consents to tools of the MCP server %s: %w", server, err)
	}
	return all, errors.Join(unreadable...)
}

// Give notes that the operator consents to a tool as it is described. It replaces what they
// consented to before.
func (b *Book) Give(ctx context.Context, server string, d mcp.Definition) error {
	r := sessions.Record{ID: idOf(server, d.Name), Revision: sessions.AnyRevision, Owner: "operator", At: b.Now()}
	if _, err := records.Write(ctx, b.Store, r, d); err != nil {
		return fmt.Errorf("write the consent to %s of the MCP server %s: %w", d.Name, server, err)
	}
	return nil
}

// TakeBack takes a consent back, and reports whether there was one.
func (b *Book) TakeBack(ctx context.Context, server, tool string) (was bool, err error) {
	id := idOf(server, tool)
	if _, err := b.Store.Record(ctx, id, b.Now()); errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read the consent to %s of the MCP server %s: %w", tool, server, err)
	}
	if err := b.Store.DropRecord(ctx, id, sessions.AnyRevision); err != nil {
		return false, fmt.Errorf("take back the consent to %s of the MCP server %s: %w", tool, server, err)
	}
	return true, nil
}
