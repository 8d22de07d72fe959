package main

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// formatTime is t where the operator is, with the zone.
func formatTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// formatAgo returns how long before now t was, to two units.
func formatAgo(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return formatDuration(now.Sub(t)) + " ago"
}

// formatDuration is d, coarser the longer it is.
func formatDuration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// formatSize is n bytes for people.
func formatSize(n uint64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}

// plural is n of a thing, which has an s when there are several.
func plural[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// sanitize returns a text that others chose without what a terminal would obey; on
// one line.
func sanitize(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == utf8.RuneError || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, s)
}
