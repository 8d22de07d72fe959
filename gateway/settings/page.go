package settings

import (
	"maps"
	"net"
	"net/url"
	"slices"

	"parley/gateway/listeners"
	"parley/problems"
)

// PageConfig is the operator page. It is of the start: a reload changes nothing of it.
type PageConfig struct {
	// Enabled says that there is one.
	Enabled bool `yaml:"enabled"`
	// Listen is host:port. Default 127.0.0.1:9465.
	Listen string `yaml:"listen"`
	// URL is its address in browsers, which a proxy in front may have made another one: scheme and
	// host. Requests for other hosts are refused. Default: http and Listen.
	URL string `yaml:"url"`
	// Operators log in with a password, by their names. Who may use admin.socket can log in without,
	// with a code of parley page.
	Operators map[string]OperatorConfig `yaml:"operators"`
}

// OperatorConfig is somebody who may use the operator page.
type OperatorConfig struct {
	// Password has at least 12 characters.
	Password Secret `yaml:"password"`
}

// DefaultPageListen is where the operator page is when nothing is said.
const DefaultPageListen = "127.0.0.1:9465"

// minPassword is the fewest characters of a password.
const minPassword = 12

func (c PageConfig) filled() PageConfig {
	if c.Listen == "" {
		c.Listen = DefaultPageListen
	}
	return c
}

// Passwords returns those of the operators, by their names.
func (c PageConfig) Passwords() map[string]string {
	all := map[string]string{}
	for name, o := range c.Operators {
		all[name] = o.Password.Reveal()
	}
	return all
}

// validatePage reports what is wrong with the operator page.
func validatePage(c Config, ps *problems.List) {
	p := c.Page
	ps.Check("page.listen", listeners.CheckAddress(p.Listen))
	if p.URL != "" {
		ps.Check("page.url", listeners.CheckURL(p.URL))
	}
	for _, name := range slices.Sorted(maps.Keys(p.Operators)) {
		path := "page.operators." + name
		if !instanceName.MatchString(name) {
			ps.Add(path, "the name of an operator begins with a letter and has at most 32 small letters, digits, - and _")
		}
		if len(p.Operators[name].Password.Reveal()) < minPassword {
			ps.Add(path+".password", "a password has at least %d characters", minPassword)
		}
	}
	if !p.Enabled {
		return
	}
	if !listeners.IsLoopback(p.Listen) && p.URL == "" {
		ps.Add("page.url", "%w beside a page.listen that others than this machine reach: the address that browsers use", problems.ErrRequired)
	}
	switch {
	case len(p.Operators) > 0:
	case p.isExposed():
		ps.Add("page.operators", "%w: others than this machine reach the page, so whoever uses it needs a password; or listen on 127.0.0.1, without a url", problems.ErrRequired)
	case c.Admin.Socket == listeners.Off:
		ps.Add("page.operators", "nobody could log in: admin.socket is off, so parley page gives no code")
	}
	for _, other := range []struct{ key, listen string }{{"ops.listen", c.Ops.Listen}, {"webhooks.listen", c.Webhooks.Listen}} {
		if other.listen != listeners.Off && other.listen != "" && sharesPort(other.listen, p.Listen) {
			ps.Add("page.listen", "%s is where %s, %s, listens already: give one of them another port", p.Listen, other.key, other.listen)
		}
	}
}

// isExposed reports whether others than this machine reach the page, directly or by a proxy.
func (c PageConfig) isExposed() bool {
	if !listeners.IsLoopback(c.Listen) {
		return true
	}
	u, err := url.Parse(c.URL)
	return c.URL != "" && err == nil && !listeners.IsLoopback(net.JoinHostPort(u.Hostname(), "0"))
}

// warn names what the page allows and may not be meant.
func (c PageConfig) warn(ws *problems.List) {
	if !c.Enabled && (c.Listen != DefaultPageListen || c.URL != "" || len(c.Operators) > 0) {
		ws.Add("page", "it is described, and there is none; set page.enabled: true")
	}
	if u, err := url.Parse(c.URL); err == nil && c.Enabled && c.isExposed() && u.Scheme == "http" {
		ws.Add("page.url", "by %s whoever is on the way reads passwords and everything else; put a proxy in front that speaks https, and write its address here", c.URL)
	}
}
