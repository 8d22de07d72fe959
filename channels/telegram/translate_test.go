package telegram

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"parley/channels"
	"parley/sessionkeys"
)

func translator(t testing.TB) *receiver {
	t.Helper()
	c, err := New(Options{
		Common: channels.Common{Name: "tg", Now: func() time.Time { return time.Unix(1_800_000_000, 0) }},
		Token:  channels.NewSecret("42:x"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return &receiver{Channel: c, me: self{ID: 42, Username: "Parley_bot"}}
}

func (r *receiver) read(raw string) channels.Message {
	id, known := peekID(json.RawMessage(raw))
	m, _ := r.translate(json.RawMessage(raw), id, known)
	return m
}

const group = `{"id":-100500,"type":"supergroup","title":"Team"}`

// What a person says to a message that they alone see is answered to them alone.
func TestEphemeralMessage(t *testing.T) {
	t.Parallel()
	m := translator(t).read(`{"update_id":5,"message":{"message_id":0,"ephemeral_message_id":7,"date":1700000000,"from":{"id":1001,"first_name":"Ann"},"chat":` + group + `,"text":"why?"}}`)
	if m.Kind != channels.Said || m.MessageID != "only:1001.7" || m.Text != "why?" {
		t.Errorf("%+v", m)
	}
}

func TestRow09_TheBotKnowsWhenItIsAddressed(t *testing.T) {
	t.Parallel()
	r := translator(t)
	for name, c := range map[string]struct {
		fields    string // of the message in a group
		mentioned bool
		text      string
		kind      channels.EventKind
	}{
		"a mention in another case": {
			`"text":"@PARLEY_BOT hello","entities":[{"type":"mention","offset":0,"length":11}]`, true, "hello", channels.Said,
		},
		"a mention with a comma": {
			`"text":"  @parley_bot, hello","entities":[{"type":"mention","offset":2,"length":11}]`, true, "hello", channels.Said,
		},
		"a mention after emoji": {
			`"text":"😀😀 hey @parley_bot now","entities":[{"type":"mention","offset":9,"length":11}]`, true, "😀😀 hey @parley_bot now", channels.Said,
		},
		"a mention of another": {
			`"text":"@other_bot hello","entities":[{"type":"mention","offset":0,"length":10}]`, false, "@other_bot hello", channels.Said,
		},
		"a longer name": {
			`"text":"@parley_bot2 hello","entities":[{"type":"mention","offset":0,"length":12}]`, false, "@parley_bot2 hello", channels.Said,
		},
		"only the letters": {
			`"text":"mail me@parley_bot.example or @parley_bot"`, false, "mail me@parley_bot.example or @parley_bot", channels.Said,
		},
		"a name without a username": {
			`"text":"Parley hello","entities":[{"type":"text_mention","offset":0,"length":6,"user":{"id":42}}]`, true, "hello", channels.Said,
		},
		"another's name": {
			`"text":"Parley hello","entities":[{"type":"text_mention","offset":0,"length":6,"user":{"id":43}}]`, false, "Parley hello", channels.Said,
		},
		"a command for us": {
			`"text":"/stop@parley_BOT now","entities":[{"type":"bot_command","offset":0,"length":16}]`, true, "/stop now", channels.Said,
		},
		"a command for another": {
			`"text":"/stop@other_bot","entities":[{"type":"bot_command","offset":0,"length":15}]`, false, "/stop@other_bot", channels.Unhandled,
		},
		"a command for another that is a reply to us": {
			`"text":"/stop@other_bot","entities":[{"type":"bot_command","offset":0,"length":15}],"reply_to_message":{"message_id":3,"from":{"id":42}}`, false, "/stop@other_bot", channels.Unhandled,
		},
		"a command for nobody": {
			`"text":"/stop","entities":[{"type":"bot_command","offset":0,"length":5}]`, false, "/stop", channels.Said,
		},
		"a mention before a command": {
			`"text":"@parley_bot /new@parley_bot x","entities":[{"type":"mention","offset":0,"length":11},{"type":"bot_command","offset":12,"length":15}]`, true, "/new x", channels.Said,
		},
		"a mention in a caption": {
			`"caption":"@parley_bot look","caption_entities":[{"type":"mention","offset":0,"length":11}],"photo":[{"file_id":"s"},{"file_id":"l","file_size":9}]`, true, "look", channels.Said,
		},
		"a reply to us": {
			`"text":"yes","reply_to_message":{"message_id":3,"from":{"id":42},"text":"really?"}`, true, "yes", channels.Said,
		},
		"a reply in a thread of replies to us": {
			`"text":"yes","message_thread_id":3,"reply_to_message":{"message_id":3,"from":{"id":42}}`, true, "yes", channels.Said,
		},
		"a reply to another": {
			`"text":"yes","reply_to_message":{"message_id":3,"from":{"id":43}}`, false, "yes", channels.Said,
		},
		"the root of a topic that we opened": {
			`"text":"yes","is_topic_message":true,"message_thread_id":3,"reply_to_message":{"message_id":3,"from":{"id":42}}`, false, "yes", channels.Said,
		},
		"an entity outside of the text": {
			`"text":"hi","entities":[{"type":"mention","offset":0,"length":99},{"type":"mention","offset":-1,"length":2},{"type":"mention","offset":9223372036854775807,"length":9223372036854775807}]`, false, "hi", channels.Said,
		},
		"an entity that cuts an emoji": {
			`"text":"😀@parley_bot","entities":[{"type":"mention","offset":1,"length":12}]`, false, "😀@parley_bot", channels.Said,
		},
	} {
		m := r.read(fmt.Sprintf(`{"update_id":9,"message":{"message_id":8,"date":1700000000,"chat":%s,"from":{"id":7,"first_name":"Ann"},%s}}`, group, c.fields))
		if m.Kind != c.kind || m.Mentioned != c.mentioned || m.Text != c.text {
			t.Errorf("%s: kind %s, mentioned %v, text %q, problem %q", name, m.Kind, m.Mentioned, m.Text, m.Problem)
		}
	}
}

func TestRow10_TopicsOfDirectChatsCountOnlyWhereTheBotHasThem(t *testing.T) {
	t.Parallel()
	r := translator(t)
	raw := `{"update_id":9,"message":{"message_id":8,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7},"text":"x","message_thread_id":5,"is_topic_message":true}}`
	if m := r.read(raw); m.Address.Thread != "" || m.Address.Kind != sessionkeys.DM || !m.Mentioned {
		t.Errorf("without topics: %+v", m.Address)
	}
	r.me.HasTopics = true
	if m := r.read(raw); m.Address.Thread != "5" {
		t.Errorf("with topics: %+v", m.Address)
	}
	m := r.read(fmt.Sprintf(`{"update_id":9,"message":{"message_id":8,"date":1,"chat":%s,"from":{"id":7},"text":"x","message_thread_id":5}}`, group))
	if m.Address.Thread != "" {
		t.Errorf("a thread of replies is no topic: %+v", m.Address)
	}
}

func TestRow12_TelegramsOwnAccountsAreNotPersons(t *testing.T) {
	t.Parallel()
	r := translator(t)
	for from, want := range map[string]channels.Sender{
		`"from":{"id":1087968824,"is_bot":true,"first_name":"Group"}`:                                      {ID: "1087968824", Name: "Group", Bot: true, Anonymous: true},
		`"from":{"id":1087968824,"is_bot":true},"sender_chat":{"id":-100500,"title":"Team"}`:               {ID: "-100500", Name: "Team", Bot: true, Anonymous: true},
		`"from":{"id":136817688,"is_bot":true,"first_name":"Channel"},"sender_chat":{"id":-9,"title":"N"}`: {ID: "-9", Name: "N", Bot: true, Anonymous: true},
		`"from":{"id":136817688,"is_bot":true,"first_name":"Channel"}`:                                     {ID: "136817688", Name: "Channel", Bot: true, Anonymous: true},
		`"from":{"id":777000,"first_name":"Telegram"}`:                                                     {ID: "777000", Name: "Telegram", Anonymous: true},
		`"from":{"id":7,"first_name":"Ann"},"is_automatic_forward":true`:                                   {ID: "7", Name: "Ann", Anonymous: true},
		`"sender_chat":{"id":-9,"title":"N"}`:                                                              {ID: "-9", Name: "N", Anonymous: true},
		`"from":{"id":7,"first_name":"Ann"},"sender_chat":{"id":-9,"title":"N"}`:                           {ID: "-9", Name: "N", Anonymous: true},
		`"date":1`: {Anonymous: true},
		`"from":{"id":8,"is_bot":true,"username":"helper_bot"}`:              {ID: "8", Name: "helper_bot", Bot: true},
		`"from":{"id":7,"first_name":"\u202eA\u0000n","last_name":"\nn"}`:    {ID: "7", Name: "An n"},
		`"from":{"id":7,"first_name":"` + strings.Repeat("ä", 70_000) + `"}`: {ID: "7", Name: strings.Repeat("ä", 64)},
	} {
		m := r.read(fmt.Sprintf(`{"update_id":9,"message":{"message_id":8,"chat":%s,"text":"x",%s}}`, group, from))
		if m.Kind != channels.Said || m.Sender != want {
			t.Errorf("%.80s: %s %+v, want %+v", from, m.Kind, m.Sender, want)
		}
	}
}

func TestRow15_AChatIsClosedWhereTheBotMayNotWrite(t *testing.T) {
	t.Parallel()
	r := translator(t)
	for standing, closed := range map[string]bool{
		`"status":"member"`:        false,
		`"status":"administrator"`: false,
		`"status":"creator"`:       false,
		`"status":"left"`:          true,
		`"status":"kicked"`:        true,
		`"status":"restricted","is_member":true,"can_send_messages":true`:  false,
		`"status":"restricted","is_member":true,"can_send_messages":false`: true,
		`"status":"restricted","is_member":false,"can_send_messages":true`: true,
		`"status":"restricted"`: false,
		`"status":"new"`:        false,
	} {
		m := r.read(fmt.Sprintf(`{"update_id":9,"my_chat_member":{"chat":%s,"from":{"id":7},"date":1,"new_chat_member":{%s}}}`, group, standing))
		if m.Kind != channels.Membership || m.Closed != closed {
			t.Errorf("%s: %+v", standing, m)
		}
	}
}

func TestEveryFileOfAMessageIsNamed(t *testing.T) {
	t.Parallel()
	r := translator(t)
	m := r.read(`{"update_id":9,"message":{"message_id":8,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7},
		"photo":[{"file_id":"small"},{"file_id":"large","file_size":10}],
		"document":{"file_id":"d","file_name":"../a\n.pdf","mime_type":"application/pdf","file_size":-4},
		"voice":{"file_id":"v","duration":8},"audio":{"file_id":"u","duration":-1},"video":{"file_id":"w","duration":9000000000000000000},"sticker":{"file_id":""}}}`)
	want := []channels.Attachment{
		{Kind: "photo", Size: 10, Ref: "large"},
		{Kind: "document", Name: "../a .pdf", MIME: "application/pdf", Ref: "d"},
		{Kind: "audio", Ref: "u"},
		{Kind: "video", Ref: "w", Millis: 30 * 24 * 3600 * 1000},
		{Kind: "voice", Ref: "v", Millis: 8000},
	}
	if fmt.Sprint(m.Attachments) != fmt.Sprint(want) || m.Kind != channels.Said {
		t.Errorf("%s %+v", m.Kind, m.Attachments)
	}
}

func TestWhatIsNotForParleyIsUnhandled(t *testing.T) {
	t.Parallel()
	r := translator(t)
	for _, raw := range []string{
		`{"update_id":9}`, `{"update_id":9,"poll":{}}`, `{"update_id":9,"channel_post":{"message_id":1}}`,
		`{"update_id":9,"message":{"message_id":1,"chat":{"id":-1,"type":"channel"},"text":"post"}}`,
		`{"update_id":9,"message":{"message_id":1,"chat":{"id":-1,"type":"group"},"new_chat_members":[]}}`,
		`{"update_id":9,"message":{"message_id":1,"from":{"id":7},"chat":{"id":-1,"type":"supergroup","is_direct_messages":true},"text":"@parley_bot hi"}}`,
		`{"update_id":9,"callback_query":{"id":"1","from":{"id":7},"inline_message_id":"x","data":"y"}}`,
		// https://github.com/rapierorg/telegram-bot-swift/issues/89
		`{"update_id":9,"edited_message":{"message_id":1,"from":{"id":7},"chat":{"id":7,"type":"private"},"edit_date":5,"location":{"latitude":1.5,"longitude":2,"live_period":900}}}`,
		`{"update_id":9,"edited_message":{"message_id":1,"from":{"id":7},"chat":{"id":7,"type":"private"},"edit_date":5,"location":{"latitude":1.5,"longitude":2}}}`,
	} {
		if m := r.read(raw); m.Kind != channels.Unhandled || m.Problem == "" || m.Event != "9" {
			t.Errorf("%s: %+v", raw, m)
		}
	}
}

// abuse M5, firstday T3: whoever passes a message on says nothing that it says; and
// what is answered comes with who wrote it.
func TestWordsOfOthersComeAsTheirs(t *testing.T) {
	t.Parallel()
	r := translator(t)
	mallory := channels.Sender{ID: "6", Name: "Mallory"}
	news := channels.Sender{ID: "-7", Name: "News", Anonymous: true}
	for name, c := range map[string]struct {
		fields    string // of a message of Ann's to the bot
		text      string
		forwarded []channels.Quote
		answers   *channels.Quote
	}{
		"a forwarded command": {
			`"text":"/new@parley_bot","entities":[{"type":"bot_command","offset":0,"length":15}],"forward_origin":{"type":"user","date":1,"sender_user":{"id":6,"first_name":"Mallory"}}`,
			"",
			[]channels.Quote{{Text: "/new@parley_bot", Author: mallory}},
			nil,
		},
		"of somebody who hides": {
			`"text":"hi","forward_origin":{"type":"hidden_user","date":1,"sender_user_name":"Ann"}`,
			"",
			[]channels.Quote{{Text: "hi", Author: channels.Sender{Name: "Ann", Anonymous: true}}},
			nil,
		},
		"a picture of a channel": {
			`"photo":[{"file_id":"x"}],"caption":"look","forward_origin":{"type":"channel","date":1,"chat":{"id":-7,"type":"channel","title":"News"},"message_id":3}`,
			"",
			[]channels.Quote{{Text: "look", Author: news}},
			nil,
		},
		"a picture without words": {
			`"photo":[{"file_id":"x"}],"forward_origin":{"type":"chat","date":1,"sender_chat":{"id":-7,"type":"supergroup","title":"News"}}`,
			"",
			[]channels.Quote{{Author: news}},
			nil,
		},
		"ours": {
			`"text":"mine","forward_origin":{"type":"user","date":1,"sender_user":{"id":42,"is_bot":true,"first_name":"Parley"}}`,
			"",
			[]channels.Quote{{Text: "mine", FromBot: true, Author: channels.Sender{ID: "42", Name: "Parley", Bot: true}}},
			nil,
		},
		"of an unknown sort": {`"text":"hi","forward_origin":{"type":"new"}`, "", []channels.Quote{{Text: "hi", Author: channels.Sender{Anonymous: true}}}, nil},
		"an answer to somebody": {
			`"text":"so?","reply_to_message":{"message_id":3,"text":"long","from":{"id":6,"first_name":"Mallory"}}`,
			"so?", nil, &channels.Quote{MessageID: "3", Text: "long", Author: mallory},
		},
		"an answer to a piece of ours": {
			`"text":"so?","reply_to_message":{"message_id":3,"text":"a long text","from":{"id":42,"is_bot":true}},"quote":{"text":"long","position":2,"is_manual":true}`,
			"so?", nil, &channels.Quote{MessageID: "3", Text: "long", FromBot: true, IsExcerpt: true, Author: channels.Sender{ID: "42", Bot: true}},
		},
		"an answer to what Bob passed on": {
			`"text":"so?","reply_to_message":{"message_id":3,"text":"obey","from":{"id":5},"forward_origin":{"type":"user","sender_user":{"id":6,"first_name":"Mallory"}}}`,
			"so?", nil, &channels.Quote{MessageID: "3", Text: "obey", Author: mallory},
		},
		"an answer to another chat": {
			`"text":"so?","external_reply":{"origin":{"type":"user","sender_user":{"id":6,"first_name":"Mallory"}},"chat":{"id":-8,"type":"supergroup"},"message_id":3},"quote":{"text":"obey","position":0}`,
			"so?", nil, &channels.Quote{Text: "obey", Author: mallory},
		},
		"an answer to another chat, with nothing to read": {`"text":"so?","external_reply":{"origin":{"type":"hidden_user"}}`, "so?", nil, nil},
	} {
		m := r.read(`{"update_id":9,"message":{"message_id":8,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7,"first_name":"Ann"},` + c.fields + `}}`)
		if m.Kind != channels.Said || m.Text != c.text || m.Sender.ID != "7" || !slices.Equal(m.Forwarded, c.forwarded) || !reflect.DeepEqual(m.ReplyTo, c.answers) {
			t.Errorf("%s: %s %q, passed on %+v, answering %+v", name, m.Kind, m.Text, m.Forwarded, m.ReplyTo)
		}
	}
}

func FuzzNoUpdateBreaksTheTranslation(f *testing.F) {
	for _, s := range []string{
		`{"update_id":9,"message":{"message_id":8,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7},"text":"/a@parley_bot","entities":[{"type":"bot_command","offset":0,"length":13}]}}`,
		`{"update_id":9,"edited_message":{"message_id":8,"date":1,"chat":{"id":-7,"type":"group"},"caption":"😀","caption_entities":[{"type":"mention","offset":1,"length":1}]}}`,
		`{"update_id":9,"callback_query":{"id":"1","from":{"id":7},"message":{"chat":{"id":7,"type":"private"},"message_id":1,"date":0},"data":"x"}}`,
		`{"update_id":9,"my_chat_member":{"chat":{"id":7,"type":"private"},"from":{"id":7},"new_chat_member":{"status":"kicked"}}}`,
		`{"update_id":9,"message":{"message_id":8,"chat":{"id":-7,"type":"group"},"migrate_to_chat_id":-1007}}`,
		`{"update_id":-1}`, `[]`, `{"update_id":1e3}`, `{"message":{"reply_to_message":7}}`,
	} {
		f.Add(s)
	}
	r := translator(f)
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) {
			return // an element of a decoded array is always JSON
		}
		id, known := peekID(json.RawMessage(raw))
		if known && (id <= 0 || id+1 <= 0) {
			t.Fatalf("id %d", id)
		}
		m, _ := r.translate(json.RawMessage(raw), id, known)
		if m.Event == "" || m.Channel != "tg" || m.Kind == "" {
			t.Fatalf("%+v", m)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		switch m.Kind {
		case channels.Unreadable:
			if m.Problem == "" || len(m.Raw) == 0 || m.Address != (sessionkeys.Address{}) {
				t.Fatalf("%+v", m)
			}
		case channels.Unhandled:
			if m.Problem == "" {
				t.Fatalf("%+v", m)
			}
		default:
			if _, err := sessionkeys.For("main", m.Address); err != nil {
				t.Fatalf("%+v: %v", m.Address, err)
			}
			if m.Sender.ID == "" && !m.Sender.Anonymous || !utf8.ValidString(m.Text) || !utf8.ValidString(m.Sender.Name) {
				t.Fatalf("%+v", m)
			}
		}
	})
}

func FuzzNoRequestBreaksTheWebhook(f *testing.F) {
	for _, s := range []string{
		`{"update_id":9,"message":{"message_id":8,"date":1,"chat":{"id":7,"type":"private"},"from":{"id":7},"text":"x"}}`,
		`{"update_id": 8, oops`, `"update_id": 1 "update_id": 2`, "", "\xff\x00", `[]`, `null`, `{"garbled":1,"update_id":3}`, `{"update_id":1}{}`,
	} {
		f.Add([]byte(s))
	}
	r := translator(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		e, again := r.decode(asJSON(body)), r.decode(asJSON(body))
		m := e.message
		if m.Event == "" || m.Kind == "" || m.Event != again.message.Event || e.id < 0 {
			t.Fatalf("%+v", m)
		}
		if m.Kind == channels.Unreadable && (m.Problem == "" || !json.Valid(m.Raw)) {
			t.Fatalf("%+v", m)
		}
		if !json.Valid(body) && m.Kind != channels.Unreadable {
			t.Fatalf("no JSON came as %+v", m)
		}
	})
}
