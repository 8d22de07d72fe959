package redaction

import "strings"

// prefix is what keys of a service look like: a beginning that nothing else has,
// and what follows it.
type prefix struct {
	begin   string
	takes   func(byte) bool // what a key goes on with
	minimum int             // bytes behind begin without which it is none
	digit   bool            // one of them is a digit, unlike in words with hyphens
	dots    int             // so many dots are among them
}

var prefixes = [...]prefix{
	{begin: "sk-", takes: isWordOrHyphen, minimum: 20, digit: true}, // OpenAI, Anthropic and many others
	{begin: "sk_live_", takes: isWordByte, minimum: 16},
	{begin: "sk_test_", takes: isWordByte, minimum: 16},
	{begin: "rk_live_", takes: isWordByte, minimum: 16},
	{begin: "gsk_", takes: isWordByte, minimum: 40},
	{begin: "xai-", takes: isWordByte, minimum: 40},
	{begin: "hf_", takes: isWordByte, minimum: 30},
	{begin: "nvapi-", takes: isWordOrHyphen, minimum: 40},
	{begin: "pplx-", takes: isWordByte, minimum: 40},
	{begin: "xoxa-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxb-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxc-", takes: isWordOrHyphen, minimum: 10},
	{begin: "xoxd-", takes: isWordOrHyphen, minimum: 10},
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
	{begin: "glpat-", takes: isTokenByte, minimum: 20},
	{begin: "npm_", takes: isWordByte, minimum: 36},
	{begin: "dckr_pat_", takes: isWordOrHyphen, minimum: 20},
	{begin: "AKIA", takes: isWordByte, minimum: 16, digit: true},
	{begin: "ASIA", takes: isWordByte, minimum: 16, digit: true},
	{begin: "AIza", takes: isWordOrHyphen, minimum: 35},
	{begin: "ya29.", takes: isTokenByte, minimum: 30},
	{begin: "eyJ", takes: isTokenByte, minimum: 40, dots: 2}, // a JSON Web Token
	{begin: "AGE-SECRET-KEY-1", takes: isWordByte, minimum: 50},
	{begin: "SUA", takes: isSeedByte, minimum: 55}, // NATS
}

func isSeedByte(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '2' && c <= '7' }

func (p prefix) match(s string, at int) match {
	behind := at + len(p.begin)
	if at > 0 && isWordByte(s[at-1]) { // within a word
		return match{to: behind}
	}
	to := run(s, behind, p.takes)
	rest := s[behind:to]
	if len(rest) >= p.minimum && (!p.digit || hasDigit(rest)) && strings.Count(rest, ".") >= p.dots {
		return match{key, at, to}
	}
	return match{unclear, at, to}
}

// A private key in PEM.
const (
	pemBegin   = "-----BEGIN "
	pemKey     = "PRIVATE KEY"
	pemEnd     = "-----END "
	pemDashes  = "-----"
	pemMost    = 64               // of what stands between pemBegin and the end of pemKey
	encodedPEM = "LS0tLS1CRUdJTi" // base64 of pemBegin, as secrets of Kubernetes have it
)

// matchPEM finds a private key; one without an end goes to the end of s.
func matchPEM(s string, at int) match {
	behind := at + len(pemBegin)
	head := s[behind:min(len(s), behind+pemMost)]
	line, _, ended := strings.Cut(head, "\n")
	if !strings.Contains(line, pemKey) {
		if !ended && len(head) < pemMost {
			return match{unclear, at, len(s)}
		}
		return match{to: behind}
	}
	end := strings.Index(s[behind:], pemEnd)
	if end < 0 {
		return match{key, at, len(s)}
	}
	to := behind + end + len(pemEnd)
	last, _, ended := strings.Cut(s[to:min(len(s), to+pemMost)], "\n")
	if dashes := strings.Index(last, pemDashes); dashes >= 0 {
		to += dashes + len(pemDashes)
	} else if !ended && len(s)-to < pemMost {
		to = len(s)
	}
	return match{key, at, to}
}

// matchEncodedPEM finds a private key in base64, over all its lines.
func matchEncodedPEM(s string, at int) match {
	to := at
	for {
		to = run(s, to, isBase64)
		gap := lineBreak(s[to:])
		if gap == 0 || to+gap == len(s) || !isBase64(s[to+gap]) {
			break
		}
		to += gap
	}
	head := s[at:min(to, at+2*pemMost)]
	if strings.Contains(decodeBase64(head), pemKey) {
		return match{key, at, to}
	}
	if len(head) < 2*pemMost {
		return match{unclear, at, to}
	}
	return match{to: to}
}

// A bot's token may be digits, a colon, and 35 bytes.
const (
	botDigitsLeast, botDigitsMost = 6, 12
	botKey                        = 35
)

func matchBotToken(s string, at int) match {
	from := at
	for from > 0 && at-from <= botDigitsMost && isDigit(s[from-1]) {
		from--
	}
	if n := at - from; n < botDigitsLeast || n > botDigitsMost {
		return match{to: at + 1}
	}
	to := run(s, at+1, isWordOrHyphen)
	if to-at-1 >= botKey {
		return match{key, from, to}
	}
	return match{unclear, from, to}
}
