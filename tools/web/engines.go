package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
)

// Kinds of search engines.
const (
	KindSearXNG = "searxng" // an instance whose settings have json under search.formats
	KindBrave   = "brave"   // the Brave Search API, or one that answers alike
)

// engine is how a search engine is asked.
type engine struct {
	url       string // where it answers, if there is one place
	keyHeader string // that carries the key; "": it takes none
	fill      func(v url.Values, query string, n int)
	read      func(body []byte) ([]found, error)
}

var engines = map[string]engine{
	KindSearXNG: {
		fill: func(v url.Values, query string, _ int) {
			v.Set("q", query)
			v.Set("format", "json")
		},
		read: readSearXNG,
	},
	KindBrave: {
		url: "https://api.search.brave.com/res/v1/web/search", keyHeader: "X-Subscription-Token",
		fill: func(v url.Values, query string, n int) {
			v.Set("q", query)
			v.Set("count", strconv.Itoa(n))
			v.Set("text_decorations", "false")
			v.Set("result_filter", "web")
		},
		read: readBrave,
	},
}

// Engines returns the kinds that there are.
func Engines() []string { return []string{KindSearXNG, KindBrave} }

// readSearXNG reads the answer of a SearXNG instance.
func readSearXNG(body []byte) (all []found, err error) {
	var a struct {
		Results *[]struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if a.Results == nil {
		return nil, errNoAnswer
	}
	for _, r := range *a.Results {
		all = append(all, found{r.Title, r.URL, r.Content})
	}
	return all, nil
}

// readBrave reads the answer of the Brave Search API. Where nothing is found there is no web.
func readBrave(body []byte) (all []found, err error) {
	var a struct {
		Type string `json:"type"`
		Web  *struct {
			Results []struct {
				Title       string `json:"title"`
				URL         string `json:"url"`
				Description string `json:"description"`
			} `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if a.Web == nil {
		if a.Type != "search" {
			return nil, errNoAnswer
		}
		return nil, nil
	}
	for _, r := range a.Web.Results {
		all = append(all, found{r.Title, r.URL, r.Description})
	}
	return all, nil
}
