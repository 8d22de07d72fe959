package redaction

import "strings"

// pattern is what keys of a service look like: a beginning that nothing else has,
// and what follows it.
type pattern struct {
	begin   string
	takes   func(byte) bool // what a key goes on with
	minimum int             // bytes behind begin without which it is none
	digit   bool            // one of them is a digit, unlike in words with hyphens
	dots    int             // so many dots are among them
}

var patterns = []pattern{
	{begin: "sk-", takes: isWordOrHyphen, minimum: 20, digit: true},
	{begin: "gsk_", takes: isWordByte, minimum: 40},
	{begin: "xoxa-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxb-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxe-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxe.", takes: isTokenByte, minimum: 10},
	{begin: "xoxp-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxr-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxs-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xapp-", takes: isWordOrHyphen, minimum: 10},
	{begin: "ghp_", takes: isWordByte, minimum: 36},
	{begin: "gho_", takes: isWordByte, minimum: 36},
	{begin: "ghu_", takes: isWordByte, minimum: 36},
	{begin: "ghs_", takes: isWordByte, minimum: 36},
	{begin: "ghr_", takes: isWordByte, minimum: 36},
	{begin: "github_pat_", takes: isWordByte, minimum: 36},
	{begin: "AKIA", takes: isWordByte, minimum: 16, digit: true},
	{begin: "AIza", takes: isWordOrHyphen, minimum: 35},
	{begin: "eyJ", takes: isTokenByte, minimum: 40, dots: 2},
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

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_'
}
func isWordOrHyphen(c byte) bool { return isWordByte(c) || c == '-' }
func isTokenByte(c byte) bool    { return isWordOrHyphen(c) || c == '.' }
func isDigit(c byte) bool        { return c >= '0' && c <= '9' }

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
	return findBotTokens(s, findPEM(s, found))
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
	if from > 0 && isWordByte(s[from-1]) { // within a word
		return from, to, false
	}
	for to < len(s) && p.takes(s[to]) {
		to++
	}
	rest := s[from+len(p.begin) : to]
	ok = len(rest) >= p.minimum && (!p.digit || strings.ContainsAny(rest, "0123456789")) && strings.Count(rest, ".") >= p.dots
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

func findBotTokens(s string, found []span) []span {
	for i := 0; ; {
		colon := strings.IndexByte(s[i:], ':')
		if colon < 0 {
			return found
		}
		colon += i
		i = colon + 1
		from := botTokenStart(s, colon)
		to := i
		for to < len(s) && isWordOrHyphen(s[to]) {
			to++
		}
		if from >= 0 && to-i >= botKey {
			found = append(found, span{from, to})
			i = to
		}
	}
}

// botTokenStart returns where the digits before the colon begin, or -1 when they are none
// of a bot.
func botTokenStart(s string, colon int) int {
	from := colon
	for from > 0 && isDigit(s[from-1]) {
		from--
	}
	if n := colon - from; n < botDigitsLeast || n > botDigitsMost {
		return -1
	}
	return from
}

// partialPatternStart returns where the end of s may be the beginning of a key, or len(s).
func partialPatternStart(s string) int {
	hold := len(s)
	for _, p := range patterns {
		for i := 0; ; {
			from, to, ok := p.next(s, i)
			if to == 0 {
				break
			}
			if to == len(s) && !ok && (from == 0 || !isWordByte(s[from-1])) {
				hold = min(hold, from)
			}
			i = to
		}
	}
	at := len(s) // of a bot's key that goes on to the end
	for at > 0 && isWordOrHyphen(s[at-1]) {
		at--
	}
	if at > 0 && s[at-1] == ':' && len(s)-at < botKey {
		if from := botTokenStart(s, at-1); from >= 0 {
			hold = min(hold, from)
		}
	}
	return hold
}
