package intake

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/policy"
	"parley/sessionkeys"
)

// firstday S9: all groups together take no more than they may, the quietest goes first,
// and what is forgotten is not counted any more.
func TestOverheardCountsEveryByte(t *testing.T) {
	t.Parallel()
	var o overheard
	now := time.Unix(1700000000, 0)
	said := func(peer, n int) channels.Message {
		return channels.Message{
			Kind: channels.Said, Channel: "tg", MessageID: fmt.Sprint(n), Text: strings.Repeat("x", 1000), Sender: channels.Sender{ID: "1", Name: "Ben"},
			Address: sessionkeys.Address{Kind: sessionkeys.Group, Peer: fmt.Sprint(peer)},
		}
	}
	counted := func() (n int) {
		for s, t := range o.chats {
			n += s.bytes()
			for _, w := range t.messages {
				n += w.bytes()
			}
		}
		return n
	}
	for peer := range 1000 {
		for n := range 10 {
			now = now.Add(time.Millisecond)
			o.record(said(peer, n), 20, now)
			if o.bytes > maxHeardAll {
				t.Fatalf("%d bytes are kept", o.bytes)
			}
		}
	}
	if o.bytes != counted() || o.bytes < maxHeardAll/2 {
		t.Fatalf("%d bytes are counted of %d", o.bytes, counted())
	}
	if o.chats[chatKey{"tg", "0", ""}] != nil || o.chats[chatKey{"tg", "999", ""}] == nil {
		t.Error("the quietest are not the ones that went")
	}
	edited := said(999, 9)
	edited.Kind, edited.Text = channels.Edited, "short"
	o.record(edited, 20, now)
	edited.Kind, edited.MessageID = channels.Deleted, "8"
	o.record(edited, 20, now)
	if o.bytes != counted() {
		t.Errorf("after an edit %d bytes are counted of %d", o.bytes, counted())
	}
	o.forgetGroup("tg", "998")
	o.sweep(now.Add(heardFor))
	if len(o.chats) != 0 || o.bytes != 0 {
		t.Errorf("of %d conversations %d bytes are counted", len(o.chats), o.bytes)
	}
}

// firstday S9: where words are kept, and where not at all, not even for a moment.
func TestHearsOnlyWhereItIsWanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(e *event)
		want   bool
	}{
		"a listed group":               {func(*event) {}, true},
		"nothing is configured":        {func(e *event) { e.source.GroupContext = 0 }, false},
		"the bot was removed from it":  {func(e *event) { e.chat.Closed = true }, false},
		"a direct message":             {func(e *event) { e.Address.Kind = sessionkeys.DM }, false},
		"a channel":                    {func(e *event) { e.Address.Kind = sessionkeys.Channel }, false},
		"another group":                {func(e *event) { e.Address.Peer = "2" }, false},
		"another id of a listed group": {func(e *event) { e.Address.Peer, e.chat.IDs = "2", []string{"1"} }, true},
		"an event without an id":       {func(e *event) { e.Event = "" }, false},
	} {
		e := &event{source: Source{GroupContext: 1, Access: policy.Access{Everyone: true, Groups: []string{"1"}}}}
		e.Event, e.Address = "e", sessionkeys.Address{Kind: sessionkeys.Group, Peer: "1"}
		c.change(e)
		if got := e.keepsOverheard(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
