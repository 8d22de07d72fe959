package redaction

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// spellings returns the ways in which a secret may stand in a text, each once.
func spellings(s string) []string {
	lower := hex.EncodeToString([]byte(s))
	all := []string{s, lower, strings.ToUpper(lower)}
	for _, escaped := range []string{url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:], escapeAll(s)} {
		all = append(all, escaped, lowerEscapes(escaped))
	}
	all = append(all, jsonSpellings(s)...)
	all = append(all, shellSpellings(s)...)
	named := html.EscapeString(s) // &#34; and &#39;
	all = append(all, named, strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;").Replace(named), strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(named))
	for shift := range 3 {
		core := base64Core(s, shift)
		all = append(all, core, strings.NewReplacer("+", "-", "/", "_").Replace(core))
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(form string) bool { return len(form) < Shortest })
}

// jsonSpellings are those within a string of JSON, or of Go, of Python and the like: with
// and without what only some escape. JSON within JSON is escaped twice.
func jsonSpellings(s string) (all []string) {
	if b, err := EncodeJSON(s); err == nil { // it always can
		all = append(all, inner(string(b)))
	}
	if b, err := json.Marshal(s); err == nil {
		all = append(all, inner(string(b)))
	}
	all = append(all, inner(strconv.Quote(s)), inner(strconv.QuoteToASCII(s)), strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s))
	for _, once := range slices.Clone(all) {
		all = append(all, asciiOnly(once, `\u%04x`), asciiOnly(once, `\u%04X`))
	}
	for _, once := range slices.Clone(all) {
		all = append(all, strings.ReplaceAll(once, "/", `\/`))
		if b, err := EncodeJSON(once); err == nil {
			all = append(all, inner(string(b)))
		}
	}
	return all
}

// inner returns a quoted string without its quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// asciiOnly returns s with each UTF-16 unit of what is not ASCII written as format says.
func asciiOnly(s, format string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, format, r)
		default:
			fmt.Fprintf(&b, format+format, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		}
	}
	return b.String()
}

// shellSpellings are those of a shell: in single quotes, in double quotes, and without.
func shellSpellings(s string) []string {
	var bare, double strings.Builder
	for _, r := range s {
		if r < 0x80 && !isWordOrHyphen(byte(r)) && !strings.ContainsRune("./:=+@%,", r) {
			bare.WriteByte('\\')
		}
		if strings.ContainsRune("\\\"$`", r) {
			double.WriteByte('\\')
		}
		bare.WriteRune(r)
		double.WriteRune(r)
	}
	return []string{strings.ReplaceAll(s, "'", `'\''`), strings.ReplaceAll(s, "'", `'"'"'`), bare.String(), double.String()}
}

// base64Core returns what the base64 of any text has in common that holds s behind so
// many bytes beyond a multiple of three.
func base64Core(s string, shift int) string {
	whole := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("\x00", shift) + s))
	first := []int{0, 2, 3}[shift]   // what the bytes before have a part in
	last := (shift + len(s)) * 8 / 6 // what the bytes behind have none in
	return whole[first:last]
}

// escapeAll returns s with each byte escaped as in a URL.
func escapeAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// lowerEscapes returns an escaped text as others escape it: %3a in place of %3A.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
		}
	}
	return string(b)
}
