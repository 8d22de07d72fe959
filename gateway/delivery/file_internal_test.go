package delivery

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/channels"
	"parley/channels/signal"
	"parley/channels/slack"
	"parley/channels/telegram"
)

func TestALargeFileHasMoreTimeUntilTheProcessHasToEnd(t *testing.T) {
	t.Parallel()
	took := func(size int64, end time.Duration) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			lane, stop := context.WithCancel(t.Context())
			defer stop()
			if end > 0 {
				defer time.AfterFunc(end, stop).Stop()
			}
			ctx, cancel := withFileTimeout(lane, size)
			defer cancel()
			began := time.Now()
			<-ctx.Done()
			d = time.Since(began)
			cancel()
			synctest.Wait()
		})
		return d
	}
	const mib = 1 << 20
	for _, c := range []struct {
		size      int64
		end, want time.Duration
	}{
		{1, 0, sendTimeout},
		{50 * mib, 0, sendTimeout + 800*time.Second},
		{50 * mib, 10 * time.Second, 10*time.Second + sendTimeout},
		{50 * mib, 850 * time.Second, sendTimeout + 800*time.Second},
	} {
		if got := took(c.size, c.end); got != c.want {
			t.Errorf("%d bytes, the end after %s: %s, want %s", c.size, c.end, got, c.want)
		}
	}
}

func TestANameIsShownAsItIs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"report.pdf", "my_long_file_name.txt", "**bold**.md", "[x](https://example.com).pdf", "`code`.go", "a<b>&amp;.html", "1. #x.txt", "~~a~~ {b} |c| !d.txt", `a\*b.txt`, "übersicht 2.ods",
	} {
		for network, render := range map[string]func(string) []channels.Body{
			"telegram": new(telegram.Channel).Render, "slack": new(slack.Channel).Render, "signal": new(signal.Channel).Render,
		} {
			said := render("The file " + markdownLiteral(name) + " could not be sent.")
			if want := "The file " + name + " could not be sent."; len(said) != 1 || network != "slack" && said[0].Text != want {
				t.Errorf("%s says %+v, want %q", network, said, want)
			} else if network == "slack" && !strings.Contains(said[0].Text, strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(name)) && said[0].Text != want {
				t.Errorf("%s says %q, want %q", network, said[0].Text, want)
			}
		}
	}
}
