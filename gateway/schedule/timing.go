package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the machine may know no time zones: an image that holds only the program does not

	"github.com/robfig/cron/v3"
)

// Shortest is the shortest time between two runs of a job.
const Shortest = time.Minute

// Timing says when a job is due. The zero Timing never is.
type Timing struct {
	wall  cron.Schedule  // in local time; nil: by every
	zone  *time.Location // of wall
	every time.Duration  // since the epoch, so that all processes mean the same moments
	once  time.Time      // the only moment; zero: by the others
	text  string
}

// Errors of a timing.
var (
	errBoth    = errors.New("a job has a schedule or every, not both")
	errNeither = errors.New("a job needs a schedule of five fields, such as \"0 7 * * 1-5\", or every, such as 1h")
	errNever   = errors.New("never comes: no date fits day and month")
	errZone    = errors.New("every counts hours and minutes alike in all time zones: leave time_zone out, or give a schedule")
)

// fields reads the five fields of a crontab. What else the library takes, such as descriptors and
// time zones in front, has keys of its own or none.
var fields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// NewTiming returns the timing of a crontab's five fields in a time zone, an IANA name (empty:
// UTC), or of a distance. The mistakes say by their path, schedule, every or time_zone, of what
// they are.
func NewTiming(schedule string, every time.Duration, zone string) (t Timing, path string, err error) {
	switch {
	case schedule != "" && every != 0:
		return t, "every", errBoth
	case schedule == "" && every == 0:
		return t, "schedule", errNeither
	case every != 0 && zone != "":
		return t, "time_zone", errZone
	case every != 0 && every < Shortest:
		return t, "every", fmt.Errorf("%s is less than %s", every, Shortest) // the text is for the operator
	case every != 0:
		return Timing{every: every, text: "every " + shorten(every)}, "", nil
	}
	if t.zone, err = LoadZone(zone); err != nil {
		return t, "time_zone", err
	}
	n := strings.Fields(schedule)
	if len(n) != 5 || strings.Contains(schedule, "=") {
		return t, "schedule", fmt.Errorf("%q is not five fields: minute, hour, day, month, day of the week (0 to 6, Sunday is 0)", schedule) // the text is for the operator
	}
	t.text = strings.Join(n, " ")
	if t.wall, err = fields.Parse(t.text); err != nil {
		return t, "schedule", fmt.Errorf("%q: %w", schedule, err)
	}
	if t.wall.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return t, "schedule", fmt.Errorf("%q %w", schedule, errNever)
	}
	return t, "", nil
}

// NewOnce returns the timing of one moment, which is shown in a time zone, an IANA name (empty: UTC).
func NewOnce(at time.Time, zone string) (Timing, error) {
	z, err := LoadZone(zone)
	if err != nil {
		return Timing{}, err
	}
	return Timing{once: at.UTC(), zone: z, text: "once " + at.In(z).Format("2006-01-02 15:04")}, nil
}

// NewOnceOnClock returns the timing of the moment at which clocks of a time zone show wall, of which
// the zone counts for nothing; see [Timing.Next] for one that comes twice or never.
func NewOnceOnClock(wall time.Time, zone string) (Timing, error) {
	z, err := LoadZone(zone)
	if err != nil {
		return Timing{}, err
	}
	return NewOnce(Timing{zone: z}.place(wall), zone)
}

// IsOnce reports whether there is one moment only.
func (t Timing) IsOnce() bool { return !t.once.IsZero() }

// gapsLooked is how many slots in a row LeastGap looks at: more than two weeks of those of a timing
// that is due every hour.
const gapsLooked = 400

// LeastGap returns the shortest time between two slots; zero: there is only one. It counts as clocks
// on the wall do, on a calendar without changes.
func (t Timing) LeastGap() time.Duration {
	if t.wall == nil {
		return t.every
	}
	least := time.Duration(0)
	last := t.wall.Next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	for range gapsLooked {
		next := t.wall.Next(last)
		if next.IsZero() {
			break
		}
		if gap := next.Sub(last); least == 0 || gap < least {
			least = gap
		}
		last = next
	}
	return least
}

// LoadZone returns the zone of an IANA name. Names that mean another zone on another machine are
// refused.
func LoadZone(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("no time zone %q; the names are those of the IANA, such as Europe/Berlin", name) // the text is for the operator
	}
	return zone, nil
}

// String returns the timing as the operator wrote it, without the zone.
func (t Timing) String() string { return t.text }

// Zone returns the name of the zone of a schedule; empty: the timing has none.
func (t Timing) Zone() string {
	if t.zone == nil {
		return ""
	}
	return t.zone.String()
}

// Next returns when the job is due for the first time after a moment; zero: never.
//
// A local time that a change of the clocks leaves out is due at the change, and one that comes
// twice is due the first time. So a job of every hour has one run less on the day on which an hour
// comes twice, and none of a day's runs is lost or comes twice.
func (t Timing) Next(after time.Time) time.Time {
	if t.every > 0 {
		n := after.UnixNano() / int64(t.every)
		return time.Unix(0, (n+1)*int64(t.every)).UTC()
	}
	if t.wall == nil {
		if after.Before(t.once) {
			return t.once
		}
		return time.Time{}
	}
	// The library counts on a calendar without changes, and what it finds is placed on the real
	// one.
	for wall := clock(after.In(t.zone)); ; {
		if wall = t.wall.Next(wall); wall.IsZero() {
			return wall
		}
		if at := t.place(wall); at.After(after) {
			return at
		}
	}
}

// clock returns what a clock on the wall shows, as a time in UTC.
func clock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// place returns the first moment at which clocks of the zone show wall or, where they never do,
// the one at which they jump over it.
func (t Timing) place(wall time.Time) time.Time {
	// Date is right by the offset before or behind a change; which of them, it does not say.
	at := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, t.zone)
	from, until := at.ZoneBounds()
	if !clock(at).Equal(wall) { // between two offsets
		if clock(at).After(wall) && !from.IsZero() { // Date used the offset before the change
			return from.In(time.UTC)
		}
		return until.In(time.UTC)
	}
	if from.IsZero() {
		return at.UTC()
	}
	_, offset := at.Zone()
	_, earlier := from.Add(-time.Nanosecond).Zone()
	if first := at.Add(time.Duration(offset-earlier) * time.Second); first.Before(from) && clock(first.In(t.zone)).Equal(wall) {
		return first.UTC()
	}
	return at.UTC()
}

// shorten writes a duration without the units that are zero.
func shorten(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
