package worker

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"parley/tools"
	"parley/transcript"
)

// untrustedSources returns what the turn has read so far that others wrote, each once: pages and
// servers before files, of which a model reads many. (security 2.1)
func (j *journal) untrustedSources(ctx context.Context) ([]string, error) {
	history, err := j.Messages(ctx)
	if err != nil {
		return nil, err // it says what was read
	}
	opening := openingID(j.t.ID)
	i := slices.IndexFunc(history, func(m transcript.Message) bool { return m.ID == opening })
	if i < 0 {
		return nil, nil
	}
	var all, files []string
	calls := map[string]transcript.ToolCall{}
	add := func(who string, c transcript.ToolCall) {
		to := &all
		if strings.HasPrefix(who, "the f") { // file, files, folder
			to = &files
		}
		if name := strings.TrimSpace(who + " " + subjectOf(who, c)); !slices.Contains(*to, name) {
			*to = append(*to, name)
		}
	}
	for _, m := range history[i:] {
		if m.Role == transcript.User {
			for _, who := range tools.UntrustedAuthors(m.Text()) {
				add(who, transcript.ToolCall{})
			}
		}
		for _, c := range m.Calls() {
			calls[c.ID] = c
		}
		for _, r := range m.Results() {
			for _, who := range tools.UntrustedAuthors(r.Content) {
				add(who, calls[r.ToolCallID])
			}
		}
	}
	return append(all, files...), nil
}

// subjectOf returns which page or file a call has read; "": its author says all.
func subjectOf(who string, c transcript.ToolCall) string {
	var args struct {
		URL  string `json:"url"`
		Path string `json:"path"`
	}
	if strings.HasPrefix(who, "the MCP server ") || json.Unmarshal([]byte(c.Input), &args) != nil {
		return ""
	}
	if u, err := url.Parse(args.URL); err == nil && u.Host != "" {
		return u.Host
	}
	return args.Path
}
