package redis

import (
	_ "embed"

	goredis "github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/money.lua
	moneyLua string
	//go:embed lua/commit.lua
	commitLua string
	//go:embed lua/rows.lua
	rowsLua string
)

// scripts are all that the server runs; they are called by their SHA.
type scripts struct{ commit, rows *goredis.Script }

func newScripts() scripts {
	return scripts{commit: goredis.NewScript(moneyLua + commitLua), rows: goredis.NewScript(rowsLua)}
}
