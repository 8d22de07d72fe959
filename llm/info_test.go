package llm_test

import (
	"maps"
	"strings"
	"testing"

	"parley/llm"
)

func TestAModelIsFoundByNameThenPrefixThenSubstring(t *testing.T) { // TX06
	t.Parallel()
	models := llm.Models{
		"alpha":     {Window: 1},
		"alpha-2":   {Window: 2},
		"beta":      {Window: 3},
		"beta-plus": {Window: 4},
		"pha":       {Window: 5},
		"Gamma":     {Window: 6},
		"":          {Window: 7},
	}
	for model, window := range map[string]int{
		"alpha":              1,
		"alpha-2":            2,
		"alpha-2-20260101":   2, // the longest prefix
		"alpha-3":            1,
		"vendor/alpha-2":     2, // the longest substring
		"vendor/beta-plus:x": 4,
		"xx-pha":             5,
		"alphabeta-plus":     1, // a prefix before a longer substring
		"ALPHA-2":            2,
		"gamma-1":            6,
		"unknown":            8192,
		"":                   8192,
	} {
		if got := models.Info(model).Window; model != "" && got != window {
			t.Errorf("%q: %d, not %d", model, got, window)
		}
	}
	if got := (llm.Models{}).Info(""); got.Window != llm.DefaultWindow || got.MaxOutput == 0 || !got.Sampling {
		t.Errorf("no name: %+v", got)
	}
}

func TestTheCatalogueKnowsTheModelsOfToday(t *testing.T) {
	t.Parallel()
	for model, want := range map[string][2]int{
		"claude-opus-5-5":                     {1_000_000, 128_000},
		"us.anthropic.claude-sonnet-5-5-v1:0": {1_000_000, 128_000},
		"claude-haiku-4-5-20251001":           {200_000, 64_000},
		"anthropic/claude-haiku-5-5":          {1_000_000, 128_000},
		"gpt-5.6-sol-2026-07-09":              {1_050_000, 128_000},
		"openai/gpt-5.4-mini":                 {400_000, 128_000},
		"a-model-that-nobody-knows":           {8192, 4096},
		"gpt-6.1-sol":                         {1_050_000, 128_000},
	} {
		if got := llm.Lookup(model); got.Window != want[0] || got.MaxOutput != want[1] {
			t.Errorf("%s: %+v", model, got)
		}
	}
}

func TestEveryRowOfTheCatalogueIsComplete(t *testing.T) {
	t.Parallel()
	for name, info := range llm.KnownModels() {
		if name != strings.ToLower(name) || info.Window <= info.MaxOutput || info.MaxOutput < 1024 || info.Source == "" {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

func TestTheCatalogueCannotBeChangedFromOutside(t *testing.T) {
	t.Parallel()
	mine := llm.KnownModels()
	clear(mine)
	if len(llm.KnownModels()) == 0 {
		t.Fatal("cleared")
	}
	maps.Copy(mine, llm.Models{"gpt-4": {Window: 1}})
	if llm.Lookup("gpt-4").Window == 1 {
		t.Error("changed")
	}
}
