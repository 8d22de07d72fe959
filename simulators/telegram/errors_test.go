package telegram_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	sim "parley/simulators/telegram"
)

func TestRefusalsReadLikeThePlatforms(t *testing.T) {
	t.Parallel()
	p := start(t)
	dm := sim.PrivateChat(ann)
	hers := p.say(dm, ann, "hello there").MessageID
	mine := p.send(dm.ID, "a *star*")
	p.say(team, ann, "/start")
	topic, err := p.CreateTopic(forum, ann, "Ideas", "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := p.CreateTopic(forum, ann, "Gone", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.DeleteTopic(forum, other); err != nil {
		t.Fatal(err)
	}
	third, err := p.CreateTopic(forum, ann, "Third", "")
	if err != nil {
		t.Fatal(err)
	}
	p.say(sim.PrivateChat(bob), bob, "hi")
	if _, err := p.Block(bob, ""); err != nil {
		t.Fatal(err)
	}
	p.say(super, ann, "/start")
	if _, err := p.Kick(super, ann, ""); err != nil {
		t.Fatal(err)
	}
	bold := func(offset, length int) []args {
		return []args{{"type": "bold", "offset": offset, "length": length}}
	}
	to := func(chat any, more args) args {
		a := args{"chat_id": chat, "text": "hi"}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	const unmodified = "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"
	cases := []struct {
		name, method string
		args         args
		code         int
		want         string
	}{
		{"no chat", "sendMessage", args{"text": "x"}, 400, "Bad Request: chat_id is empty"},
		{"unknown chat", "sendMessage", to(999, nil), 400, "Bad Request: chat not found"},
		{"unknown username", "sendMessage", to("@nowhere", nil), 400, "Bad Request: chat not found"},
		{"blocked", "sendMessage", to(bob.ID, nil), 403, "Forbidden: bot was blocked by the user"},
		{"kicked", "sendMessage", to(super.ID, nil), 403, "Forbidden: bot was kicked from the supergroup chat"},
		{"empty", "sendMessage", to(dm.ID, args{"text": ""}), 400, "Bad Request: message text is empty"},
		{"only blanks", "sendMessage", to(dm.ID, args{"text": " \n "}), 400, "Bad Request: message text is empty"},
		{"4096 characters", "sendMessage", to(dm.ID, args{"text": strings.Repeat("x", 4096)}), 200, ""},
		{"4097 characters", "sendMessage", to(dm.ID, args{"text": strings.Repeat("x", 4097)}), 400, "Bad Request: message is too long"},
		{"2049 emoji are 4098 units", "sendMessage", to(dm.ID, args{"text": strings.Repeat("🦜", 2049)}), 400, "Bad Request: message is too long"},
		{"blanks outside do not count", "sendMessage", to(dm.ID, args{"text": strings.Repeat("y", 4096) + "\n\n"}), 200, ""},
		{"entity after the end", "sendMessage", to(dm.ID, args{"entities": bold(9, 1)}), 400, "Bad Request: entity begins after the end of the text at UTF-16 offset 9"},
		{"entity over the end", "sendMessage", to(dm.ID, args{"entities": bold(1, 5)}), 400, "Bad Request: entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 6"},
		{"entity longer than numbers go", "sendMessage", to(dm.ID, args{"entities": bold(1, math.MaxInt)}), 400, "Bad Request: entity beginning at UTF-16 offset 1 ends after the end of the text at UTF-16 offset 9223372036854775807"},
		{"entity splits an emoji at its start", "sendMessage", to(dm.ID, args{"text": "🦜x", "entities": bold(1, 2)}), 400, "Bad Request: entity begins in a middle of a UTF-16 symbol at byte offset 0"},
		{"entity splits an emoji at its end", "sendMessage", to(dm.ID, args{"text": "x🦜", "entities": bold(0, 2)}), 400, "Bad Request: entity ends in a middle of a UTF-16 symbol at byte offset 1"},
		{"unknown entity", "sendMessage", to(dm.ID, args{"entities": []args{{"type": "blink", "offset": 0, "length": 1}}}), 400, "Bad Request: can't parse MessageEntity: Unsupported type specified"},
		{"crossing entities", "sendMessage", to(dm.ID, args{"text": "abcdefghijkl", "entities": append(bold(0, 6), args{"type": "italic", "offset": 3, "length": 9})}), 400, "Bad Request: entity beginning at UTF-16 offset 3 ends after the end of the text at UTF-16 offset 12"},
		{"link without a host", "sendMessage", to(dm.ID, args{"entities": []args{{"type": "text_link", "offset": 0, "length": 1, "url": "localhost"}}}), 400, "Bad Request: entity URL 'localhost' is invalid: Wrong HTTP URL"},
		{"entities are no JSON", "sendMessage", to(dm.ID, args{"entities": "[{"}), 400, "Bad Request: can't parse entities JSON object"},
		{"parse mode", "sendMessage", to(dm.ID, args{"parse_mode": "HTML"}), 400, "Bad Request: unsupported parse_mode"},
		{"reply", "sendMessage", to(dm.ID, args{"reply_parameters": args{"message_id": 777}}), 400, "Bad Request: message to be replied not found"},
		{"reply, without allowed", "sendMessage", to(dm.ID, args{"reply_parameters": args{"message_id": 777, "allow_sending_without_reply": true}}), 200, ""},
		{"reply with a wrong quote", "sendMessage", to(dm.ID, args{"reply_parameters": args{"message_id": hers, "quote": "nope"}}), 400, "Bad Request: QUOTE_TEXT_INVALID"},
		{"reply with a quote", "sendMessage", to(dm.ID, args{"reply_parameters": args{"message_id": hers, "quote": "there"}}), 200, ""},
		{"topic", "sendMessage", to(forum.ID, args{"message_thread_id": topic}), 200, ""},
		{"General by number", "sendMessage", to(forum.ID, args{"message_thread_id": 1}), 400, "Bad Request: message thread not found"},
		{"General by number for an action", "sendChatAction", args{"chat_id": forum.ID, "message_thread_id": 1, "action": "typing"}, 200, ""},
		{"deleted topic", "sendMessage", to(forum.ID, args{"message_thread_id": other}), 400, "Bad Request: message thread not found"},
		{"topic where there are none", "sendMessage", to(dm.ID, args{"message_thread_id": 5}), 400, "Bad Request: message thread not found"},
		{"reply across topics, without allowed", "sendMessage", to(forum.ID, args{"message_thread_id": third, "reply_parameters": args{"message_id": topic, "allow_sending_without_reply": true}}), 400, "Bad Request: message to be replied not found"},
		{"button data", "sendMessage", to(dm.ID, args{"reply_markup": args{"inline_keyboard": [][]args{{{"text": "b", "callback_data": strings.Repeat("x", 65)}}}}}), 400, "Bad Request: BUTTON_DATA_INVALID"},
		{"edit unknown", "editMessageText", to(dm.ID, args{"message_id": 777}), 400, "Bad Request: message to edit not found"},
		{"edit another's", "editMessageText", to(dm.ID, args{"message_id": hers}), 400, "Bad Request: message can't be edited"},
		{"edit to the same", "editMessageText", to(dm.ID, args{"message_id": mine, "text": "a *star* "}), 400, unmodified},
		{"edit to nothing", "editMessageText", to(dm.ID, args{"message_id": mine, "text": ""}), 400, "Bad Request: message text is empty"},
		{"edit too long", "editMessageText", to(dm.ID, args{"message_id": mine, "text": strings.Repeat("x", 4097)}), 400, "Bad Request: MESSAGE_TOO_LONG"},
		{"edit", "editMessageText", to(dm.ID, args{"message_id": mine, "text": "new"}), 200, ""},
		{"delete unknown", "deleteMessage", args{"chat_id": dm.ID, "message_id": 777}, 400, "Bad Request: message to delete not found"},
		{"action", "sendChatAction", args{"chat_id": dm.ID, "action": "dance"}, 400, "Bad Request: wrong parameter action in request"},
		{"unknown query", "answerCallbackQuery", args{"callback_query_id": "1"}, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid"},
		{"unknown file", "getFile", args{"file_id": "x"}, 400, "Bad Request: wrong file_id or the file is temporarily unavailable"},
		{"webhook url", "setWebhook", args{"url": "ftp://x"}, 400, "Bad Request: bad webhook: invalid webhook URL specified"},
		{"webhook secret", "setWebhook", args{"url": "https://x", "secret_token": "a b"}, 400, "Bad Request: secret token contains unallowed characters"},
		{"unknown method", "sendTelepathy", nil, 404, "Not Found: method not found"},
		{"method in another case", "GETME", nil, 200, ""},
	}
	for _, c := range cases {
		r := p.call(c.method, c.args)
		if r.OK != (c.code == 200) || r.Description != c.want || !r.OK && r.ErrorCode != c.code {
			t.Errorf("%s: got ok=%t %d %q, want %d %q", c.name, r.OK, r.ErrorCode, r.Description, c.code, c.want)
		}
	}
	for token, want := range map[string]reply{
		"77:unknown": {ErrorCode: 401, Description: "Unauthorized"},
		"nonsense":   {ErrorCode: 404, Description: "Not Found"},
	} {
		r, err := p.try(t.Context(), token, "getMe", nil)
		if err != nil || r.ErrorCode != want.ErrorCode || r.Description != want.Description {
			t.Errorf("token %s: %+v, %v", token, r, err)
		}
	}
}

func TestAGroupThatBecameASupergroupPointsThere(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(team, ann, "/start")
	p.poll(args{"offset": 1001})
	grown, said, err := p.Migrate(team, ann)
	if err != nil {
		t.Fatal(err)
	}
	r := p.call("sendMessage", args{"chat_id": team.ID, "text": "hi"})
	if r.ErrorCode != 400 || r.Parameters.MigrateToChatID != grown.ID || r.Description != "Bad Request: group chat was upgraded to a supergroup chat" {
		t.Errorf("%+v", r)
	}
	us := p.poll(nil)
	if len(said) != 2 || len(us) != 2 || us[0].Message.MigrateTo != grown.ID || us[1].Message.MigrateFrom != team.ID {
		t.Errorf("service messages: %+v", us)
	}
	p.send(grown.ID, "here now")
	if _, err := p.Say(team, ann, "still here?", sim.SayOptions{}); err == nil {
		t.Error("people can write into the old group")
	}
}

func TestAllWaysToPassArgumentsAreRead(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "hi")
	root := p.URL() + "/bot" + token + "/sendMessage"
	multi := "--b\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n1001\r\n--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\nmulti part\r\n--b--\r\n"
	for _, c := range []struct{ name, method, url, kind, body, want string }{
		{"query", "GET", root + "?chat_id=1001&text=by+get", "", "", "by get"},
		{"json", "POST", root, "application/json; charset=utf-8", `{"chat_id":"1001","text":"by json","unused":null}`, "by json"},
		{"form", "POST", root, "application/x-www-form-urlencoded", "chat_id=1001&text=by%20form", "by form"},
		{"multipart", "POST", root, "multipart/form-data; boundary=b", multi, "multi part"},
		{"query and body", "POST", root + "?chat_id=1001", "application/json", `{"text":"both"}`, "both"},
		{"broken json", "POST", root, "application/json", `{"chat_id":`, ""},
		{"broken multipart", "POST", root, "multipart/form-data; boundary=b", multi[:60], ""},
	} {
		q, err := http.NewRequestWithContext(t.Context(), c.method, c.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", c.kind)
		res, err := p.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if c.want == "" {
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %s", c.name, res.Status)
			}
			continue
		}
		ms := p.Books().Messages
		if res.StatusCode != http.StatusOK || ms[len(ms)-1].Text() != c.want {
			t.Errorf("%s: %s, %+v", c.name, res.Status, ms)
		}
	}
}

// firstday T0: a body that says JSON is an object, or there is none.
func TestBodiesOfJSONAreObjects(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, method := range []string{"getMe", "getWebhookInfo", "deleteWebhook", "sendMessage"} {
		for _, body := range []string{"null", " null\n", "[]", "7", "true", "  "} {
			r, err := p.post(t.Context(), token, method, []byte(body))
			if err != nil || r.OK || r.ErrorCode != http.StatusBadRequest || r.Description != "Bad Request: JSON object expected" {
				t.Errorf("%s with the body %q: %+v, %v", method, body, r, err)
			}
		}
		if r, err := p.post(t.Context(), token, method, []byte(`{} {}`)); err != nil || r.OK || r.ErrorCode != http.StatusBadRequest {
			t.Errorf("%s with two objects: %+v, %v", method, r, err)
		}
	}
	for _, body := range []string{"", "{}", " {}\n"} {
		if r, err := p.post(t.Context(), token, "getMe", []byte(body)); err != nil || !r.OK {
			t.Errorf("getMe with the body %q: %+v, %v", body, r, err)
		}
	}
}

// firstday T0, likewise: a form without a part is never answered.
func TestAFormWithoutAPartIsNeverAnswered(t *testing.T) {
	t.Parallel()
	p := start(t)
	for body, answered := range map[string]bool{"": true, "\r\n--b--\r\n": false} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if answered {
			ctx = t.Context()
		}
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL()+"/bot"+token+"/deleteWebhook", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "multipart/form-data; boundary=b")
		res, err := p.client.Do(q)
		if err == nil {
			_ = res.Body.Close()
		}
		if cancel(); (err == nil) != answered {
			t.Errorf("the body %q: %v", body, err)
		}
	}
}

// Bot API, setMyCommands: each scope and language has commands of its own.
func TestCommandsAreKeptForEachScope(t *testing.T) {
	t.Parallel()
	p := start(t)
	set := func(scope, commands string) string {
		return p.call("setMyCommands", args{"commands": json.RawMessage(commands), "scope": map[string]string{"type": scope}}).Description
	}
	if why := set("all_group_chats", `[{"command":"new","description":"begin"}]`); why != "" {
		t.Error(why)
	}
	for _, bad := range []string{`[{"command":"New","description":"x"}]`, `[{"command":"new","description":""}]`, `{}`} {
		if set("default", bad) == "" {
			t.Errorf("%s is taken", bad)
		}
	}
	if set("nowhere", `[]`) == "" {
		t.Error("an unknown scope is taken")
	}
	if m := p.Menu("", "all_group_chats", ""); len(m) != 1 || m[0].Command != "new" || len(p.Menu("", "default", "")) != 0 {
		t.Errorf("groups are suggested %v", m)
	}
}
