package configs

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/gateway/budgets"
)

var (
	errWhole = errors.New("not a whole number")
	errSize  = errors.New("not a number of bytes such as 20971520, 20MB or 20MiB")
	errLong  = errors.New("longer than any duration")
)

// day is twenty-four hours, whatever a clock on the wall does.
const day = 24 * time.Hour

// parseDuration reads a duration as Go has it, which may begin with whole days: 7d, 1d12h.
func parseDuration(text string) (time.Duration, error) {
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		return time.ParseDuration(text) // the caller says what is wanted
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil {
		return 0, err // as above
	}
	if n > uint64(math.MaxInt64/day) {
		return 0, errLong
	}
	whole := time.Duration(n) * day
	if rest == "" {
		return whole, nil
	}
	more, err := time.ParseDuration(rest)
	if err == nil && (more < 0 || rest[0] == '+' || more > math.MaxInt64-whole) {
		err = errLong
	}
	return whole + more, err // as above
}

// sizes are the keys of values that are bytes, beside those that end in bytes.
var sizes = []string{"max_write", "max_send", "memory", "file_size", "scratch", "tool_output"}

// isSize reports whether the value of path is a number of bytes.
func isSize(path string) bool {
	key := lastKey(path)
	return key == "bytes" || strings.HasSuffix(key, "_bytes") || slices.Contains(sizes, key)
}

// unlimited is the one word for a limit that there is not. Budgets read it too.
const unlimited = budgets.Unlimited

// unlimitedKeys are the keys of numbers and durations that may be unlimited, each with the
// value that means it: the end of a path, or of that of the key above.
var unlimitedKeys = map[string]int64{
	"limits.person_per_minute": -1, "limits.person_burst": -1, "limits.group_per_minute": -1, "limits.queue": -1, "limits.bot_loop": -1,
	"attachments.person_per_day_files": -1, "attachments.person_per_day_bytes": -1,
	"workspaces.max_bytes": -1, "workspaces.max_files": -1, "workspaces.keep": -1,
	"worker.person_turns": -1, "worker.context_prep_timeout": -1,
	"circuit.failures": -1,
	"max_turn_tokens":  0,
}

// unlimitedValue returns what unlimited means at path; false where there must be a limit.
func unlimitedValue(path string) (int64, bool) {
	for key, v := range unlimitedKeys {
		if path == key || strings.HasSuffix(path, "."+key) {
			return v, true
		}
	}
	return 0, false
}

// units are those of sizes, the longest first: of a thousand, and of 1024.
var units = []struct {
	name  string
	bytes int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// parseWhole reads a whole number; one of bytes may have a unit: 20MB, 20 MiB.
func parseWhole(text string, size bool, bits int) (int64, error) {
	digits, by := strings.ReplaceAll(text, "_", ""), int64(1)
	if size {
		for _, u := range units {
			if before, ok := strings.CutSuffix(digits, u.name); ok {
				digits, by = strings.TrimSpace(before), u.bytes
				break
			}
		}
	}
	i, err := strconv.ParseInt(digits, 10, bits)
	most := int64(1)<<(bits-1) - 1
	if err != nil || i > most/by || i < -most/by {
		if size {
			return 0, errSize
		}
		return 0, errWhole
	}
	return i * by, nil
}
