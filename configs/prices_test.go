package configs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/configs"
	"parley/costs"
)

const pricesInYAML = `# ours
prices:
  - provider: openai
    model: my-model
    input: 0.50
    output: 1.5
    cache_read: "0.05"
    tiers:
      - {above: 200000, input: 1, output: 3}
    multipliers: {"tier:batch": 1/2}
    server_tools: {web_search: 0.01}
    source: the contract of March
    date: 2026-03-01
`

const pricesInJSON = `{"prices": [{"provider": "openai", "model": "my-model", "input": "0.50", "output": "1.5", "cache_read": "0.05",
  "tiers": [{"above": 200000, "input": "1", "output": "3"}], "multipliers": {"tier:batch": "1/2"}, "server_tools": {"web_search": "0.01"},
  "source": "the contract of March", "date": "2026-03-01"}]}`

func TestAListOfPricesIsTheSameInBothForms(t *testing.T) {
	t.Parallel()
	want, err := configs.Prices("prices.json", []byte(pricesInJSON))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{pricesInYAML, pricesInJSON} {
		got, err := configs.Prices("prices.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := want.Price("openai", "my-model")
		b, _ := got.Price("openai", "my-model")
		if d := cmp.Diff(a, b); d != "" || b == nil {
			t.Errorf("%s", d)
		}
	}
}

func TestEveryMistakeInAListOfPricesIsSaidWithItsLine(t *testing.T) {
	t.Parallel()
	const text = `prices:
  - provider: openai
    model: a
    input: 1e3
    outptu: 2
    source: s
    date: tomorrow

  - {provider: openai, model: b, input: -1, output: 0.1234567, source: s, date: 2026-01-01}
  - {provider: openai, model: c, input: 1, output: 1, source: s, date: 2026-01-01}
  - {provider: openai, model: c, input: 1, output: 1, source: s, date: 2026-01-01}
  - {provider: openai, model: d, input: 1, input: 2, output: 1, source: s, date: 2026-01-01}
other: 1
`
	_, err := configs.Prices("p.yaml", []byte(text))
	if !errors.Is(err, costs.ErrPrices) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`p.yaml: line 2 (openai a): `, `"1e3"`, `output: required`, `"outptu": unknown field`, `"tomorrow" is not a day`,
		`p.yaml: line 9 (openai b): `, `"-1" must be`, `"0.1234567" has more than 6 decimals`,
		`p.yaml: line 11 (openai c): model listed twice`, `p.yaml: line 12 (unnamed): "input" is there twice`, `"other": unknown field`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said in\n%v", want, err)
		}
	}
	for text, want := range map[string]string{
		"":                    "prices: required",
		"prices: [":           "line ",
		"prices: []\n---\n{}": "second document",
		"prices: &a []\n":     "line 1: anchors",
		"prices: !x []\n":     "tags",
		"- a\n":               "not a JSON object",
		"prices:\n\t- a":      "tab",
		"? [a]\n: b\n":        "plain key",
		strings.Repeat("[", 40) + strings.Repeat("]", 40): "nested",
	} {
		if _, err := configs.Prices("p.yaml", []byte(text)); err == nil || !errors.Is(err, costs.ErrPrices) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "p.yaml") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzPrices: whatever is written, nothing panics, an error is of its kind, and
// what is taken has prices that are not negative.
func FuzzPrices(f *testing.F) {
	for _, s := range []string{pricesInYAML, pricesInJSON, "prices: []", "a: *b", "\xff", "prices: [{input: .inf}]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := configs.Prices("p.yaml", []byte(text))
		if err != nil {
			if !errors.Is(err, costs.ErrPrices) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for _, provider := range list.Providers() {
			for _, model := range list.Models(provider) {
				if p, ok := list.Price(provider, model); !ok || p.Input < 0 || p.Output < 0 || p.Source == "" {
					t.Errorf("%q gives %+v", text, p)
				}
			}
		}
	})
}
