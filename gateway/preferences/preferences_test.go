package preferences_test

import (
	"slices"
	"testing"
	"time"

	"parley/gateway/preferences"
	"parley/sessionkeys"
	"parley/sessions/memtest"
)

var menu = preferences.Menu{
	Own:    "anthropic/claude-haiku-5-5",
	Models: []string{"anthropic/claude-haiku-5-5", "anthropic/claude-opus-5", "router/openai/gpt-5.6", "router/claude-opus-5", "local/gpt-5.6"},
}

// requirements AI06: what people type names one model, or none, or several.
func TestMenuFindsWhatAPersonMeans(t *testing.T) {
	t.Parallel()
	for words, want := range map[string][]string{
		"1":                     menu.Models[:1],
		"#5":                    menu.Models[4:],
		"0":                     nil,
		"6":                     nil, // although there is a 5.6
		"haiku":                 menu.Models[:1],
		"HAIKU":                 menu.Models[:1],
		"anthropic/":            menu.Models[:2],
		"anthropic/claude-opus": menu.Models[1:2],
		"claude-opus-5":         {menu.Models[1], menu.Models[3]},
		"router/claude-opus-5":  menu.Models[3:4],
		"openai/gpt-5.6":        menu.Models[2:3],
		"gpt-5.6":               menu.Models[4:], // the whole name of one, a part of another
		"gpt-7":                 nil,
	} {
		if got := menu.Find(words); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
	for words, want := range map[string][]string{
		"anthropic": menu.Models[:1], "Router": menu.Models[2:3], "loc": menu.Models[4:], "openai": nil,
		"o": {menu.Models[0], menu.Models[2], menu.Models[4]},
	} {
		if got := menu.FindProvider(words); !slices.Equal(got, want) {
			t.Errorf("provider %q: %q, want %q", words, got, want)
		}
	}
}

// requirements AB03, AB04: what was chosen counts while it may be chosen, and where a choice
// does not outlive its session, only there.
func TestMenuAppliesOnlyWhatMayBeChosen(t *testing.T) {
	t.Parallel()
	opus := preferences.Choice{Model: "anthropic/claude-opus-5", Session: "s1"}
	perSession := menu
	perSession.PerSession = true
	for _, c := range []struct {
		menu    preferences.Menu
		choice  preferences.Choice
		session sessionkeys.SessionID
		want    string
		state   preferences.State
	}{
		{menu, preferences.Choice{}, "s1", menu.Own, preferences.Unchosen},
		{menu, opus, "s1", opus.Model, preferences.Chosen},
		{menu, opus, "s2", opus.Model, preferences.Chosen},
		{perSession, opus, "s1", opus.Model, preferences.Chosen},
		{perSession, opus, "s2", menu.Own, preferences.Unchosen},
		{menu, preferences.Choice{Model: "anthropic/claude-fable-5"}, "s1", menu.Own, preferences.Disallowed},
		{preferences.Menu{Own: menu.Own}, opus, "s1", menu.Own, preferences.Disallowed},
	} {
		if got, state := c.menu.Apply(c.choice, c.session); got != c.want || state != c.state {
			t.Errorf("%+v in session %s: %s %v", c.choice, c.session, got, state)
		}
	}
	if !menu.Offers() || (preferences.Menu{Own: "a/b", Models: []string{"a/b"}}).Offers() {
		t.Error("what there is to choose")
	}
}

func TestChoiceIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s, now := memtest.New(memtest.Every), time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	if c, err := preferences.Read(t.Context(), s, "a", now); err != nil || c != (preferences.Choice{}) {
		t.Errorf("of nothing: %+v, %v", c, err)
	}
	want := preferences.Choice{Model: "p/m", Session: "s"}
	r, err := want.Record("a", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.WriteRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if c, err := preferences.Read(t.Context(), s, "a", now); err != nil || c != want {
		t.Errorf("%+v, %v", c, err)
	}
	r.Body, r.At = []byte("{"), now.Add(1)
	if _, err := s.WriteRecord(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if c, err := preferences.Read(t.Context(), s, "a", now); err == nil || c != (preferences.Choice{}) {
		t.Errorf("of a broken record: %+v, %v", c, err)
	}
}
