package telegram_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	sim "parley/simulators/telegram"
)

func TestTextsCarryTheEntitiesThatClientsCompute(t *testing.T) {
	t.Parallel()
	p := start(t)
	e := func(kind string, offset, length int) sim.Entity {
		return sim.Entity{Type: kind, Offset: offset, Length: length}
	}
	for text, want := range map[string][]sim.Entity{
		"plain":                          nil,
		"@parley_bot hi":                 {e("mention", 0, 11)},
		"👋🏽 hello @Parley_Bot!":          {e("mention", 11, 11)},
		"mail a@parley_bot":              nil,
		"@ab":                            nil,
		"/start":                         {e("bot_command", 0, 6)},
		"🦜 /ask@other_bot now":           {e("bot_command", 3, 14)},
		"a/b and /etc/passwd":            nil,
		"see https://example.org/x, #go": {e("url", 4, 21), e("hashtag", 27, 3)},
	} {
		p.say(sim.PrivateChat(ann), ann, text)
		us := p.poll(args{"offset": -1})
		if diff := cmp.Diff(want, us[0].Message.Entities, cmp.AllowUnexported()); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestPrivacyModeLetsThroughOnlyWhatConcernsTheBot(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(team, ann, "/start")
	mine := p.send(team.ID, "I am here")
	hers := p.say(team, ann, "talk among people").MessageID
	me := sim.Person{ID: 42, FirstName: "Parley", IsBot: true}
	for _, c := range []struct {
		name, text string
		o          sim.SayOptions
		private    bool // the bot in privacy mode sees it
	}{
		{"talk", "hello all", sim.SayOptions{}, false},
		{"mention in another case", "@PARLEY_bot hello", sim.SayOptions{}, true},
		{"mention of another bot", "@other_bot hello", sim.SayOptions{}, false},
		{"longer name", "@parley_bot2 hello", sim.SayOptions{}, false},
		{"command", "/help", sim.SayOptions{}, true},
		{"own command", "/help@Parley_bot", sim.SayOptions{}, true},
		{"another's command", "/help@other_bot", sim.SayOptions{}, false},
		{"text mention", "Parley, hello", sim.SayOptions{Mentions: []sim.TextMention{{Name: "Parley", User: me}}}, true},
		{"reply to the bot", "thanks", sim.SayOptions{ReplyTo: mine}, true},
		{"reply to somebody", "thanks", sim.SayOptions{ReplyTo: hers}, false},
		{"caption with a mention", "@parley_bot look", sim.SayOptions{Media: "photo"}, true},
		{"photo", "look", sim.SayOptions{Media: "photo"}, false},
	} {
		seen := map[string]bool{}
		for _, u := range p.say(team, bob, c.text, c.o).Updates {
			seen[u.Bot] = true
		}
		if seen["parley_bot"] != c.private || !seen["other_bot"] {
			t.Errorf("%s: seen by %v", c.name, seen)
		}
	}
	if said := p.say(team, sim.Person{ID: 9, IsBot: true, Username: "third_bot"}, "@parley_bot hello"); len(said.Updates) != 0 {
		t.Errorf("a bot's message reached %v", said.Updates)
	}
}

func TestBotsThatHearBotsHearThem(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *sim.Options) { o.Bots[1].HearsBots = true })
	p.say(team, ann, "/start")
	before := p.Books().Pending
	p.send(team.ID, "hello fellow bot")
	after := p.Books().Pending
	if after["other_bot"] != before["other_bot"]+1 || after["parley_bot"] != before["parley_bot"] {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestGuisesLookLikeThePlatformsStandIns(t *testing.T) {
	t.Parallel()
	p := start(t)
	news := sim.Chat{ID: -1001000000900, Kind: sim.Channel, Title: "News"}
	for _, c := range []struct {
		as           sim.Guise
		from, sender int64
		forwarded    bool
	}{
		{"", ann.ID, 0, false},
		{sim.AsAnonymousAdmin, 1087968824, super.ID, false},
		{sim.AsChannel, 136817688, news.ID, false},
		{sim.AsAutoForward, 777000, news.ID, true},
	} {
		p.say(super, ann, "/x", sim.SayOptions{As: c.as, Channel: &news})
		m := p.poll(args{"offset": -1})[0].Message
		var sender int64
		if m.SenderChat != nil {
			sender = m.SenderChat.ID
		}
		if m.From.ID != c.from || sender != c.sender || m.AutoForward != c.forwarded {
			t.Errorf("%q: %+v", c.as, m)
		}
	}
}

func TestAMessageInATopicAnswersTheTopicsFirstMessage(t *testing.T) {
	t.Parallel()
	p := start(t)
	topic, err := p.CreateTopic(forum, ann, "Ideas", "")
	if err != nil {
		t.Fatal(err)
	}
	p.say(forum, ann, "/new", sim.SayOptions{Thread: topic})
	m := p.poll(args{"offset": -1})[0].Message
	if m.MessageThreadID != topic || m.ReplyTo == nil || m.ReplyTo.MessageID != topic {
		t.Errorf("%+v", m)
	}
	r := p.call("sendMessage", args{"chat_id": forum.ID, "text": "answer", "reply_parameters": args{"message_id": m.MessageID}})
	if got := p.message(r).MessageThreadID; got != topic {
		t.Errorf("an answer without message_thread_id went to topic %d", got)
	}
	p.say(forum, ann, "/new", sim.SayOptions{Thread: 1})
	if m := p.poll(args{"offset": -1})[0].Message; m.MessageThreadID != 0 {
		t.Errorf("General: %+v", m)
	}
}

func TestTopicsInPrivateChatsDependOnTheBot(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *sim.Options) { o.Bots[0].HasTopics = true })
	dm := sim.PrivateChat(ann)
	topic, err := p.CreateTopic(dm, ann, "Plans", "")
	if err != nil {
		t.Fatal(err)
	}
	if r := p.call("sendMessage", args{"chat_id": dm.ID, "text": "x", "message_thread_id": topic}); !r.OK {
		t.Errorf("%+v", r)
	}
	if _, err := p.CreateTopic(dm, ann, "Plans", "other_bot"); err == nil {
		t.Error("a bot without topics got one")
	}
}

func TestAnAlbumIsSeveralMessagesWithOneCaption(t *testing.T) {
	t.Parallel()
	p := start(t)
	if _, err := p.Album(sim.PrivateChat(ann), ann, "my holiday", 3, sim.SayOptions{}); err != nil {
		t.Fatal(err)
	}
	us := p.poll(nil)
	if len(us) != 3 || us[0].Message.Caption != "my holiday" || us[1].Message.Caption != "" ||
		us[0].Message.MediaGroupID == "" || us[0].Message.MediaGroupID != us[2].Message.MediaGroupID {
		t.Errorf("%+v", us)
	}
}

func TestAFileCanBeDownloaded(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "read this", sim.SayOptions{Media: "document", FileName: "../a.txt", File: []byte("content")})
	m := p.poll(nil)[0].Message
	r := p.call("getFile", args{"file_id": m.Document.FileID})
	path := p.fields(r)["file_path"].(string)
	if got := p.get("/file/bot" + token + "/" + path); got != "content" {
		t.Errorf("%s: %q", path, got)
	}
}

func TestABotEditsTheVersionAndBooksKeepAll(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "hi")
	watch := p.Watch(t.Context())
	id := p.send(ann.ID, "one")
	p.call("editMessageText", args{"chat_id": ann.ID, "message_id": id, "text": "two"})
	p.call("sendChatAction", args{"chat_id": ann.ID, "action": "typing"})
	p.call("deleteMessage", args{"chat_id": ann.ID, "message_id": id})
	for _, want := range []string{"sent one", "edited two", "action typing", "deleted "} {
		if h := <-watch; h.Kind+" "+h.Text != want || h.ChatID != ann.ID {
			t.Errorf("watched %+v, want %q", h, want)
		}
	}
	m := p.Books().Messages[0]
	if len(m.Versions) != 2 || m.Versions[0].Text != "one" || m.Text() != "two" || m.Deleted.IsZero() {
		t.Errorf("%+v", m)
	}
	for _, v := range m.Versions {
		if v.Client != "127.0.0.1" {
			t.Errorf("%q is said to have come from %q", v.Text, v.Client)
		}
	}
}

func TestAPressIsAnsweredAndAnOldOneCannotBe(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "hi")
	id := p.send(ann.ID, "choose")
	for _, o := range []sim.PressOptions{{}, {Inaccessible: true}, {Expired: true}} {
		if _, err := p.Press(ann, ann.ID, id, "yes", o); err != nil {
			t.Fatal(err)
		}
		q := p.poll(args{"offset": -1})[0].Callback
		var m struct {
			Date int64 `json:"date"`
		}
		p.decode(q.Message, &m)
		if q.Data != "yes" || (m.Date == 0) != o.Inaccessible {
			t.Errorf("%+v: %+v", o, q)
		}
		if r := p.call("answerCallbackQuery", args{"callback_query_id": q.ID}); r.OK == o.Expired {
			t.Errorf("%+v: answer %+v", o, r)
		}
	}
}

func TestBlockingAndUnblockingAreTold(t *testing.T) {
	t.Parallel()
	p := start(t)
	dm := sim.PrivateChat(ann)
	p.say(dm, ann, "hi")
	if _, err := p.Block(ann, ""); err != nil {
		t.Fatal(err)
	}
	p.say(dm, ann, "/start")
	us := p.poll(nil)
	if len(us) != 4 || us[1].MyChatMember.New.Status != "kicked" || us[2].MyChatMember.New.Status != "member" || us[3].Message == nil {
		t.Errorf("%+v", us)
	}
	p.send(dm.ID, "welcome back")
}

func TestWhatPeopleCannotDoIsAnError(t *testing.T) {
	t.Parallel()
	p := start(t)
	dm := sim.PrivateChat(ann)
	for name, err := range map[string]error{
		"foreign private chat": second(p.Say(dm, bob, "x", sim.SayOptions{})),
		"chat without a kind":  second(p.Say(sim.Chat{ID: 5}, ann, "x", sim.SayOptions{})),
		"unknown bot":          second(p.Say(dm, ann, "x", sim.SayOptions{Bot: "nobody"})),
		"unknown reply":        second(p.Say(dm, ann, "x", sim.SayOptions{ReplyTo: 99})),
		"unknown topic":        second(p.Say(forum, ann, "x", sim.SayOptions{Thread: 99})),
		"edit of nothing":      second(p.Edit(dm.ID, 99, "x", sim.SayOptions{})),
		"press on nothing":     second(p.Press(ann, 123, 1, "x", sim.PressOptions{})),
		"topic in a group":     second(p.CreateTopic(team, ann, "x", "")),
		"bad fault":            p.Plan(sim.Fault{Trouble: "gremlins"}),
		"bad probability":      p.Plan(sim.Fault{Trouble: sim.Slow, Probability: 2}),
		"no bots":              second(sim.New(sim.Options{})),
		"bad token":            second(sim.New(sim.Options{Bots: []sim.Bot{{Token: "x"}}})),
		"twins":                second(sim.New(sim.Options{Bots: []sim.Bot{{Token: token}, {Token: token}}})),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }
