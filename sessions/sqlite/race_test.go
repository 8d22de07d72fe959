//go:build race

package sqlite_test

// SQLite is some twenty times slower under the race detector.
const underRace = true
