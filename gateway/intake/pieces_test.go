package intake_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/messages"
	"parley/gateway/policy"
)

var received = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// at is m, received so long after the first.
func at(after time.Duration, m channels.Message) channels.Message {
	m.ReceivedAt, m.SentAt = received.Add(after), received.Add(after).Truncate(time.Second)
	m.Event, m.MessageID = fmt.Sprint("e", after), fmt.Sprint("m", after)
	return m
}

func ofAlbum(id string, m channels.Message) channels.Message { m.Album = id; return m }

func unmentioned(m channels.Message) channels.Message { m.Mentioned = false; return m }

func TestOnlyPiecesOfOneThingJoin(t *testing.T) {
	t.Parallel()
	long, emoji := strings.Repeat("x", 4000), strings.Repeat("🙂", 2000)
	second := time.Second
	late := at(second, dm(ann, "two"))
	late.SentAt = received.Add(time.Minute)
	edited := at(second, dm(ann, "two"))
	edited.Kind = channels.Edited
	otherBot := at(second, ofAlbum("a", dm(ann, "two")))
	otherBot.Channel = "tg2"
	for _, c := range []struct {
		name    string
		last, m channels.Message
		want    bool
	}{
		{"two short messages", at(0, dm(ann, "one")), at(second, dm(ann, "two")), false},
		{"a long one and the next", at(0, dm(ann, long)), at(second, dm(ann, "two")), true},
		{"one of 4000 UTF-16 units and the next", at(0, dm(ann, emoji)), at(second, dm(ann, "two")), true},
		{"one of 3999 and the next", at(0, dm(ann, long[1:])), at(second, dm(ann, "two")), false},
		{"one of 3998 units in 7996 bytes", at(0, dm(ann, emoji[4:])), at(second, dm(ann, "two")), false},
		{"a long one and one too late", at(0, dm(ann, long)), at(2*second, dm(ann, "two")), false},
		{"a long one and one sent too late, received at once", at(0, dm(ann, long)), late, false},
		{"a long one and one of somebody else", at(0, dm(ann, long)), at(second, dm(ben, "two")), false},
		{"a long one and a command", at(0, dm(ann, long)), at(second, dm(ann, "/new")), false},
		{"a long one and an edit", at(0, dm(ann, long)), edited, false},
		{"a long one and an album", at(0, dm(ann, long)), at(second, ofAlbum("a", dm(ann, "two"))), false},
		{"one album", at(0, ofAlbum("a", dm(ann, "one"))), at(second, ofAlbum("a", dm(ann, ""))), true},
		{"one album, later", at(0, ofAlbum("a", dm(ann, "one"))), at(time.Hour, ofAlbum("a", dm(ann, ""))), true},
		{"two albums", at(0, ofAlbum("a", dm(ann, long))), at(second, ofAlbum("b", dm(ann, ""))), false},
		{"an album of two people", at(0, ofAlbum("a", dm(ann, ""))), at(second, ofAlbum("a", dm(ben, ""))), false},
		{"an album of two bots", at(0, ofAlbum("a", dm(ann, ""))), otherBot, false},
		{"an album and a command in it", at(0, ofAlbum("a", dm(ann, ""))), at(second, ofAlbum("a", dm(ann, "/new"))), false},
	} {
		if got := messages.Joins(c.last, c.m); got != c.want {
			t.Errorf("%s: joins is %v", c.name, got)
		}
	}
}

// published is the texts that went to the log.
func (w *world) texts(t *testing.T) (texts []string) {
	t.Helper()
	for _, e := range w.published {
		var m channels.Message
		noError(t, json.Unmarshal(e.Body, &m))
		texts = append(texts, m.Text[:min(3, len(m.Text))])
	}
	return texts
}

func TestAcceptOfPieces(t *testing.T) {
	t.Parallel()
	t.Run("ignores the rest of a text whose first piece was refused", func(t *testing.T) {
		t.Parallel()
		w := world{waiting: 32}
		in, _ := limited(&w, policy.Limits{Queue: 32})
		noError(t, in.Accept(t.Context(), at(0, group(ann, strings.Repeat("x", 4000)))))
		w.waiting = 0
		noError(t, in.Accept(t.Context(), at(time.Second, unmentioned(group(ann, "rest")))))
		if len(w.published) != 0 || w.counts["ignored tg rate_limited"] != 1 || w.counts["ignored tg not_mentioned"] != 1 {
			t.Errorf("%d published, counted %v", len(w.published), w.counts)
		}
	})
}

func TestInAGroupThePiecesOfWhatMentionsTheBotAreTaken(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 4000)
	var w world
	in := w.intake(policy.Access{People: []string{ann}, Groups: []string{kitchen}})
	second, ms := time.Second, time.Millisecond
	photo := func(m channels.Message) channels.Message {
		m.Attachments = []channels.Attachment{{Kind: "photo", Ref: "r"}}
		return m
	}
	for _, m := range []channels.Message{
		at(0, unmentioned(group(ann, "no"))),
		at(1, unmentioned(group(ann, "la1"+long))), // a later piece may have the mention
		at(1, unmentioned(group(ben, "no"+long))),
		at(100*ms, unmentioned(group(ann, "la2"+long))),
		at(200*ms, group(ann, "la3")),
		at(300*ms, unmentioned(group(ann, "no, the end was there"))),
		at(1*second, group(ann, "on1"+long)),
		at(1*second+1, unmentioned(group(ben, "no, somebody else, who may not"))),
		at(1*second+100*ms, unmentioned(group(ann, "on2"+long))),
		at(1*second+200*ms, unmentioned(group(ann, "on3"))),
		at(1*second+300*ms, unmentioned(group(ann, "no, the end was there"))),
		at(5*second, group(ann, "on4"+long)),
		at(7*second, unmentioned(group(ann, "no, too late"))),
		at(8*second, ofAlbum("a", unmentioned(photo(group(ann, "al1"))))),
		at(9*second, ofAlbum("a", unmentioned(photo(group(ben, "no"))))),
		at(10*second, ofAlbum("a", unmentioned(photo(group(ann, "/stop"))))),
	} {
		noError(t, in.Accept(t.Context(), m))
	}
	if got, want := fmt.Sprint(w.texts(t)), "[la1 la2 la3 on1 on2 on3 on4 al1 /st]"; got != want {
		t.Errorf("published %v, want %v", got, want)
	}
	if len(w.requests) != 0 {
		t.Error("a command that was not for the bot was carried out")
	}
	if w.counts["ignored tg not_allowed"] != 3 || w.counts["ignored tg not_mentioned"] != 4 {
		t.Errorf("counted %v", w.counts)
	}
}
