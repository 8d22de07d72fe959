package gateway

import (
	"net/http"

	"parley/gateway/recording"
	"parley/gateway/settings"
	"parley/tools"
	"parley/tools/web"
)

// webTools makes the tools web_fetch and web_search, those of both that the operator turned on.
func webTools(c settings.WebConfig, version string) (all []tools.Tool, err error) {
	if c.Fetch.Enabled {
		t, err := web.NewFetch(web.FetchOptions{FetchConfig: c.Fetch, Version: version})
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if c.Search.Enabled() {
		o := c.Search.Options()
		// As requests to models: the address is the operator's, and a proxy may lead there.
		o.Version, o.Client = version, &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
		t, err := web.NewSearch(o)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

// warnProxies says that web_fetch does not go the way that the environment names.
func (e *edition) warnProxies() {
	if !e.cfg.Web.Fetch.Enabled {
		return
	}
	for _, v := range environmentProxies() {
		e.log.Warn("web_fetch connects directly and never through a proxy", "variable", v.name)
	}
}

// recordedWeb returns the web tools as a recording has them; nil: no agent had any.
func recordedWeb(c settings.WebConfig) *recording.Web {
	w := recording.Web{Search: c.Search.Enabled()}
	if c.Fetch.Enabled {
		w.Fetch = tools.Read
		if c.Fetch.Anywhere() {
			w.Fetch = tools.Write
		}
	}
	if w == (recording.Web{}) {
		return nil
	}
	return &w
}

// webAgain returns a configuration by which the web tools are what they were for a recording.
// A replay runs none of them.
func webAgain(w *recording.Web) (c settings.WebConfig) {
	const nowhere = "replay.invalid"
	if w == nil {
		return c
	}
	switch w.Fetch {
	case tools.Read:
		c.Fetch = web.FetchConfig{Enabled: true, AllowHosts: []string{nowhere}}
	case tools.Write:
		c.Fetch = web.FetchConfig{Enabled: true, AllowHosts: []string{"*"}}
	}
	if w.Search {
		c.Search = settings.WebSearchConfig{Kind: web.KindSearXNG, URL: "http://" + nowhere}
	}
	return c
}
