package redaction

import "strings"

// pattern is what keys of a service look like: a beginning that nothing else has,
// and what follows it.
type pattern struct {
	begin string
	takes func(byte) bool // what a key goes on with
	least int             // bytes behind begin without which it is none
	digit bool            // one of them is a digit, unlike in words with hyphens
	dots  int             // so many dots are among them
}

var patterns = []pattern{
	{begin: "sk-", takes: wordOrHyphen, least: 20, digit: true},
	{begin: "gsk_", takes: word, least: 40},
	{begin: "xoxa-", takes: wordOrHyphen, least: 10},
	{begin: "xoxb-", takes: wordOrHyphen, least: 10},
	{begin: "xoxe-", takes: wordOrHyphen, least: 10},
	{begin: "xoxe.", takes: token, least: 10},
	{begin: "xoxp-", takes: wordOrHyphen, least: 10},
	{begin: "xoxr-", takes: wordOrHyphen, least: 10},
	{begin: "xoxs-", takes: wordOrHyphen, least: 10},
	{begin: "xapp-", takes: wordOrHyphen, least: 10},
	{begin: "ghp_", takes: word, least: 36},
	{begin: "gho_", takes: word, least: 36},
	{begin: "ghu_", takes: word, least: 36},
	{begin: "ghs_", takes: word, least: 36},
	{begin: "ghr_", takes: word, least: 36},
	{begin: "github_pat_", takes: word, least: 36},
	{begin: "AKIA", takes: word, least: 16, digit: true},
	{begin: "AIza", takes: wordOrHyphen, least: 35},
	{begin: "eyJ", takes: token, least: 40, dots: 2},
}

// A private key in PEM.
const (
	pemBegin = "-----BEGIN "
	pemKey   = "PRIVATE KEY-----"
	pemEnd   = "-----END "
	pemMost  = 64 // of what stands between pemBegin and pemKey
)

// A bot's token may be digits, a colon, and 35 bytes.
const (
	botDigitsLeast, botDigitsMost = 6, 12
	botKey                        = 35
)

func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || digit(c) || c == '_'
}
func wordOrHyphen(c byte) bool { return word(c) || c == '-' }
func token(c byte) bool        { return wordOrHyphen(c) || c == '.' }
func digit(c byte) bool        { return c >= '0' && c <= '9' }

// findPatterns appends to found where something in s looks like a key.
func findPatterns(s string, found []span) []span {
	for _, p := range patterns {
		for i := 0; ; {
			from, to, ok := p.next(s, i)
			if to == 0 {
				break
			}
			if ok {
				found = append(found, span{from, to})
			}
			i = to
		}
	}
	return findBots(s, findPEM(s, found))
}

// next finds what begins as p does in s[i:], and how far it goes; ok: it is a key.
// to is 0 when there is none.
func (p pattern) next(s string, i int) (from, to int, ok bool) {
	at := strings.Index(s[i:], p.begin)
	if at < 0 {
		return 0, 0, false
	}
	from = i + at
	to = from + len(p.begin)
	if from > 0 && word(s[from-1]) { // within a word
		return from, to, false
	}
	for to < len(s) && p.takes(s[to]) {
		to++
	}
	rest := s[from+len(p.begin) : to]
	ok = len(rest) >= p.least && (!p.digit || strings.ContainsAny(rest, "0123456789")) && strings.Count(rest, ".") >= p.dots
	return from, to, ok
}

func findPEM(s string, found []span) []span {
	for i := 0; ; {
		from, to := nextPEM(s, i)
		if to == 0 {
			return found
		}
		found = append(found, span{from, to})
		i = to
	}
}

// nextPEM finds a private key in s[i:]; one without an end goes to the end of s.
func nextPEM(s string, i int) (from, to int) {
	for {
		at := strings.Index(s[i:], pemBegin)
		if at < 0 {
			return 0, 0
		}
		from = i + at
		i = from + len(pemBegin)
		head := s[i:min(len(s), i+pemMost)]
		line, _, _ := strings.Cut(head, "\n")
		if !strings.Contains(line, pemKey) {
			continue
		}
		end := strings.Index(s[i:], pemEnd)
		if end < 0 {
			return from, len(s)
		}
		to = i + end + len(pemEnd)
		if dashes := strings.Index(s[to:], "-----"); dashes >= 0 && dashes < pemMost {
			to += dashes + len("-----")
		}
		return from, to
	}
}

func findBots(s string, found []span) []span {
	for i := 0; ; {
		colon := strings.IndexByte(s[i:], ':')
		if colon < 0 {
			return found
		}
		colon += i
		i = colon + 1
		from := botFrom(s, colon)
		to := i
		for to < len(s) && wordOrHyphen(s[to]) {
			to++
		}
		if from >= 0 && to-i >= botKey {
			found = append(found, span{from, to})
			i = to
		}
	}
}

// botFrom is where the digits before the colon begin, or -1 when they are none of a
// bot.
func botFrom(s string, colon int) int {
	from := colon
	for from > 0 && digit(s[from-1]) {
		from--
	}
	if n := colon - from; n < botDigitsLeast || n > botDigitsMost {
		return -1
	}
	return from
}

// holdPatternsFrom is where the end of s may be the beginning of a key, or len(s).
func holdPatternsFrom(s string) int {
	hold := len(s)
	for _, p := range patterns {
		for i := 0; ; {
			from, to, ok := p.next(s, i)
			if to == 0 {
				break
			}
			if to == len(s) && !ok && (from == 0 || !word(s[from-1])) {
				hold = min(hold, from)
			}
			i = to
		}
	}
	at := len(s) // of a bot's key that goes on to the end
	for at > 0 && wordOrHyphen(s[at-1]) {
		at--
	}
	if at > 0 && s[at-1] == ':' && len(s)-at < botKey {
		if from := botFrom(s, at-1); from >= 0 {
			hold = min(hold, from)
		}
	}
	return hold
}
