package gateway

import (
	"net/url"
	"os"
	"reflect"
	"regexp"
	"strings"

	"parley/gateway/settings"
	"parley/tools/commandline"
	"parley/tools/mcp"
)

// secretsOf returns all that the configuration holds or names: every value of the type
// Secret, what the URLs in it say of who asks, those of the environment's proxies too, and
// what stands in files of passwords and keys as they are now. A file that cannot be read is
// said by who needs it.
func secretsOf(c settings.Config) (all []string) {
	eachText(reflect.ValueOf(c), func(text string, secret bool) {
		inURLs := urlSecrets(text)
		all = append(all, inURLs...)
		if secret && !strings.Contains(text, "://") { // of a URL only what authenticates is one
			all = append(all, text)
		}
	})
	for _, v := range environmentProxies() {
		all = append(all, urlSecrets(v.address)...)
	}
	all = append(all, commandline.Secrets(c.Tools.Commands)...)
	all = append(all, mcp.Secrets(c.MCP.Servers)...)
	for _, header := range c.Tracing.Headers {
		if _, key, ok := strings.Cut(header.Reveal(), " "); ok { // "Bearer …", "Basic …"
			all = append(all, key)
		}
	}
	for _, s := range c.MCP.Servers {
		for _, file := range s.OAuth.Files() {
			all = append(all, readSecretLines(file)...)
		}
	}
	for _, file := range []string{c.Store.Redis.PasswordFile, c.Broker.TokenFile, c.Broker.CredentialsFile, c.Webhooks.KeyFile} {
		all = append(all, readSecretLines(file)...)
	}
	return all
}

var secretType = reflect.TypeFor[settings.Secret]()

// eachText calls visit for each text in v: a configuration, or a part of it.
func eachText(v reflect.Value, visit func(text string, secret bool)) {
	switch {
	case v.Type() == secretType:
		if s, ok := v.Interface().(settings.Secret); ok {
			visit(s.Reveal(), true)
		}
		return
	case v.Kind() == reflect.String:
		visit(v.String(), false)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachText(v.Field(i), visit)
			}
		}
	case v.Kind() == reflect.Map:
		for _, key := range v.MapKeys() {
			eachText(v.MapIndex(key), visit)
		}
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		for i := range v.Len() {
			eachText(v.Index(i), visit)
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		eachText(v.Elem(), visit)
	}
}

// urlSecrets returns what a text says of who asks, if it is a URL, or several with commas
// between them: userinfo, and parameters whose names say that they are keys.
func urlSecrets(text string) (all []string) {
	if !strings.Contains(text, "://") {
		return nil
	}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		all = append(all, userinfo(part)...)
		u, err := url.Parse(part)
		if err != nil {
			continue
		}
		for name, values := range u.Query() {
			if namesSecret.MatchString(name) {
				all = append(all, values...)
			}
		}
	}
	return all
}

var namesSecret = regexp.MustCompile(`(?i)key|token|secret|passw|auth|signature`)

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

// readSecretLines returns a file of one line, or the lines of a file of credentials or of a
// key in PEM that hold a secret: not those that say what it is, nor certificates.
func readSecretLines(file string) (all []string) {
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file) // the operator names it
	if err != nil {
		return nil
	}
	text := strings.TrimSpace(string(b))
	if !strings.Contains(text, "\n") {
		return []string{text}
	}
	public := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "-----") {
			public = strings.Contains(line, "BEGIN CERTIFICATE")
			continue
		}
		if !public && !strings.Contains(line, " ") {
			all = append(all, line)
		}
	}
	return all
}
