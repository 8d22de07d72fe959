//go:build judges

package llmtest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite anthropic.json")

// roots are the schemas that tests use.
var roots = []string{"CreateMessageParams", "ErrorResponse", "Message", "MessageStreamEvent"}

func TestTheSchemasAreThoseOfThePinnedSDK(t *testing.T) {
	t.Parallel()
	const file = "anthropic.json"
	got := extract(t, description(t))
	if *update {
		if err := os.WriteFile(file, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-embedded +SDK): %s\nWhen that is meant: go test -tags judges ./llm/llmtest -update", diff)
	}
}

// description is the schemas of the OpenAPI document that Anthropic's SDK
// brings along. Nothing imports the SDK without the tag, so the module may have
// to be fetched first.
func description(t *testing.T) map[string]any {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/anthropics/anthropic-sdk-go").Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		t.Fatalf("find Anthropic's SDK: %v\n%s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(module.Dir, "scripts", "mock-spec.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	d := json.NewDecoder(z)
	d.UseNumber()
	if err := d.Decode(&document); err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas
}

// extract is a document of the schemas that the roots reach, one in a line.
func extract(t *testing.T, all map[string]any) []byte {
	t.Helper()
	found := map[string]any{}
	var reach func(name string)
	reach = func(name string) {
		schema, ok := all[name]
		if !ok {
			t.Fatalf("the description has no schema %s", name)
		}
		if _, ok := found[name]; ok {
			return
		}
		found[name] = bare(schema)
		for _, ref := range references(found[name]) {
			reach(ref)
		}
	}
	for _, name := range roots {
		reach(name)
	}
	var b bytes.Buffer
	b.WriteString("{\"$comment\":\"From github.com/anthropics/anthropic-sdk-go, scripts/mock-spec.json.gz. Copyright 2023 Anthropic, PBC. MIT License.\",\n\"components\":{\"schemas\":{\n")
	for i, name := range slices.Sorted(maps.Keys(found)) {
		if i > 0 {
			b.WriteString(",\n")
		}
		text, err := json.Marshal(found[name])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%q:%s", name, text)
	}
	b.WriteString("\n}}}\n")
	return b.Bytes()
}

// bare is a schema without the keywords that describe and check nothing.
func bare(schema any) any {
	switch s := schema.(type) {
	case []any:
		list := make([]any, 0, len(s))
		for _, v := range s {
			list = append(list, bare(v))
		}
		return list
	case map[string]any:
		out := map[string]any{}
		for keyword, v := range s {
			switch {
			case slices.Contains([]string{"title", "description", "default", "examples", "example", "discriminator"}, keyword), strings.HasPrefix(keyword, "x-"):
			case keyword == "const", keyword == "enum":
				out[keyword] = v
			case keyword == "properties", keyword == "patternProperties", keyword == "$defs":
				named := map[string]any{}
				for name, sub := range v.(map[string]any) {
					named[name] = bare(sub)
				}
				out[keyword] = named
			default:
				out[keyword] = bare(v)
			}
		}
		return out
	default:
		return schema
	}
}

// references are the names of the schemas that a bare one refers to.
func references(schema any) (names []string) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			names = append(names, references(v)...)
		}
	case map[string]any:
		for keyword, v := range s {
			if ref, ok := v.(string); ok && keyword == "$ref" {
				names = append(names, strings.TrimPrefix(ref, "#/components/schemas/"))
				continue
			}
			names = append(names, references(v)...)
		}
	}
	return names
}
