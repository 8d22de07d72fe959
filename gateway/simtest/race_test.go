//go:build race

package simtest_test

// raced: the race detector is at work.
const raced = true
