package configs

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// hints are for people who do not know YAML by heart. The YAML reader's own
// words are never used: some quote the file, which may hold a secret there.
var hints = []struct{ has, hint string }{
	{"control characters", "byte that no text has, such as NUL: is this a text file?"},
	{"UTF-", "bytes that are not UTF-8: is this a text file?"},
	{"Unicode", "bytes that are not UTF-8: is this a text file?"},
	{"tab character", "a tab stands here: indent with spaces"},
	{"cannot start any token", "nothing can begin like this: indent with spaces, not tabs, and put a value that begins with @, ` or % in quotes"},
	{"mapping values are not allowed", "one colon too many, or wrong indentation; a value with a colon and a space in it needs quotes"},
	{"could not find expected ':'", "a key without its colon"},
	{"did not find expected key", "the indentation does not fit the lines above, or a quote stands in the middle of a value"},
	{"did not find expected '-'", "the indentation does not fit the list above"},
	{"block sequence entries", "a list's dash cannot stand here: it begins on a line of its own"},
	{"',' or", "a [ or { that does not end, or lacks a comma"},
	{"node content", "a value is missing"},
	{"end of stream", "a quote that does not end"},
	{"escape", "a backslash in \" quotes begins an escape; in ' quotes it is a backslash"},
	{"anchor", "a value that begins with * or & needs quotes"},
	{"alphabetic or numeric", "a value that begins with * or & needs quotes"},
	{"max depth", "value nested too deeply"},
	{"document", "a second document begins here (---); a configuration is one"},
	{"directive", "a line that begins with % is no part of a configuration"},
	{"tag", "a value that begins with ! needs quotes"},
}

// syntaxMistake returns where data stops being YAML, and what that usually means.
func syntaxMistake(data []byte, err error) Mistake {
	m := Mistake{Line: brokenLine(data), Message: "not YAML"}
	for _, h := range hints {
		if strings.Contains(err.Error(), h.has) {
			m.Message += ": " + h.hint
			break
		}
	}
	return m
}

// brokenLine returns the line after the last one up to which data can be read. The
// YAML reader names the beginning of what it was reading, which may be far
// above; 0: there are too many lines to try.
func brokenLine(data []byte) int {
	const most = 2000
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > most {
		return 0
	}
	end := len(data)
	for n := len(lines) - 1; n > 0; n-- {
		end -= len(lines[n])
		var doc yaml.Node
		if yaml.Unmarshal(data[:end], &doc) == nil {
			return n + 1
		}
	}
	return 1
}
