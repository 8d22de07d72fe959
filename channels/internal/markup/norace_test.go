//go:build !race

package markup

// longest is how long the worst texts are.
const longest = maxParsed
