package costs_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "parley/costs"
)

func TestTheEmbeddedPricesAreSound(t *testing.T) {
	t.Parallel()
	c := prices(t)
	if d := cmp.Diff([]string{"anthropic", "demo", "openai"}, c.Providers()); d != "" {
		t.Errorf("providers (-want +got):\n%s", d)
	}
	for _, provider := range c.Providers() {
		for _, name := range c.Models(provider) {
			p, ok := c.Price(provider, name)
			if !ok || p.Provider != provider || p.Model != name || p.Source == "" {
				t.Errorf("%s %s is %+v, %v", provider, name, p, ok)
				continue
			}
			if _, timed := p.ServerTools[AudioSecond]; timed { // and no tokens
				if u, err := p.WorstCaseAudio(60); err != nil || u <= 0 {
					t.Errorf("%s %s: a minute costs %s, %v", provider, name, u, err)
				}
				continue
			}
			if p.CacheRead <= 0 || p.CacheRead > p.Input || p.Input > p.Output || p.Input > p.CacheWrite5m || p.CacheWrite5m > p.CacheWrite1h {
				t.Errorf("%s %s: not 0 < read <= input <= writes and input <= output: %+v", provider, name, p)
			}
			for _, tier := range p.Tiers {
				if tier.Input < p.Input || tier.Output < p.Output || tier.CacheRead < p.CacheRead || tier.CacheWrite5m < p.CacheWrite5m || tier.CacheWrite1h < p.CacheWrite1h {
					t.Errorf("%s %s: above %d tokens something is cheaper", provider, name, tier.Above)
				}
			}
			if date, err := time.Parse(time.DateOnly, p.Date); err != nil || date.After(c.Newest()) {
				t.Errorf("%s %s: date %s, newest %s", provider, name, p.Date, c.Newest())
			}
		}
	}
	for _, want := range [][2]string{
		{"anthropic", "claude-opus-5-5"},
		{"anthropic", "claude-sonnet-5-5"},
		{"anthropic", "claude-haiku-5-5"},
		{"anthropic", "claude-haiku-4-5-20251001"},
		{"openai", "gpt-6.2-sol"},
		{"openai", "gpt-5"},
		{"openai", "gpt-4.1-mini"},
		{"openai", "gpt-4o"},
		{"openai", "o3"},
		{"demo", "demo"},
	} {
		if _, ok := c.Price(want[0], want[1]); !ok {
			t.Errorf("%s %s has no price", want[0], want[1])
		}
	}
	if c.Newest().Format(time.DateOnly) < "2026-11-18" {
		t.Errorf("the newest price is of %s", c.Newest())
	}
}

func TestNamesMatchExactlyOrWithADateBehindThem(t *testing.T) {
	t.Parallel()
	c := prices(t)
	for name, want := range map[string]string{
		"claude-sonnet-4-5":            "claude-sonnet-4-5",
		"claude-sonnet-4-5-20250929":   "claude-sonnet-4-5",
		"claude-opus-4-20250514":       "claude-opus-4",
		"claude-opus-4-1-20250805":     "claude-opus-4-1",
		"claude-sonnet-4-5-2025-09-29": "claude-sonnet-4-5",
		"claude-sonnet-4-5-latest":     "",
		"claude-sonnet-4-5-20251399":   "",
		"claude-sonnet-4-5-2025092":    "",
		"claude-sonnet-4-5-20250929-x": "",
		"claude-sonnet-4-5@20250929":   "",
		"claude-sonnet-4-520250929":    "",
		"Claude-Sonnet-4-5":            "",
		"claude-sonnet":                "",
		"-20250929":                    "",
		"":                             "",
	} {
		p, ok := c.Price("anthropic", name)
		if ok != (want != "") || ok && p.Model != want {
			t.Errorf("%q is priced as %+v, %v; want %q", name, p, ok, want)
		}
	}
	exact, _ := c.Price("openai", "gpt-4o-2024-05-13")
	if loose, _ := c.Price("openai", "gpt-4o-2024-08-06"); exact.Input == loose.Input || loose.Model != "gpt-4o" {
		t.Errorf("a listed date must win over the undated row: %+v, %+v", exact, loose)
	}
	if _, ok := c.Price("anthropic", "gpt-4o"); ok {
		t.Error("a model is priced under another provider")
	}
	var zero Catalogue
	if _, ok := zero.Price("openai", "gpt-4o"); ok || zero.Models("openai") != nil || !zero.Newest().IsZero() {
		t.Error("the zero catalogue knows a price")
	}
}

const list = `{"prices": [
	{"provider": "openai", "model": "gpt-4o", "input": "3", "output": "12.000001", "source": "contract", "date": "2026-11-20"},
	{"provider": "anthropic", "model": "claude-own", "input": "0.000003", "output": "0",
	 "tiers": [{"above": 10, "input": "1", "output": "2"}, {"above": 20, "input": "3", "output": "4", "cache_read": "0"}],
	 "multipliers": {"geo:us": "11/10"}, "server_tools": {"web_search": "0.000000000001"}, "source": "contract", "date": "2026-11-21"}
]}`

func TestAPriceListIsReadExactly(t *testing.T) {
	t.Parallel()
	c, err := Load(strings.NewReader(list), "own.json")
	if err != nil {
		t.Fatal(err)
	}
	gpt, _ := c.Price("openai", "gpt-4o")
	if d := cmp.Diff(&Price{
		Provider: "openai", Model: "gpt-4o", Input: 3_000_000, Output: 12_000_001,
		CacheRead: 3_000_000, CacheWrite5m: 3_000_000, CacheWrite1h: 3_000_000, Source: "contract", Date: "2026-11-20",
	}, gpt); d != "" {
		t.Errorf("unlisted cache prices are the input (-want +got):\n%s", d)
	}
	own, _ := c.Price("anthropic", "claude-own")
	if d := cmp.Diff(&Price{
		Provider: "anthropic", Model: "claude-own", Input: 3, CacheRead: 1, CacheWrite5m: 4, CacheWrite1h: 6,
		Tiers: []ContextTier{
			{Above: 10, Input: 1_000_000, Output: 2_000_000, CacheRead: 100_000, CacheWrite5m: 1_250_000, CacheWrite1h: 2_000_000},
			{Above: 20, Input: 3_000_000, Output: 4_000_000, CacheRead: 0, CacheWrite5m: 3_750_000, CacheWrite1h: 6_000_000},
		},
		Multipliers: map[string]Fraction{"geo:us": {Num: 11, Den: 10}},
		ServerTools: map[string]Amount{"web_search": 1},
		Source:      "contract", Date: "2026-11-21",
	}, own); d != "" {
		t.Errorf("unlisted cache prices of anthropic are shares of the input, rounded up (-want +got):\n%s", d)
	}
}

func TestOverridesTakeThePlaceOfRows(t *testing.T) {
	t.Parallel()
	base := prices(t)
	own, err := Load(strings.NewReader(list), "own.json")
	if err != nil {
		t.Fatal(err)
	}
	both := base.With(own)
	if p, _ := both.Price("openai", "gpt-4o"); p.Source != "contract" {
		t.Errorf("gpt-4o is still %+v", p)
	}
	if _, ok := both.Price("anthropic", "claude-own"); !ok {
		t.Error("the new model is missing")
	}
	if p, _ := both.Price("openai", "o3"); p == nil {
		t.Error("a row that nobody touched is gone")
	}
	if got := both.Newest().Format(time.DateOnly); got != "2026-11-21" {
		t.Errorf("newest is %s", got)
	}
	if p, _ := base.Price("openai", "gpt-4o"); p.Source == "contract" {
		t.Error("With changed the catalogue that it was called on")
	}
	if slices.Contains(base.Models("anthropic"), "claude-own") || len(own.Models("openai")) != 1 {
		t.Error("With changed one of its two")
	}
	if d := cmp.Diff(base.Models("openai"), base.With(nil).Models("openai")); d != "" {
		t.Errorf("With(nil) (-want +got):\n%s", d)
	}
	var zero Catalogue
	if p, ok := zero.With(own).Price("openai", "gpt-4o"); !ok || p.Source != "contract" {
		t.Error("the zero catalogue takes no overrides")
	}
}

func TestABadPriceListNamesTheRow(t *testing.T) {
	t.Parallel()
	row := func(change string) string {
		return `{"provider": "p", "model": "m", "input": "1", "output": "2", "source": "s", "date": "2026-01-01"` + change + `}`
	}
	for _, tc := range []struct{ name, rows, says string }{
		{"unknown field", row(`, "cache": "1"`), `row 1 (p m): "cache": unknown field`},
		{"field in capitals", row(`, "Cache_Read": "0.1"`), `row 1 (p m): "Cache_Read": unknown field`},
		{"field twice", row(`, "input": "0"`), `row 1 (unnamed): "input" is there twice`},
		{"negative", row(`, "cache_read": "-1"`), `row 1 (p m): cache_read: "-1" must be`},
		{"seven decimals", row(`, "cache_read": "0.1234567"`), `cache_read: "0.1234567" has more than 6 decimals`},
		{"seven decimals, even zeros", row(`, "cache_read": "0.1000000"`), `more than 6 decimals`},
		{"number", row(`, "cache_read": 0.1`), `cache_read: must be a decimal in quotes`},
		{"exponent", row(`, "cache_read": "1e1"`), `cache_read: not an amount of dollars`},
		{"empty price", row(`, "cache_write_1h": ""`), `cache_write_1h: not an amount`},
		{"second of two rows", row("") + "," + row(`, "x": 1`), `row 2 (p m): "x": unknown field`},
		{"duplicate", row("") + "," + row(""), `row 2 (p m): model listed twice`},
		{"no source", strings.Replace(row(""), `"source": "s", `, "", 1), `row 1 (p m): source: required`},
		{"empty source", strings.Replace(row(""), `"s"`, `""`, 1), `row 1 (p m): source: must be a text`},
		{"no date", strings.Replace(row(""), `, "date": "2026-01-01"`, "", 1), `row 1 (p m): date: required`},
		{"no day", strings.Replace(row(""), "2026-01-01", "2026-02-30", 1), `row 1 (p m): date: "2026-02-30" is not a day`},
		{"no input", strings.Replace(row(""), `"input": "1", `, "", 1), `row 1 (p m): input: required`},
		{"no output", strings.Replace(row(""), `"output": "2", `, "", 1), `row 1 (p m): output: required`},
		{"null is not there", strings.Replace(row(""), `"1"`, `null`, 1), `row 1 (p m): input: required`},
		{"no model", strings.Replace(row(""), `"model": "m", `, "", 1), `row 1 (p ?): model: required`},
		{"tier without a size", row(`, "tiers": [{"input": "1", "output": "1"}]`), `tiers[0]: above: must be a count`},
		{"tiers out of order", row(`, "tiers": [{"above": 2, "input": "1", "output": "1"}, {"above": 2, "input": "1", "output": "1"}]`), `tiers[1]: above`},
		{"unknown field in a tier", row(`, "tiers": [{"above": 2, "input": "1", "output": "1", "x": 1}]`), `tiers[0]: "x": unknown field`},
		{"tier without an output", row(`, "tiers": [{"above": 2, "input": "1"}]`), `tiers[0]: output: required`},
		{"multiplier without a dimension", row(`, "multipliers": {"batch": "1/2"}`), `multipliers "batch": must name a tier:`},
		{"multiplier of the standard", row(`, "multipliers": {"tier:standard": "2/1"}`), `multipliers "tier:standard"`},
		{"multiplier by nothing", row(`, "multipliers": {"tier:batch": "1/0"}`), `multipliers "tier:batch": must be a fraction`},
		{"multiplier as a decimal", row(`, "multipliers": {"tier:batch": "0.5"}`), `multipliers "tier:batch": must be a fraction`},
		{"tool with a negative price", row(`, "server_tools": {"search": "-0.01"}`), `server_tools "search"`},
		{"row that is a word", `"gpt"`, `row 1 (unnamed): not a JSON object`},
		{"more than all money", row(`, "cache_read": "99999999999"`), `cache_read: "99999999999": amount of money out of range`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := Load(strings.NewReader(`{"prices": [`+tc.rows+`]}`), "own.json")
			if !errors.Is(err, ErrPrices) || c != nil {
				t.Fatalf("it is read as %v, %v", c, err)
			}
			if !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "own.json: ") {
				t.Errorf("the error is\n%v\nwant it to say\n%s", err, tc.says)
			}
		})
	}
	for _, s := range []string{``, `[]`, `{}`, `{"prices": {}}`, `{"prices": null}`, `{"prices": [], "x": 1}`, `{"prices": []} {}`, `{"prices": [`, `{"Prices": []}`} {
		if c, err := Load(strings.NewReader(s), "own.json"); !errors.Is(err, ErrPrices) || c != nil {
			t.Errorf("%s is read as %v, %v", s, c, err)
		}
	}
	if c, err := Load(strings.NewReader(`{"prices": []}`), "own.json"); err != nil || len(c.Providers()) != 0 {
		t.Errorf("an empty list: %v, %v", c, err)
	}
	_, err := Load(strings.NewReader(`{"prices": [`+row(`, "a": 1, "input": "x"`)+`,`+row(`, "b": 1, "cache_read": "-1"`)+`]}`), "own.json")
	for _, want := range []string{`"input" is there twice`, `"b": unknown field`, `cache_read`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("all mistakes are told at once; %q is missing in\n%v", want, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(list)
	f.Add(`{"prices": []}`)
	f.Add(`{"prices": [{"provider":"a","model":"b","input":"1","output":"1","source":"s","date":"2026-01-01","tiers":[null]}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Load(strings.NewReader(s), "f")
		if err != nil {
			return
		}
		for _, provider := range c.Providers() {
			for _, m := range c.Models(provider) {
				p, ok := c.Price(provider, m)
				if !ok || p.Source == "" || p.Date == "" || min(p.Input, p.Output, p.CacheRead, p.CacheWrite5m, p.CacheWrite1h) < 0 {
					t.Fatalf("%q gives %+v, %v", s, p, ok)
				}
			}
		}
	})
}
