package redis

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	goredis "github.com/redis/go-redis/v9"
)

//go:embed lua
var lua embed.FS

// always are the libraries that every script has, in their order.
func always() []string { return []string{"box"} }

// library is the libraries that may be named, each behind those that it needs.
func library() []string {
	return []string{"turn", "outbox", "money"}
}

const commitFile = "lua/commit.lua"

// scripts are all of them, by name.
type scripts map[string]*goredis.Script

// loadScripts composes them, once in a process.
var loadScripts = sync.OnceValues(func() (scripts, error) {
	all := scripts{}
	files, err := fs.Glob(lua, "lua/*.lua")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := strings.TrimSuffix(path.Base(f), ".lua")
		if name == "prelude" || name == "epilogue" {
			continue
		}
		text, err := compose(f)
		if err != nil {
			return nil, fmt.Errorf("script %s: %w", name, err)
		}
		all[name] = goredis.NewScript(text)
	}
	return all, nil
})

// compose is the whole text of a script.
func compose(file string) (string, error) {
	body, err := lua.ReadFile(file)
	if err != nil {
		return "", err
	}
	uses := always()
	first, _, _ := strings.Cut(string(body), "\n")
	if names, ok := strings.CutPrefix(first, "-- uses: "); ok {
		named := strings.Fields(names)
		for _, l := range library() {
			if i := slices.Index(named, l); i >= 0 {
				uses, named = append(uses, l), slices.Delete(named, i, i+1)
			}
		}
		if len(named) > 0 {
			return "", fmt.Errorf("there is no library %s", strings.Join(named, ", "))
		}
	}
	var b strings.Builder
	add := func(name string) error {
		text, err := lua.ReadFile(name)
		b.Write(text)
		return err
	}
	if file == commitFile { // it is called in a way of its own
		err := add("lua/lib/money.lua")
		b.Write(body)
		return b.String(), err
	}
	if err := add("lua/prelude.lua"); err != nil {
		return "", err
	}
	for _, l := range uses {
		if err := add("lua/lib/" + l + ".lua"); err != nil {
			return "", err
		}
	}
	b.WriteString("local function main()\n")
	b.Write(body)
	b.WriteString("\nend\n")
	err = add("lua/epilogue.lua")
	return b.String(), err
}
