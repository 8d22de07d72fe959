package schedule_test

import (
	"strings"
	"testing"
	"time"

	"parley/gateway/schedule"
)

func timing(t testing.TB, fields, zone string) schedule.Timing {
	t.Helper()
	s, path, err := schedule.NewTiming(fields, 0, zone)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}

// A local time that a change of the clocks leaves out is due once, at the change; one that comes
// twice is due once, the first time.
func TestTimingOverChangesOfTheClocks(t *testing.T) {
	t.Parallel()
	const berlin, york = "Europe/Berlin", "America/New_York"
	for name, c := range map[string]struct {
		fields, zone, after string
		want                []string // in UTC
	}{
		"Berlin, before and behind the change to summer": {"0 7 * * *", berlin, "2026-03-27T12:00:00Z", []string{"2026-03-28T06:00:00Z", "2026-03-29T05:00:00Z", "2026-03-30T05:00:00Z"}},
		"Berlin, a time that is left out":                {"30 2 * * *", berlin, "2026-03-28T00:00:00Z", []string{"2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}},
		"Berlin, the moment of the change itself":        {"0 2 * * *", berlin, "2026-03-28T12:00:00Z", []string{"2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"}},
		"Berlin, each half hour over the hour left out":  {"*/30 * * * *", berlin, "2026-03-29T00:00:00Z", []string{"2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:00:00Z"}},
		"Berlin, a time that comes twice":                {"30 2 * * *", berlin, "2026-10-24T12:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		"Berlin, from within the hour's second time":     {"*/15 * * * *", berlin, "2026-10-25T01:10:00Z", []string{"2026-10-25T02:00:00Z", "2026-10-25T02:15:00Z"}},
		"Berlin, each half hour over the hour twice":     {"*/30 * * * *", berlin, "2026-10-25T00:00:00Z", []string{"2026-10-25T00:30:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:30:00Z"}},
		"New York, before and behind the change":         {"0 7 * * *", york, "2026-03-07T00:00:00Z", []string{"2026-03-07T12:00:00Z", "2026-03-08T11:00:00Z", "2026-03-09T11:00:00Z"}},
		"New York, a time that is left out":              {"30 2 * * *", york, "2026-03-07T12:00:00Z", []string{"2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		"New York, a time that comes twice":              {"30 1 * * *", york, "2026-10-31T12:00:00Z", []string{"2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"}},
		"New York, weekdays only":                        {"30 2 * * 1-5", york, "2026-03-06T12:00:00Z", []string{"2026-03-09T06:30:00Z"}},
		"Lord Howe, half an hour that is left out":       {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", []string{"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		"Apia, a day that is left out":                   {"0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", []string{"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}},
		"no zone is UTC":                                 {"0 7 1 * *", "", "2026-03-01T07:00:00Z", []string{"2026-04-01T07:00:00Z"}},
		"the 29th of February":                           {"0 0 29 2 *", "", "2026-03-01T07:00:00Z", []string{"2028-02-29T00:00:00Z"}},
		"either of day and weekday, as crontabs have it": {"0 0 1 * 1", "", "2026-03-31T07:00:00Z", []string{"2026-04-01T00:00:00Z", "2026-04-06T00:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, at := timing(t, c.fields, c.zone), parse(t, c.after)
			for i, want := range c.want {
				if at = s.Next(at); at.Format(time.RFC3339) != want {
					t.Fatalf("slot %d is %s, want %s", i, at.Format(time.RFC3339), want)
				}
			}
		})
	}
}

func parse(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Over years of a zone: slots rise, and each day has exactly one of a daily job.
func TestTimingHasOneSlotEachDay(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, fields := range []string{"0 0 * * *", "30 1 * * *", "30 2 * * *", "59 23 * * *"} {
			s, at := timing(t, fields, zone), time.Date(2015, 1, 1, 23, 59, 30, 0, loc)
			for day := at.In(loc); day.Year() < 2030; {
				next := s.Next(at)
				y, m, d := next.In(loc).Date()
				day = time.Date(day.Year(), day.Month(), day.Day()+1, 12, 0, 0, 0, loc)
				if wy, wm, wd := day.Date(); !next.After(at) || y != wy || m != wm || d != wd {
					t.Fatalf("%s %s: after %s comes %s, want one on %s", zone, fields, at, next, day.Format(time.DateOnly))
				}
				at = next
			}
		}
	}
}

func TestTimingOfADistance(t *testing.T) {
	t.Parallel()
	s, _, err := schedule.NewTiming("", 90*time.Minute, "")
	if err != nil {
		t.Fatal(err)
	}
	first := s.Next(parse(t, "2026-03-29T00:10:00Z"))
	if got := first.Format(time.RFC3339); got != "2026-03-29T01:30:00Z" || s.Next(first).Sub(first) != 90*time.Minute || s.String() != "every 1h30m" {
		t.Errorf("%s is due at %s and then at %s", s, got, s.Next(first))
	}
}

func TestTimingRefusesWhatNeverComes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fields string
		every  time.Duration
		zone   string
		path   string
		want   string
	}{
		{"", 0, "", "schedule", "needs a schedule"},
		{"0 7 * * *", time.Hour, "", "every", "not both"},
		{"", time.Second, "", "every", "less than 1m"},
		{"", -time.Hour, "", "every", "less than 1m"},
		{"", time.Hour, "UTC", "time_zone", "leave time_zone out"},
		{"0 7 * *", 0, "", "schedule", "five fields"},
		{"0 0 7 * * *", 0, "", "schedule", "five fields"},
		{"@daily", 0, "", "schedule", "five fields"},
		{"TZ=UTC 7 * * *", 0, "", "schedule", "five fields"},
		{"TZ= 0 7 * *", 0, "", "schedule", "five fields"},
		{"60 7 * * *", 0, "", "schedule", "above maximum"},
		{"0 7 * * 7", 0, "", "schedule", "above maximum"},
		{"*/0 7 * * *", 0, "", "schedule", "step"},
		{"0 7 30 2 *", 0, "", "schedule", "never comes"},
		{"0 7 * * *", 0, "Berlin", "time_zone", "no time zone \"Berlin\""},
		{"0 7 * * *", 0, "Local", "time_zone", "no time zone"},
		{"0 7 * * *", 0, "../../etc/passwd", "time_zone", "no time zone"},
	} {
		_, path, err := schedule.NewTiming(c.fields, c.every, c.zone)
		if path != c.path || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %s: %v", c, path, err)
		}
	}
}

func FuzzTiming(f *testing.F) {
	for _, s := range []string{"0 7 * * *", "*/5 1-3,4 ? JAN-MAR sun", "0 0 31 2 *", "* * * * *"} {
		f.Add(s, int64(1_790_000_000))
	}
	zone := "America/New_York"
	f.Fuzz(func(t *testing.T, fields string, at int64) {
		s, _, err := schedule.NewTiming(fields, 0, zone)
		if err != nil || at < 0 || at > 1<<33 {
			return
		}
		from := time.Unix(at, 0)
		next := s.Next(from)
		if next.IsZero() {
			return // a leap day, five years of which have none
		}
		if !next.After(from) || next.Second() != 0 {
			t.Fatalf("%q after %s is %s", fields, from, next)
		}
		if again := s.Next(next.Add(-time.Second)); !again.Equal(next) {
			t.Fatalf("%q: the slot %s is not found again, but %s", fields, next, again)
		}
	})
}

func TestFindDue(t *testing.T) {
	t.Parallel()
	at := func(clock string) time.Time { return parse(t, "2026-05-04T"+clock+":00Z") }
	for name, c := range map[string]struct {
		misfire      schedule.Misfire
		through, now time.Time
		run          []time.Time
		passed       int
		done         time.Time
	}{
		"nothing yet":                    {schedule.All, at("07:00"), at("07:59"), nil, 0, at("07:00")},
		"now":                            {schedule.Skip, at("07:00"), at("08:00"), []time.Time{at("08:00")}, 0, at("08:00")},
		"a restart is no outage":         {schedule.Skip, at("07:00"), at("08:05"), []time.Time{at("08:00")}, 0, at("08:00")},
		"too late is passed over":        {schedule.Skip, at("07:00"), at("08:06"), nil, 1, at("08:00")},
		"an outage, skip":                {schedule.Skip, at("07:00"), at("12:30"), nil, 5, at("12:00")},
		"an outage until now, skip":      {schedule.Skip, at("07:00"), at("12:00"), []time.Time{at("12:00")}, 4, at("12:00")},
		"an outage, once":                {schedule.Once, at("07:00"), at("12:30"), []time.Time{at("12:00")}, 4, at("12:00")},
		"an outage, all":                 {schedule.All, at("07:00"), at("10:30"), []time.Time{at("08:00"), at("09:00"), at("10:00")}, 0, at("10:00")},
		"the clock went back":            {schedule.All, at("12:00"), at("10:30"), nil, 0, at("10:30")},
		"and what it left out comes":     {schedule.All, at("10:30"), at("11:00"), []time.Time{at("11:00")}, 0, at("11:00")},
		"a clock that was years ahead":   {schedule.Skip, at("12:00").AddDate(9, 0, 0), at("10:30"), nil, 0, at("10:30")},
		"a long outage has a bound":      {schedule.Once, at("07:00").AddDate(-9, 0, 0), at("10:30"), []time.Time{at("10:00")}, 32*24 - 1, at("10:00")},
		"and so have those that run":     {schedule.All, at("00:00"), at("23:30"), tenFrom(at("14:00")), 13, at("23:00")},
		"what was dealt with is no more": {schedule.All, at("08:00"), at("08:00"), nil, 0, at("08:00")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := timing(t, "0 * * * *", "").FindDue(c.misfire, c.through, c.now)
			if len(d.Run) != len(c.run) || d.Passed != c.passed || !d.Through.Equal(c.done) {
				t.Fatalf("got %+v, want %v, %d passed, until %s", d, c.run, c.passed, c.done)
			}
			for i := range d.Run {
				if !d.Run[i].Equal(c.run[i]) {
					t.Errorf("runs %v, want %v", d.Run, c.run)
				}
			}
		})
	}
}

func tenFrom(first time.Time) (ts []time.Time) {
	for i := range 10 {
		ts = append(ts, first.Add(time.Duration(i)*time.Hour))
	}
	return ts
}
