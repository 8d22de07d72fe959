package telegram_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	sim "parley/simulators/telegram"
)

func TestAnUpdateStaysUntilAnOffsetAboveItArrives(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, text := range []string{"one", "two", "three"} {
		p.say(sim.PrivateChat(ann), ann, text)
	}
	steps := []struct {
		name   string
		args   args
		want   []int64
		queued int
	}{
		{"a poll without offset confirms nothing", args{}, []int64{1000, 1001, 1002}, 3},
		{"a crash before the next poll: all come again", args{"offset": 0}, []int64{1000, 1001, 1002}, 3},
		{"limit cuts from the front", args{"limit": 2}, []int64{1000, 1001}, 3},
		{"an offset equal to the id does not confirm it", args{"offset": 1000}, []int64{1000, 1001, 1002}, 3},
		{"an offset confirms what is below", args{"offset": 1001}, []int64{1001, 1002}, 2},
		{"a smaller offset brings nothing back", args{"offset": 1}, []int64{1001, 1002}, 2},
		{"a negative offset forgets all but the last", args{"offset": -1}, []int64{1002}, 1},
		{"an offset past the end empties the queue", args{"offset": 1003}, []int64{}, 0},
	}
	for _, s := range steps {
		if got := ids(p.poll(s.args)); !slices.Equal(got, s.want) {
			t.Errorf("%s: got %v, want %v", s.name, got, s.want)
		}
		if got := p.Books().Pending["parley_bot"]; got != s.queued {
			t.Errorf("%s: %d queued, want %d", s.name, got, s.queued)
		}
	}
	us := p.Books().Updates
	if us[0].Confirmed.IsZero() || us[0].Dropped || us[0].Handed != 4 || us[0].Text != "one" || us[0].FromID != ann.ID {
		t.Errorf("first: %+v", us[0])
	}
	if !us[1].Dropped || !us[1].Confirmed.IsZero() {
		t.Errorf("forgotten by a negative offset: %+v", us[1])
	}
}

func TestALongPollIsWokenByAnUpdate(t *testing.T) {
	t.Parallel()
	p := start(t)
	got := make(chan []int64, 1)
	go func() {
		r, err := p.try(soon(t), token, "getUpdates", args{"timeout": 50})
		if err != nil {
			t.Error(err)
		}
		got <- ids(p.updates(r))
	}()
	p.awaitPoll()
	p.say(sim.PrivateChat(ann), ann, "wake up")
	select {
	case us := <-got:
		if !slices.Equal(us, []int64{1000}) {
			t.Errorf("got %v", us)
		}
	case <-soon(t).Done():
		t.Error("the poll still waits")
	}
}

func TestAPollWithAShortTimeoutEndsEmpty(t *testing.T) {
	t.Parallel()
	if us := start(t).poll(args{"timeout": 1}); len(us) != 0 {
		t.Errorf("got %v", us)
	}
}

func TestTheSecondPollerEndsTheFirstWith409(t *testing.T) {
	t.Parallel()
	p := start(t)
	ended := make(chan reply, 8)
	poll := func() {
		r, err := p.try(soon(t), token, "getUpdates", args{"timeout": 50})
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}
	go poll()
	p.awaitPoll()
	go poll()
	var first reply
	select {
	case first = <-ended:
	case <-soon(t).Done():
		t.Fatal("both polls wait")
	}
	if first.ErrorCode != 409 || first.Description != "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running" {
		t.Errorf("the earlier poll: %+v", first)
	}
	p.say(sim.PrivateChat(ann), ann, "hi")
	if second := <-ended; !second.OK || len(p.updates(second)) != 1 {
		t.Errorf("the later poll: %+v", second)
	}
}

func TestAWebhookExcludesPolling(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "hi")
	p.call("setWebhook", args{"url": "http://127.0.0.1:1/none"})
	if r := p.call("getUpdates", nil); r.ErrorCode != 409 || r.Description != "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first" {
		t.Errorf("poll: %+v", r)
	}
	var info struct {
		URL     string `json:"url"`
		Pending int    `json:"pending_update_count"`
	}
	if err := json.Unmarshal(p.call("getWebhookInfo", nil).Result, &info); err != nil || info.URL == "" || info.Pending != 1 {
		t.Errorf("info: %+v, %v", info, err)
	}
	p.call("deleteWebhook", args{"drop_pending_updates": false})
	if us := p.poll(nil); len(us) != 1 {
		t.Errorf("after deleteWebhook: %v", us)
	}
	p.call("deleteWebhook", args{"drop_pending_updates": true})
	if us := p.poll(nil); len(us) != 0 {
		t.Errorf("after dropping: %v", us)
	}
}

func TestAllowedUpdatesAreRemembered(t *testing.T) {
	t.Parallel()
	p := start(t)
	dm := sim.PrivateChat(ann)
	hi := p.say(dm, ann, "hi")
	edits := func() int {
		said, err := p.Edit(dm.ID, hi.MessageID, "hi!", sim.SayOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(said.Updates)
	}
	if edits() != 1 {
		t.Error("by default no edit came")
	}
	p.poll(args{"allowed_updates": []string{"message"}})
	p.poll(nil)
	if edits() != 0 {
		t.Error("a poll without allowed_updates forgot the setting")
	}
	p.poll(args{"allowed_updates": []string{}})
	if edits() != 1 {
		t.Error("an empty list is not the default set")
	}
}

func TestBotsHaveSeparateQueues(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "to the other", sim.SayOptions{Bot: "Other_Bot"})
	if us := p.poll(nil); len(us) != 0 {
		t.Errorf("first bot: %v", us)
	}
	r, err := p.try(t.Context(), token2, "getUpdates", nil)
	if err != nil || len(p.updates(r)) != 1 {
		t.Errorf("second bot: %+v, %v", r, err)
	}
	if r := p.call("sendMessage", args{"chat_id": ann.ID, "text": "hi"}); r.Description != "Bad Request: chat not found" {
		t.Errorf("a bot that was never written to: %+v", r)
	}
}

func TestInjectedUpdatesGoOutAsTheyAre(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "before")
	ref, err := p.Inject("", json.RawMessage(`{"future_thing":{"x":1}}`))
	if err != nil || ref.UpdateID != 1001 {
		t.Fatalf("%+v, %v", ref, err)
	}
	r := p.call("getUpdates", nil)
	var us []map[string]json.RawMessage
	if err := json.Unmarshal(r.Result, &us); err != nil || len(us) != 2 || string(us[1]["future_thing"]) != `{"x":1}` || string(us[1]["update_id"]) != "1001" {
		t.Errorf("%s, %v", r.Result, err)
	}
	if _, err := p.Inject("", json.RawMessage(`{"update_id":`)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.try(t.Context(), token, "getUpdates", nil); err == nil {
		t.Error("a malformed update left the answer well-formed")
	}
	if us := p.poll(args{"offset": 1003}); len(us) != 0 {
		t.Errorf("an offset did not get past it: %v", us)
	}
	if _, err := p.Inject("nobody", nil); err == nil {
		t.Error("injected for a bot that does not exist")
	}
}

func TestAPollerThatGoesAwayLeavesTheQueueUsable(t *testing.T) {
	t.Parallel()
	p := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = p.try(ctx, token, "getUpdates", args{"timeout": 50})
	}()
	p.awaitPoll()
	cancel()
	<-gone
	p.say(sim.PrivateChat(ann), ann, "hi")
	if us := p.poll(args{"timeout": 50}); len(us) != 1 {
		t.Errorf("got %v", us)
	}
}
