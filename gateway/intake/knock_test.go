package intake_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/policy"
	"parley/sessions"
)

func TestAClosedGroupIsOpenedByMentionsOnceInAWhile(t *testing.T) {
	t.Parallel()
	var w world
	in, now := limited(&w, policy.Limits{})
	n := 0
	say := func(m channels.Message) {
		t.Helper()
		n++
		m.Event = fmt.Sprint("e", n)
		noError(t, in.Accept(t.Context(), m))
	}
	shut := func() { say(membership(group(ben, ""), true)) }
	want := func(what string, published, refused int) {
		t.Helper()
		if len(w.published) != published || w.counts["ignored tg chat_closed"] != refused {
			t.Fatalf("%s: %d published, counted %v", what, len(w.published), w.counts)
		}
	}
	shut()
	photo := ofAlbum("a", group(ann, "not for you"))
	photo.Mentioned = false
	say(photo)
	want("a photo that is not for the bot", 0, 1)
	say(group(ann, "hi"))
	want("the first mention", 1, 1)
	for i := range 5 { // each send is refused, as the bot is muted
		shut()
		say(group(ann, "hi"))
		say(group(ann, "/stop"))
		want("a mention right after", 1, 3+2*i)
	}
	*now = now.Add(10 * time.Minute)
	say(group(ann, "hi"))
	want("ten minutes later", 2, 11)
	say(group(ann, "hi"))
	want("the chat is open", 3, 11)
	shut()
	say(membership(group(ben, ""), false))
	shut()
	say(group(ann, "hi"))
	want("the network had opened it since", 4, 11)
	*now = now.Add(-time.Hour) // a clock that was set back locks nobody out
	shut()
	say(group(ann, "hi"))
	want("the clock was set back", 5, 11)

	for i := range 3 { // who can write to the bot has not blocked it
		m := dm(ann, "")
		say(membership(m, true))
		say(dm(ann, "hi"))
		want("a direct message", 6+i, 11)
	}
}

func TestAGroupThatCouldNotBeOpenedIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := world{fail: "Reopen", chats: map[string]sessions.Chat{kitchen: {IDs: []string{kitchen}, Closed: true}}}
	in := w.intake(policy.Access{Everyone: true})
	if err := in.Accept(t.Context(), group(ann, "hi")); !errors.Is(err, errDown) {
		t.Fatal(err)
	}
	w.fail = ""
	if err := in.Accept(t.Context(), group(ann, "hi")); err != nil || len(w.published) != 1 {
		t.Errorf("%v, counted %v", err, w.counts)
	}
}
