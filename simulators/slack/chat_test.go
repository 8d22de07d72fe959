package slack_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	sim "parley/simulators/slack"
)

func TestRefusalsNameTheirError(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) {
		o.Apps = append(o.Apps, sim.App{Name: "small", BotToken: "xoxb-2", Scopes: []string{"chat:write", "channels:history"}})
	})
	said := w.say(general, ann, "hello")
	w.say(hidden, ann, "hello")
	mine := w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "x"})
	if _, err := w.SetMember(hidden, "small", false); err != nil {
		t.Fatal(err)
	}
	away := sim.Channel{ID: "C0AWAY", Kind: sim.Public, Name: "away"}
	if _, err := w.SetMember(away, "parley", false); err != nil {
		t.Fatal(err)
	}
	closed := sim.Channel{ID: "C0CLOSED", Kind: sim.Public}
	if err := w.Archive(closed); err != nil {
		t.Fatal(err)
	}
	text := func(channel, text string) map[string]any { return map[string]any{"channel": channel, "text": text} }
	blocks := func(bs ...any) map[string]any {
		return map[string]any{"channel": general.ID, "text": "x", "blocks": bs}
	}
	section := func(n int) any {
		return map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": strings.Repeat("a", n)}}
	}
	markdown := func(n int) any { return map[string]any{"type": "markdown", "text": strings.Repeat("a", n)} }
	table := map[string]any{"type": "table", "rows": [][]any{{map[string]any{"type": "raw_text", "text": "a"}}}}
	for _, c := range []struct {
		token, method string
		args          map[string]any
		want          string
	}{
		{"", "auth.test", nil, "not_authed"},
		{"xoxb-9", "auth.test", nil, "invalid_auth"},
		{appToken, "chat.postMessage", text(general.ID, "x"), "not_allowed_token_type"},
		{botToken, "apps.connections.open", nil, "not_allowed_token_type"},
		{botToken, "no.such", nil, "unknown_method"},
		{"xoxb-2", "files.info", map[string]any{"file": "F"}, "missing_scope"},
		{"xoxb-2", "conversations.history", map[string]any{"channel": "D" + ann.ID[1:]}, "channel_not_found"},
		{botToken, "chat.postMessage", text("C0NONE", "x"), "channel_not_found"},
		{"xoxb-2", "chat.postMessage", text(hidden.ID, "x"), "channel_not_found"},
		{botToken, "chat.postMessage", text("away", "x"), "not_in_channel"},
		{botToken, "chat.postMessage", text(closed.ID, "x"), "is_archived"},
		{botToken, "chat.postMessage", text(general.ID, ""), "no_text"},
		{botToken, "chat.postMessage", blocks(slices.Repeat([]any{markdown(1)}, 51)...), "invalid_blocks"},
		{botToken, "chat.postMessage", blocks(slices.Repeat([]any{markdown(1)}, 50)...), ""},
		{botToken, "chat.postMessage", blocks(section(3001)), "invalid_blocks"},
		{botToken, "chat.postMessage", blocks(section(3000)), ""},
		{botToken, "chat.postMessage", blocks(markdown(6000), markdown(6001)), "msg_blocks_too_long"},
		{botToken, "chat.postMessage", blocks(markdown(12_000)), ""},
		{botToken, "chat.postMessage", blocks(table, table), "invalid_attachments"},
		{botToken, "chat.postMessage", blocks(table), ""},
		{botToken, "chat.postMessage", blocks(map[string]any{"type": "hologram"}), "invalid_blocks"},
		{botToken, "chat.postMessage", map[string]any{"channel": general.ID, "blocks": "{"}, "invalid_blocks_format"},
		{botToken, "chat.postMessage", map[string]any{"channel": general.ID, "markdown_text": strings.Repeat("ä", 12_001)}, "msg_too_long"},
		{botToken, "chat.postMessage", map[string]any{"channel": general.ID, "markdown_text": strings.Repeat("ä", 12_000)}, ""},
		{botToken, "chat.postMessage", map[string]any{"channel": general.ID, "markdown_text": "a", "text": "a"}, "markdown_text_conflict"},
		{botToken, "chat.postMessage", map[string]any{"channel": general.ID, "text": "x", "thread_ts": "yesterday"}, "invalid_thread_ts"},
		{botToken, "chat.postMessage", map[string]any{"channel": general.ID, "text": "x", "metadata": map[string]any{"event_type": "a"}}, "invalid_metadata_schema"},
		{botToken, "chat.update", map[string]any{"channel": general.ID, "ts": mine.TS, "text": strings.Repeat("a", 4001)}, "msg_too_long"},
		{botToken, "chat.update", map[string]any{"channel": general.ID, "ts": mine.TS, "text": strings.Repeat("ж", 2001)}, "msg_too_long"},
		{botToken, "chat.update", map[string]any{"channel": general.ID, "ts": said.TS, "text": "a"}, "cant_update_message"},
		{botToken, "chat.update", map[string]any{"channel": general.ID, "ts": "1.2", "text": "a"}, "message_not_found"},
		{botToken, "chat.delete", map[string]any{"channel": general.ID, "ts": said.TS}, "cant_delete_message"},
		{botToken, "reactions.remove", map[string]any{"channel": general.ID, "timestamp": said.TS, "name": "eyes"}, "no_reaction"},
		{botToken, "reactions.add", map[string]any{"channel": general.ID, "timestamp": said.TS, "name": "eyes"}, ""},
		{botToken, "reactions.add", map[string]any{"channel": general.ID, "timestamp": said.TS, "name": ":eyes:"}, "already_reacted"},
		{botToken, "reactions.remove", map[string]any{"channel": general.ID, "timestamp": said.TS, "name": "eyes"}, ""},
		{botToken, "reactions.add", map[string]any{"channel": general.ID, "timestamp": said.TS, "name": "no_such_emoji"}, "invalid_name"},
		{botToken, "reactions.add", map[string]any{"channel": general.ID, "timestamp": said.TS, "name": "👀"}, "invalid_name"},
		{botToken, "reactions.add", map[string]any{"channel": general.ID, "timestamp": "", "name": "eyes"}, "no_item_specified"},
		{botToken, "reactions.add", map[string]any{"channel": general.ID, "timestamp": "yesterday", "name": "eyes"}, "bad_timestamp"},
		{botToken, "reactions.add", map[string]any{"channel": general.ID, "timestamp": "1600000000.000001", "name": "eyes"}, "message_not_found"},
		{botToken, "reactions.add", map[string]any{"channel": "C0NOWHERE", "timestamp": said.TS, "name": "eyes"}, "channel_not_found"},
		{botToken, "assistant.threads.setStatus", map[string]any{"channel_id": general.ID, "status": "x"}, "invalid_thread_ts"},
		{botToken, "users.info", map[string]any{"user": "U0NOBODY"}, "user_not_found"},
	} {
		a, err := w.callAs(c.token, c.method, c.args)
		if err != nil || a.Status != 200 || a.Error != c.want || a.OK != (c.want == "") {
			t.Errorf("%s %.100v: %d %s (want %q) %v", c.method, c.args, a.Status, a.raw, c.want, err)
		}
		if c.want == "invalid_blocks" && (len(a.Meta.Messages) != 1 || !strings.Contains(a.Meta.Messages[0], "json-pointer:/blocks")) {
			t.Errorf("messages %v", a.Meta.Messages)
		}
	}
}

func TestBodiesAreFormsOrJSON(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	for _, a := range []answer{
		w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "a", "metadata": map[string]any{"event_type": "e", "event_payload": map[string]any{"k": 1}}}),
		w.form("chat.postMessage", url.Values{
			"token": {botToken}, "channel": {general.ID}, "text": {"a"}, "metadata": {`{"event_type":"e","event_payload":{"k":1}}`},
		}),
	} {
		if !a.OK || a.Channel != general.ID {
			t.Errorf("answer %s", a.raw)
		}
	}
	b := w.Books()
	if string(b.Messages[0].Metadata) != string(b.Messages[1].Metadata) || len(b.Messages[0].Metadata) == 0 {
		t.Errorf("metadata %s and %s", b.Messages[0].Metadata, b.Messages[1].Metadata)
	}
}

func TestMetadataIsReadOnlyByWhoAsksForIt(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	w.call("chat.postMessage", map[string]any{
		"channel": general.ID, "text": "a", "thread_ts": root.TS, "metadata": map[string]any{"event_type": "marker", "event_payload": map[string]any{"id": "x"}},
	})
	for _, all := range []bool{false, true} {
		a := w.call("conversations.replies", map[string]any{"channel": general.ID, "ts": root.TS, "include_all_metadata": all})
		if strings.Contains(string(a.raw), "marker") != all {
			t.Errorf("include_all_metadata %v: %s", all, a.raw)
		}
	}
}

func TestHistoryIsPagedNewestFirstAndLeavesThreadsOut(t *testing.T) {
	t.Parallel()
	w := start(t)
	var all []string
	for i := range 5 {
		all = append(all, w.say(general, ann, fmt.Sprint(i)).TS)
	}
	w.say(general, bob, "in the thread", sim.SayOptions{ThreadTS: all[0]})
	shown := w.say(general, bob, "for all", sim.SayOptions{ThreadTS: all[0], Broadcast: true})
	want := append([]string(nil), all...)
	want = append(want, shown.TS)
	slices.Reverse(want)
	var got []string
	args := map[string]any{"channel": general.ID, "limit": 2}
	for {
		var page struct {
			Messages []struct {
				TS         string `json:"ts"`
				ReplyCount int    `json:"reply_count"`
			} `json:"messages"`
			Meta struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
			More bool `json:"has_more"`
		}
		if err := json.Unmarshal(w.call("conversations.history", args).raw, &page); err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			got = append(got, m.TS)
			if m.TS == all[0] && m.ReplyCount != 2 {
				t.Errorf("%d replies", m.ReplyCount)
			}
		}
		if page.More != (page.Meta.Next != "") {
			t.Errorf("page %+v", page)
		}
		if !page.More {
			break
		}
		args["cursor"] = page.Meta.Next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	a := w.call("conversations.history", map[string]any{"channel": general.ID, "oldest": all[4], "inclusive": true})
	if n := strings.Count(string(a.raw), `"client_msg_id"`); n != 2 { // of the last post, and of the broadcast reply's root
		t.Errorf("%d since the last post: %s", n, a.raw)
	}
}

func TestOneMessagePerSecondAndChannel(t *testing.T) {
	t.Parallel()
	clock := newClock()
	w := start(t, func(o *sim.Options) {
		o.RateLimits = true
		o.Now = clock.now
	})
	w.say(general, ann, "hello")
	w.say(hidden, ann, "hello")
	post := func(c sim.Channel) answer {
		return w.call("chat.postMessage", map[string]any{"channel": c.ID, "text": "x"})
	}
	if a := post(general); !a.OK {
		t.Errorf("the first: %s", a.raw)
	}
	if a := post(general); a.Status != 429 || a.RetryAfter != "1" || a.Error != "ratelimited" {
		t.Errorf("the second: %d %q %s", a.Status, a.RetryAfter, a.raw)
	}
	if a := post(hidden); !a.OK {
		t.Errorf("in another channel: %s", a.raw)
	}
	if a := post(general); a.Status != 429 || w.Totals().Violations != 1 {
		t.Errorf("too early: %d, %d violations", a.Status, w.Totals().Violations)
	}
	clock.pass(time.Second)
	if a := post(general); !a.OK {
		t.Errorf("a second later: %s", a.raw)
	}
	for range 50 {
		w.call("conversations.history", map[string]any{"channel": general.ID})
	}
	if a := w.call("conversations.history", map[string]any{"channel": general.ID}); a.Status != 429 || a.RetryAfter != "60" {
		t.Errorf("the 51st of a minute: %d %q", a.Status, a.RetryAfter)
	}
}

func TestPingsAreBooked(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "<!channel> and <@U0BOB|bob>, not &lt;!here&gt;"})
	w.call("chat.postMessage", map[string]any{"channel": general.ID, "text": "x", "blocks": []any{map[string]any{"type": "markdown", "text": "<!here>"}}})
	b := w.Books()
	for i, want := range [][]string{{"channel", "U0BOB"}, {"here"}} {
		if got := b.Messages[i].Versions[0].Pings; !slices.Equal(got, want) {
			t.Errorf("message %d pings %v, want %v", i, got, want)
		}
	}
}

// A picture is shown unless that is switched off, a page if it is switched on; and
// chat.update looks for names unless it is told not to.
func TestUnfurlsAndTypedNamesAreBooked(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.say(general, ann, "hello")
	const text = "https://a.example/cat.png and https://a.example/page, @ann and mail@here.example"
	for _, args := range []map[string]any{
		{}, {"unfurl_links": "true", "unfurl_media": "false"}, {"unfurl_media": "false", "parse": "none"}, {"parse": "full"},
	} {
		args["channel"], args["text"] = general.ID, text
		w.call("chat.postMessage", args)
	}
	last := w.Books().Messages[3]
	w.call("chat.update", map[string]any{"channel": general.ID, "ts": last.TS, "text": text})
	w.call("chat.update", map[string]any{"channel": general.ID, "ts": last.TS, "text": text, "parse": "none"})
	ms := w.Books().Messages
	for i, want := range [][]string{{"https://a.example/cat.png"}, {"https://a.example/page,"}, nil, {"https://a.example/cat.png"}} {
		if got := ms[i].Versions[0].Unfurls; !slices.Equal(got, want) {
			t.Errorf("message %d shows %v, want %v", i, got, want)
		}
	}
	for i, want := range [][]string{{"ann"}, {"ann"}, nil} {
		if got := ms[3].Versions[i].Pings; !slices.Equal(got, want) {
			t.Errorf("version %d pings %v, want %v", i, got, want)
		}
	}
	if got := ms[0].Versions[0].Pings; got != nil {
		t.Errorf("chat.postMessage looks for names: %v", got)
	}
}
