// Package web is the tools by which an agent looks things up on the internet: web_fetch reads
// a page or a text file, web_search asks the operator's search engine.
//
//	web_fetch   URL → guard.Parse → hosts → guard.Client → bytes → UTF-8 → Markdown → frame
//	web_search  query → the operator's endpoint → numbered results → frame
//
// Whatever comes from there is somebody else's words: every byte of it stands in a frame
// that marks it as untrusted, and no byte in an error or a note. See docs/decisions/0083.
package web

import (
	"errors"
	"time"
)

// Limits of one call.
const (
	defaultTimeout = 10 * time.Second
	maxBody        = 2 << 20 // bytes of an answer that are read, after decompression
	maxText        = 190_000 // bytes of text that a result holds, less than tools.DefaultOutput
	maxConverted   = 2       // pages at a time; further ones wait
)

// errSlow is the cause with which a request ends that took too long.
var errSlow = errors.New("no whole answer in time")
