package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
)

// Bounds of what a server says of a tool.
const (
	maxDescription = 1024     // characters; what providers take
	maxSchema      = 24 << 10 // bytes
	maxSchemaDepth = 24
	maxListed      = 1000     // tools of one server that are looked at
	maxSaid        = 16 << 20 // bytes of all pages of them
	minPage        = 16 << 10 // bytes for which a page counts at least
	maxTold        = 3000     // characters of an error
)

// Definition is a tool as its server describes it, made fit to be read: what no reader sees is
// taken out of it, and it is bounded.
type Definition struct {
	Name        string          `json:"name"` // as the server calls it
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Hints       json.RawMessage `json:"hints,omitempty"` // what the server claims that calls do
	// Digest is that of all that the server says of the tool, before anything was taken out: its
	// title, its description, its schemas, its hints.
	Digest string `json:"digest"`
}

// errSchema begins what is wrong with a schema.
var errSchema = errors.New("its schema cannot be used")

// readDefinition returns what a server says of a tool. With an error the definition has a
// digest, and can be looked at, but not be offered.
func readDefinition(t *sdk.Tool) (Definition, error) {
	said, err := json.Marshal([]any{t.Name, t.Title, t.Description, t.InputSchema, t.OutputSchema, t.Annotations})
	if err != nil {
		return Definition{Name: t.Name}, fmt.Errorf("read the tool: %w", err)
	}
	sum := sha256.Sum256(said)
	d := Definition{Name: t.Name, Digest: hex.EncodeToString(sum[:])}
	text := t.Description
	if text == "" {
		text = t.Title
	}
	d.Description = shorten(tools.Visible(text), maxDescription)
	if t.Annotations != nil {
		hints := *t.Annotations
		hints.Title = shorten(tools.Visible(hints.Title), maxDescription)
		if d.Hints, err = json.Marshal(hints); err != nil {
			return d, fmt.Errorf("read the hints: %w", err)
		}
	}
	d.Schema, err = readSchema(t.InputSchema)
	return d, err
}

// readSchema returns the schema of a tool's arguments, if calls can be held to it.
func readSchema(given any) (json.RawMessage, error) {
	object, ok := given.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%w: it is not a JSON object", errSchema)
	}
	cleaned, err := cleanSchema(object, "", 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSchema, err)
	}
	root, _ := cleaned.(map[string]any)
	if _, ok := root["properties"]; !ok { // a provider wants the key also when there are none
		root["properties"] = map[string]any{}
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSchema, err)
	}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("%w: it has %d bytes, and %d at most are shown to a model", errSchema, len(text), maxSchema)
	}
	if _, err := tools.ParseSchema(text); err != nil {
		return nil, fmt.Errorf("%w: %w", errSchema, err)
	}
	return text, nil
}

// proseOf are the keys of a schema whose texts mean nothing to a validator.
var proseOf = map[string]bool{"description": true, "title": true, "$comment": true}

var (
	errDeep   = fmt.Errorf("it is nested deeper than %d levels", maxSchemaDepth)
	errHidden = errors.New("it holds characters that nobody sees")
)

// cleanSchema returns a schema without what no reader sees. What a validator would read is not
// changed: where something is hidden in it, the schema is refused.
func cleanSchema(v any, key string, depth int) (any, error) {
	if depth > maxSchemaDepth {
		return nil, errDeep
	}
	switch v := v.(type) {
	case string:
		seen := tools.Visible(v)
		switch {
		case proseOf[key]:
			return shorten(seen, maxDescription), nil
		case seen != v:
			return nil, errHidden
		}
		return v, nil
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			var err error
			if all[i], err = cleanSchema(e, "", depth+1); err != nil {
				return nil, err
			}
		}
		return all, nil
	case map[string]any:
		all := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if tools.Visible(name) != name {
				return nil, errHidden
			}
			e, err := cleanSchema(v[name], name, depth+1)
			if err != nil {
				return nil, err
			}
			all[name] = e
		}
		return all, nil
	default:
		return v, nil
	}
}

// shorten cuts a text to a number of characters.
func shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
