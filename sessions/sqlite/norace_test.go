//go:build !race

package sqlite_test

const underRace = false
