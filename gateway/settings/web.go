package settings

import (
	"cmp"

	"parley/problems"
	"parley/tools/web"
)

// WebConfig is what agents may look up on the internet.
type WebConfig struct {
	Fetch  web.FetchConfig `yaml:"fetch"`
	Search WebSearchConfig `yaml:"search"`
}

// WebSearchConfig is the search engine that the tool web_search asks.
type WebSearchConfig struct {
	// Kind is searxng or brave. Default: agents have no such tool.
	Kind string `yaml:"kind"`
	// URL is asked, and may be private. Default: the service's own, if it has one.
	URL string `yaml:"url"`
	// Key is that of a service which wants one.
	Key Secret `yaml:"key"`
	// Results is how many are shown. Default 8.
	Results int `yaml:"results"`
	// Price is what one search costs, in dollars. Default: nothing.
	Price string `yaml:"price"`
}

// Enabled reports whether there is a search engine to ask.
func (c WebSearchConfig) Enabled() bool { return c.Kind != "" || c.URL != "" || !c.Key.IsZero() }

// Options returns what the tool is made of.
func (c WebSearchConfig) Options() web.SearchOptions {
	return web.SearchOptions{Kind: c.Kind, URL: c.URL, Key: c.Key.Reveal(), Results: c.Results}
}

func (c WebConfig) filled() WebConfig {
	c.Search.Results = cmp.Or(c.Search.Results, web.DefaultResults)
	return c
}

// validate reports the mistakes in what agents may look up.
func (c WebConfig) validate(ps *problems.List) {
	ps.Check("web.fetch", c.Fetch.Validate())
	o := c.Search.Options()
	if !c.Search.Enabled() { // a number that cannot be meant is a mistake all the same
		o.Kind, o.URL = web.KindSearXNG, "http://localhost/"
	}
	ps.Check("web.search", o.Validate())
	checkPrice(ps, "web.search.price", c.Search.Price)
	if c.Search.Price != "" && !c.Search.Enabled() {
		ps.Add("web.search.price", "there is no search engine that it could be the price of: give web.search.kind")
	}
}
