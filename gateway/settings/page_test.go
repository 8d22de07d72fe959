package settings_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/gateway/settings"
	"parley/problems"
)

// Beyond this machine the page needs passwords and an address; nowhere is it open to everybody.
func TestThePageNeedsPasswordsBeyondLoopback(t *testing.T) {
	t.Parallel()
	ann := map[string]settings.OperatorConfig{"ann": {Password: settings.NewSecret("correct horse")}}
	for name, c := range map[string]struct {
		page   settings.PageConfig
		socket string
		want   string // the paths of its mistakes
	}{
		"not enabled":           {settings.PageConfig{}, "", ""},
		"on loopback":           {settings.PageConfig{Enabled: true}, "", ""},
		"on loopback, by name":  {settings.PageConfig{Enabled: true, Listen: "localhost:1", URL: "http://[::1]:1/"}, "", ""},
		"nobody could log in":   {settings.PageConfig{Enabled: true}, "off", "page.operators"},
		"beyond":                {settings.PageConfig{Enabled: true, Listen: "0.0.0.0:1"}, "", "page.url page.operators"},
		"on every interface":    {settings.PageConfig{Enabled: true, Listen: ":1", URL: "https://p.example.org"}, "", "page.operators"},
		"behind a proxy":        {settings.PageConfig{Enabled: true, URL: "https://p.example.org"}, "", "page.operators"},
		"beyond, with one":      {settings.PageConfig{Enabled: true, Listen: ":1", URL: "https://p.example.org", Operators: ann}, "", ""},
		"no password":           {settings.PageConfig{Operators: map[string]settings.OperatorConfig{"ann": {}}}, "", "page.operators.ann.password"},
		"a short one":           {settings.PageConfig{Operators: map[string]settings.OperatorConfig{"ann": {Password: settings.NewSecret("12345678901")}}}, "", "page.operators.ann.password"},
		"an odd name":           {settings.PageConfig{Operators: map[string]settings.OperatorConfig{"Ann O": ann["ann"]}}, "", "page.operators.Ann O"},
		"an address with a way": {settings.PageConfig{URL: "https://p.example.org/x"}, "", "page.url"},
		"no address":            {settings.PageConfig{URL: "p.example.org"}, "", "page.url"},
		"no place to listen":    {settings.PageConfig{Listen: "here"}, "", "page.listen"},
		"the metrics' port":     {settings.PageConfig{Enabled: true, Listen: "127.0.0.1:9464"}, "", "page.listen"},
	} {
		cfg := settings.Config{Page: c.page}
		cfg.Admin.Socket = c.socket
		found, _ := errors.AsType[problems.List](cfg.Defaults().Validate())
		var paths []string
		for _, p := range found {
			if strings.HasPrefix(p.Path, "page") {
				paths = append(paths, p.Path)
			}
		}
		if got := strings.Join(paths, " "); got != c.want {
			t.Errorf("%s: mistakes at %q, want %q", name, got, c.want)
		}
	}
	warnedAt := func(path string, page settings.PageConfig) bool {
		return slices.ContainsFunc(settings.Config{Page: page}.Defaults().Warnings(), func(p problems.Problem) bool { return p.Path == path })
	}
	warned := func(page settings.PageConfig) bool { return warnedAt("page.url", page) }
	for _, off := range []settings.PageConfig{{Listen: "127.0.0.1:9000"}, {URL: "https://p.example.org"}, {Operators: ann}} {
		if !warnedAt("page", off) {
			t.Errorf("%+v, and there is no page: no warning", off)
		}
	}
	if warnedAt("page", settings.PageConfig{}) || warnedAt("page", settings.PageConfig{Enabled: true, Operators: ann}) {
		t.Error("a warning of a page that is not meant, or is there")
	}
	if !warned(settings.PageConfig{Enabled: true, Listen: ":1", URL: "http://p.example.org", Operators: ann}) {
		t.Error("passwords that everybody on the way reads are no warning")
	}
	if warned(settings.PageConfig{Enabled: true, Listen: ":1", URL: "https://p.example.org", Operators: ann}) || warned(settings.PageConfig{Enabled: true, URL: "http://localhost:9465"}) {
		t.Error("a warning for nothing")
	}
}
