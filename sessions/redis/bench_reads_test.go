package redis_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"parley/sessions"
)

var scriptTime = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+),usec=(\d+)`)

// BenchmarkReads is what a turn and a poll read: of a conversation of 20 turns, with
// 20 answers that wait.
func BenchmarkReads(b *testing.B) {
	server := serverThatSyncs(b, "everysec")
	s, c := server.open(b), raw(b, server.server)
	d := newDesk(b, s, "chat")
	for i := range 20 {
		d.turn(fmt.Sprint("turn-", i))
	}
	m, err := s.Mailbox(b.Context(), d.key.Token())
	d.ok(err)
	for i := range 20 {
		id := fmt.Sprint("waits-", i)
		_, err := s.Notice(b.Context(), sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "chat", Event: id}, []sessions.Outgoing{{ID: id, Channel: "tg", Session: m.Session, To: d.key.Address(), Text: "wait", At: noon}}, noon)
		d.ok(err)
	}
	ctx := b.Context()
	for name, read := range map[string]func() error{
		"Session":         func() error { _, err := s.Session(ctx, m.Session); return err },
		"Messages":        func() error { _, err := s.Messages(ctx, m.Session); return err },
		"Delivery":        func() error { _, err := s.Delivery(ctx, "turn-1-reply"); return err },
		"Pending":         func() error { _, err := s.Pending(ctx, "tg", 0, 20); return err },
		"Nothing pending": func() error { _, err := s.Pending(ctx, "other", 0, 20); return err },
		"Deliveries": func() error {
			return s.Deliveries(ctx, m.Session, func(sessions.Delivery) bool { return true })
		},
		"Mailbox": func() error { _, err := s.Mailbox(ctx, m.Token); return err },
		"Recover": func() error { _, err := s.Recover(ctx, d.w, noon, 10); return err },
	} {
		b.Run(name, func(b *testing.B) {
			d.ok(c.ConfigResetStat(b.Context()).Err())
			for b.Loop() {
				d.ok(read())
			}
			info, err := c.Info(b.Context(), "commandstats").Result()
			d.ok(err)
			found := scriptTime.FindStringSubmatch(info)
			if found == nil {
				b.Fatalf("it called no script: %s", info)
			}
			calls, err := strconv.ParseFloat(found[1], 64)
			d.ok(err)
			micros, err := strconv.ParseFloat(found[2], 64)
			d.ok(err)
			b.ReportMetric(calls/float64(b.N), "calls/op")
			b.ReportMetric(micros/float64(b.N), "server-µs/op")
		})
	}
}
