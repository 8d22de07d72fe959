package gateway

import (
	"net/url"
	"os"
	"strings"

	"parley/gateway/settings"
	"parley/tools/commandline"
	"parley/tools/mcp"
)

// secretsOf returns all that the configuration holds or names: tokens and keys, passwords
// in URLs, those of the environment's proxies too, and what stands in files of passwords as they are now. A file that cannot
// be read is said by who needs it.
func secretsOf(c settings.Config) (all []string) {
	add := func(s settings.Secret) { all = append(all, s.Reveal()) }
	for _, a := range c.Accounts() {
		for _, s := range a.Secrets {
			add(s)
		}
		all = append(all, userinfo(a.Proxy.Reveal())...)
	}
	for _, v := range environmentProxies() {
		all = append(all, userinfo(v.address)...)
	}
	for _, p := range c.Providers {
		add(p.APIKey)
		all = append(all, userinfo(p.BaseURL)...)
	}
	add(c.Web.Search.Key)
	all = append(all, commandline.Secrets(c.Tools.Commands)...)
	all = append(all, mcp.Secrets(c.MCP.Servers)...)
	all = append(all, userinfo(c.Store.Redis.URL.Reveal())...)
	for u := range strings.SplitSeq(c.Broker.URL, ",") {
		all = append(all, userinfo(strings.TrimSpace(u))...)
	}
	for _, file := range []string{c.Store.Redis.PasswordFile, c.Broker.TokenFile, c.Broker.CredentialsFile} {
		all = append(all, readSecretLines(file)...)
	}
	return all
}

// userinfo returns what a URL says of who asks: a password, or a user who is a token and
// has none. Both as they are and as they stand there.
func userinfo(s string) []string {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return nil
	}
	name, pass := u.User.Username(), ""
	if p, ok := u.User.Password(); ok {
		name, pass = "", p
	}
	raw, _, _ := strings.Cut(s[strings.Index(s, "//")+2:], "@")
	_, rawPass, _ := strings.Cut(raw, ":")
	return []string{name, pass, rawPass}
}

// readSecretLines returns a file of one line, or the lines of a credentials file that hold a secret: not
// those that say what it is.
func readSecretLines(file string) (all []string) {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file) //nolint:gosec // the operator names it
	if err != nil {
		return nil
	}
	text := strings.TrimSpace(string(b))
	if !strings.Contains(text, "\n") {
		return []string{text}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") && !strings.Contains(line, " ") {
			all = append(all, line)
		}
	}
	return all
}
