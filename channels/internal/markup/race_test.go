//go:build race

package markup

// longest is how long the worst texts are: one goroutine reads a text, so that the
// race detector sees nothing and takes ten times as long. `make test` reads whole
// documents without it.
const longest = maxParsed / 32
