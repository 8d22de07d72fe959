package telegram_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"
	"time"

	sim "parley/simulators/telegram"
)

// firstday A4: https://core.telegram.org/bots/api#setmessagereaction.
func TestSetMessageReaction(t *testing.T) {
	t.Parallel()
	p := start(t)
	dm := sim.PrivateChat(ann)
	hers := p.say(dm, ann, "hello").MessageID
	grouped := p.say(super, ann, "/start").MessageID
	p.say(team, ann, "/start")
	if err := p.AllowReactions(team, "👍"); err != nil {
		t.Fatal(err)
	}
	p.say(forum, ann, "/start")
	topic, err := p.CreateTopic(forum, ann, "Ideas", "")
	if err != nil {
		t.Fatal(err)
	}
	in := func(chat, message int64, reaction string) args {
		a := args{"chat_id": chat, "message_id": message}
		if reaction != "" {
			a["reaction"] = json.RawMessage(reaction)
		}
		return a
	}
	eyes := `[{"type":"emoji","emoji":"👀"}]`
	const bad = "Bad Request: "
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"in a direct message", in(dm.ID, hers, eyes), ""},
		{"the same again", in(dm.ID, hers, eyes), ""},
		{"another instead", in(dm.ID, hers, `[{"type":"emoji","emoji":"👍"}]`), ""},
		{"none", in(dm.ID, hers, `[]`), ""},
		{"none where there is none, by leaving it out", in(dm.ID, hers, ""), ""},
		{"in a group", in(super.ID, grouped, eyes), ""},
		{"of another list", in(dm.ID, hers, `[{"type":"emoji","emoji":"✅"}]`), bad + "REACTION_INVALID"},
		{"with a variation selector", in(dm.ID, hers, `[{"type":"emoji","emoji":"❤️"}]`), bad + "REACTION_INVALID"},
		{"not allowed in the group", in(team.ID, 2, eyes), bad + "REACTION_INVALID"},
		{"allowed in the group", in(team.ID, 2, `[{"type":"emoji","emoji":"👍"}]`), ""},
		{"taken back where none is allowed", in(team.ID, 2, `[]`), ""},
		{"on a service message", in(forum.ID, topic, eyes), bad + "REACTION_INVALID"},
		{"two", in(dm.ID, hers, `[{"type":"emoji","emoji":"👀"},{"type":"emoji","emoji":"👍"}]`), bad + "REACTIONS_TOO_MANY"},
		{"no such message", in(dm.ID, 777, eyes), bad + "message to react not found"},
		{"no such chat", in(5, 1, eyes), bad + "chat not found"},
		{"no array", in(dm.ID, hers, `{}`), bad + "expected an Array of ReactionType"},
		{"no object", in(dm.ID, hers, `["👀"]`), bad + "can't parse ReactionType: expected an Object"},
		{"no type", in(dm.ID, hers, `[{"emoji":"👀"}]`), bad + `can't parse ReactionType: Can't find field "type"`},
		{"paid", in(dm.ID, hers, `[{"type":"paid"}]`), bad + "can't parse ReactionType: invalid reaction type specified"},
	} {
		if r := p.call("setMessageReaction", c.args); r.OK != (c.want == "") || r.Description != c.want {
			t.Errorf("%s: %v %q, want %q", c.name, r.OK, r.Description, c.want)
		}
	}
	var seen []string
	for _, e := range p.Books().Signals {
		if e.ChatID == dm.ID {
			seen = append(seen, e.Kind+" "+e.Text)
		}
	}
	if want := []string{"reaction 👀", "reaction 👍", "reaction "}; !slices.Equal(seen, want) {
		t.Errorf("people saw %q, want %q", seen, want)
	}
}

// firstday A4: the reaction to any picture of an album is the first one's.
func TestTheReactionToAnAlbumIsOnItsFirstMessage(t *testing.T) {
	t.Parallel()
	p := start(t)
	dm := sim.PrivateChat(ann)
	all, err := p.Album(dm, ann, "look", 3, sim.SayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, said := range all {
		p.call("setMessageReaction", args{"chat_id": dm.ID, "message_id": said.MessageID, "reaction": []args{{"type": "emoji", "emoji": "👀"}}})
	}
	if s := p.Books().Signals; len(s) != 1 || s[0].ID != strconv.FormatInt(all[0].MessageID, 10) {
		t.Errorf("the books have %+v", s)
	}
}

// firstday A4: reactions count for the bot's own limit, and no reaction comes within a
// penalty of its chat.
func TestReactionsAreLimited(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := start(t, func(o *sim.Options) { o.Pace, o.Now = 1, func() time.Time { return now } })
	dm := sim.PrivateChat(ann)
	hers := p.say(dm, ann, "hello").MessageID
	react := func() reply {
		return p.call("setMessageReaction", args{"chat_id": dm.ID, "message_id": hers, "reaction": []args{{"type": "emoji", "emoji": "👀"}}})
	}
	for range 30 {
		if r := react(); !r.OK {
			t.Fatal(r.Description)
		}
	}
	if r := react(); r.ErrorCode != 429 {
		t.Errorf("the 31st reaction in a second: %+v", r)
	}
	q := start(t)
	q.say(dm, ann, "hello")
	if err := q.Plan(sim.Fault{Trouble: sim.TooManyRequests, Method: "sendMessage", Next: 1, RetryAfter: 30}); err != nil {
		t.Fatal(err)
	}
	q.call("sendMessage", args{"chat_id": dm.ID, "text": "hi"})
	if r := q.call("setMessageReaction", args{"chat_id": dm.ID, "message_id": hers}); r.ErrorCode != 429 || q.Totals().Violations != 1 {
		t.Errorf("within a penalty: %+v", r)
	}
}
