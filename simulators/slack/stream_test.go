package slack_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	sim "parley/simulators/slack"
)

// streaming starts a stream in a thread of general.
func (w *workspace) streaming(thread string) answer {
	w.t.Helper()
	a := w.call("chat.startStream", map[string]any{
		"channel": general.ID, "thread_ts": thread, "recipient_team_id": "T0PARLEY01", "recipient_user_id": ann.ID, "markdown_text": "one",
	})
	if !a.OK {
		w.t.Fatalf("start: %s", a.raw)
	}
	return a
}

func TestAStreamGrowsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	a := w.streaming(root.TS)
	at := func(more map[string]any) map[string]any {
		more["channel"], more["ts"] = general.ID, a.TS
		return more
	}
	if x := w.call("chat.appendStream", at(map[string]any{"markdown_text": " two"})); !x.OK || x.TS != a.TS {
		t.Errorf("append: %s", x.raw)
	}
	chunks := []any{map[string]any{"type": "markdown_text", "text": " three"}, map[string]any{"type": "task_update", "id": "1", "title": "t"}}
	if x := w.call("chat.appendStream", at(map[string]any{"chunks": chunks})); !x.OK {
		t.Errorf("append chunks: %s", x.raw)
	}
	if x := w.call("chat.update", at(map[string]any{"text": "no"})); x.Error != "streaming_state_conflict" {
		t.Errorf("update while it streams: %s", x.raw)
	}
	x := w.call("chat.stopStream", at(map[string]any{
		"markdown_text": " four", "metadata": map[string]any{"event_type": "marker", "event_payload": map[string]any{}},
	}))
	if !x.OK || !strings.Contains(string(x.raw), "one two three four") {
		t.Errorf("stop: %s", x.raw)
	}
	for _, method := range []string{"chat.appendStream", "chat.stopStream"} {
		if x := w.call(method, at(map[string]any{"markdown_text": "late"})); x.Error != "message_not_in_streaming_state" {
			t.Errorf("%s after the end: %s", method, x.raw)
		}
	}
	if x := w.call("chat.update", at(map[string]any{"text": "changed"})); !x.OK {
		t.Errorf("update after the end: %s", x.raw)
	}
	m := w.Books().Messages[0]
	var shown []string
	for _, v := range m.Versions {
		shown = append(shown, v.Method+"="+v.Shown)
	}
	want := "chat.startStream=one|chat.appendStream=one two|chat.appendStream=one two three|chat.stopStream=one two three four|chat.update=changed"
	if got := strings.Join(shown, "|"); got != want || m.Stream != "completed" || m.ThreadTS != root.TS || len(m.Metadata) == 0 {
		t.Errorf("%s, want %s; %+v", got, want, m)
	}
}

func TestWhatAStreamNeeds(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	private := w.say(sim.DM(ann), ann, "hello")
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"channel": general.ID}, "invalid_thread_ts"},
		{map[string]any{"channel": general.ID, "thread_ts": root.TS}, "missing_recipient_team_id"},
		{map[string]any{"channel": general.ID, "thread_ts": root.TS, "recipient_team_id": "T"}, "missing_recipient_user_id"},
		{map[string]any{"channel": private.Channel, "thread_ts": private.TS}, ""},
		{map[string]any{"channel": private.Channel, "thread_ts": private.TS, "markdown_text": strings.Repeat("a", 12_001)}, "msg_too_long"},
		{map[string]any{"channel": private.Channel, "thread_ts": private.TS, "chunks": []any{map[string]any{"type": "hologram"}}}, "invalid_chunks"},
	} {
		if a := w.call("chat.startStream", c.args); a.Error != c.want {
			t.Errorf("%.200v: %s, want %q", c.args, a.raw, c.want)
		}
	}
}

func TestAStreamExpires(t *testing.T) {
	t.Parallel()
	clock := newClock()
	w := start(t, func(o *sim.Options) { o.Now = clock.now })
	a := w.streaming(w.say(general, ann, "hello").TS)
	args := map[string]any{"channel": general.ID, "ts": a.TS, "markdown_text": "x"}
	clock.pass(5*time.Minute - time.Second)
	if x := w.call("chat.appendStream", args); !x.OK {
		t.Errorf("in time: %s", x.raw)
	}
	clock.pass(time.Second)
	for _, method := range []string{"chat.appendStream", "chat.stopStream"} {
		if x := w.call(method, args); x.Error != "message_not_in_streaming_state" {
			t.Errorf("%s too late: %s", method, x.raw)
		}
	}
	if x := w.call("chat.update", map[string]any{"channel": general.ID, "ts": a.TS, "text": "all of it"}); !x.OK {
		t.Errorf("update of an expired stream: %s", x.raw)
	}
	if m := w.Books().Messages[0]; m.Stream != "expired" || m.Text() != "all of it" {
		t.Errorf("message %+v", m)
	}
}

func TestAPersonStopsAStream(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello")
	a := w.streaming(root.TS)
	s := w.connect()
	if _, err := w.StopStreams(ann, general.ID, root.TS); err != nil {
		t.Fatal(err)
	}
	for {
		f := s.read()
		s.ack(f)
		o, e := f.event(t)
		if e.Type != "agent_session_stopped" {
			continue
		}
		var stopped struct {
			Streams []string `json:"streaming_message_ts"`
		}
		if err := json.Unmarshal(o.Event, &stopped); err != nil || len(stopped.Streams) != 1 || stopped.Streams[0] != a.TS {
			t.Errorf("event %s %v", o.Event, err)
		}
		break
	}
	if x := w.call("chat.appendStream", map[string]any{"channel": general.ID, "ts": a.TS, "markdown_text": "x"}); x.Error != "message_not_in_streaming_state" {
		t.Errorf("append: %s", x.raw)
	}
}

func TestFaultsEndStreams(t *testing.T) {
	t.Parallel()
	for trouble, want := range map[sim.Trouble]string{sim.StreamExpired: "message_not_in_streaming_state", sim.StreamStopped: "message_not_in_streaming_state"} {
		w := start(t)
		a := w.streaming(w.say(general, ann, "hello").TS)
		w.plan(sim.Fault{Trouble: trouble, Next: 1})
		if x := w.call("chat.appendStream", map[string]any{"channel": general.ID, "ts": a.TS, "markdown_text": "x"}); x.Error != want {
			t.Errorf("%s: %s", trouble, x.raw)
		}
	}
}
