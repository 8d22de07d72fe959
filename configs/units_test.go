package configs

import (
	"strings"
	"testing"
	"time"

	"parley/gateway/settings"
)

func TestDurationsMayHaveDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"1d": day, "7d": 7 * day, "1d12h": 36 * time.Hour, "0d": 0, "90s": 90 * time.Second, "-5m": -5 * time.Minute, "1h30m": 90 * time.Minute,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1.5d", "1d-2h", "1d+2h", "12h1d", "1day", "999999999d", "106751d9999h", "3"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func TestSizesMayHaveUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"20971520": 20 << 20, "20MB": 20e6, "20 MiB": 20 << 20, "1_000kB": 1e6, "1KB": 1000, "1KiB": 1024, "2GiB": 2 << 30, "3 B": 3, "-1": -1,
	} {
		if got, err := parseWhole(text, true, 64); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MB", "1.5GB", "20M", "20mb", "9999999999GB", "1MBMB"} {
		if got, err := parseWhole(text, true, 64); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	if _, err := parseWhole("3GB", true, 32); err == nil {
		t.Error("a number that does not fit is taken")
	}
	if _, err := parseWhole("20MB", false, 64); err == nil {
		t.Error("what is no size has a unit")
	}
}

// The keys of sizes are keys of the example, so that none is misspelt here.
func TestTheKeysOfSizesAreThere(t *testing.T) {
	t.Parallel()
	for _, key := range sizes {
		if !strings.Contains(Example, " "+key+":") {
			t.Errorf("there is no key %s", key)
		}
	}
	c, err := Parse("x", []byte("state_dir: /s\nchannels: {telegram: {main: {token: '4200000001:AAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}}}\nproviders: {openai: {api_key: k}}\nagents: {main: {model: openai/m}}\n"+
		"attachments: {max_bytes: 5MB, timeout: 30s}\nworkspaces: {keep: 2d}\nbroker: {max_bytes: 2GiB}\n"), nil)
	if err != nil || c.Attachments.MaxBytes != 5e6 || c.Workspaces.Keep != 2*day || c.Broker.MaxBytes != 2<<30 {
		t.Errorf("%+v %+v %+v: %v", c.Attachments, c.Workspaces, c.Broker, err)
	}
}

// Whoever leaves an id of the example in place is warned of it.
func TestTheIdsOfTheExampleArePlaceholders(t *testing.T) {
	t.Parallel()
	n := 0
	for line := range strings.Lines(Example) {
		key, ids, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "#e.g.")), " "), ": [")
		if !ok || key != "people" && key != "groups" && key != "approvers" {
			continue
		}
		ids, _, _ = strings.Cut(ids, "]")
		for id := range strings.SplitSeq(ids, ",") {
			if id = strings.Trim(strings.TrimSpace(id), `"`); id != "" {
				n++
				if !settings.IsPlaceholder(id) {
					t.Errorf("%s stands in the example and is not known as a placeholder", id)
				}
			}
		}
	}
	if n < 6 {
		t.Errorf("only %d ids were found", n)
	}
}
