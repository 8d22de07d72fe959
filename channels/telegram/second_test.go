package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"parley/channels"
	"parley/channels/telegram"
	sim "parley/simulators/telegram"
)

// The simulator is ours, so it could share a mistake with the adapter. go-telegram/bot
// was written by others from the same documents: this is what its types say of what
// the simulator sends. A field that they do not know is either an invention of ours or
// newer than they are (Bot API 9.4).
func TestTheLibraryKnowsWhateverTheSimulatorSends(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	direct := sim.PrivateChat(ann)
	for _, c := range []sim.Chat{team, super, forum} {
		do(r.SetStanding(c, ann, "Parley_bot", "member"))
	}
	said := r.say(t, direct, ann, "hello 😀 https://a.example", sim.SayOptions{})
	do(r.Edit(direct.ID, said.MessageID, "hello again", sim.SayOptions{}))
	r.say(t, direct, ann, "quoting", sim.SayOptions{ReplyTo: said.MessageID, Quote: "hello"})
	r.say(t, direct, ann, "passed on", sim.SayOptions{ForwardedFrom: &bob})
	for _, media := range []string{"photo", "document", "voice", "audio", "video", "sticker"} {
		r.say(t, direct, ann, "", sim.SayOptions{Media: media, File: []byte("data"), FileName: "a.bin", MIME: "image/png"})
	}
	r.say(t, super, ann, "@parley_bot /help@parley_bot", sim.SayOptions{})
	r.say(t, super, ann, "as admin", sim.SayOptions{As: sim.AsAnonymousAdmin})
	r.say(t, super, ann, "as channel", sim.SayOptions{As: sim.AsChannel, Channel: &sim.Chat{ID: -1001000000900, Kind: sim.Channel, Title: "News"}})
	do(r.Album(super, ann, "two", 2, sim.SayOptions{}))
	topic, err := r.CreateTopic(forum, ann, "Plans", "")
	do(topic, err)
	r.say(t, forum, ann, "in a topic", sim.SayOptions{Thread: topic})
	_, _, err = r.Migrate(team, ann)
	do(nil, err)

	var sent map[string]any
	strictly(t, "sendMessage", r.ask(t, "sendMessage", map[string]any{"chat_id": ann.ID, "text": "press", "entities": []any{map[string]any{"type": "bold", "offset": 0, "length": 5}}}, &sent), &models.Message{})
	id, _ := sent["message_id"].(float64)
	do(r.Press(ann, ann.ID, int64(id), "approve:1", sim.PressOptions{}))
	do(r.Press(ann, ann.ID, int64(id), "approve:1", sim.PressOptions{Inaccessible: true}))
	do(r.Block(ann, "Parley_bot"))

	// The library spells the one without its s, and lacks the other; the Bot API has
	// both (https://core.telegram.org/bots/api#user).
	me := map[string]any{}
	r.ask(t, "getMe", nil, &me)
	for _, field := range []string{"supports_inline_queries", "has_main_web_app"} {
		delete(me, field)
	}
	raw, err := json.Marshal(me)
	do(nil, err)
	strictly(t, "getMe", raw, &models.User{})
	strictly(t, "getWebhookInfo", r.ask(t, "getWebhookInfo", nil, nil), &models.WebhookInfo{})
	var updates []json.RawMessage
	r.ask(t, "getUpdates", map[string]any{"limit": 100}, &updates)
	if len(updates) < 25 {
		t.Errorf("%d updates", len(updates))
	}
	for _, raw := range updates {
		var u models.Update
		strictly(t, "an update", raw, &u)
		if u.ID == 0 || reflect.DeepEqual(u, models.Update{ID: u.ID}) {
			t.Errorf("nothing of it is known: %s", raw)
		}
	}
}

// ask calls a method as any client does, and gives its result.
func (r *fixture) ask(t *testing.T, method string, params map[string]any, into any) json.RawMessage {
	t.Helper()
	body, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	if params == nil {
		body = []byte("{}")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/bot"+token+"/"+method, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var a struct {
		OK     bool            `json:"ok"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil || !a.OK {
		t.Fatalf("%s answered %d, %v", method, resp.StatusCode, err)
	}
	if into != nil {
		if err := json.Unmarshal(a.Result, into); err != nil {
			t.Fatal(err)
		}
	}
	return a.Result
}

// strictly reads raw into the library's type, and says which fields that does not know.
func strictly(t *testing.T, what string, raw json.RawMessage, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("%s: %v: %s", what, err, raw)
	}
}

// What the adapter writes by itself, since the library would not say how long it is, is
// what the library would write.
func TestAFileIsSentAsTheLibraryWouldSendIt(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	forms := map[string][]part{} // by method
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		method := req.URL.Path[strings.LastIndexByte(req.URL.Path, '/')+1:]
		mu.Lock()
		forms[method] = append(forms[method], parts(t, req))
		mu.Unlock()
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":5,"date":1,"chat":{"id":7,"type":"private"}}}`)
	}))
	t.Cleanup(s.Close)
	ch := newCanned(t, nil, func(o *telegram.Options) { o.APIURL = s.URL })
	theirs, err := bot.New(token, bot.WithServerURL(s.URL), bot.WithSkipGetMe())
	if err != nil {
		t.Fatal(err)
	}
	const data = "content"
	file := func(name string) models.InputFile {
		return &models.InputFileUpload{Filename: name, Data: strings.NewReader(data)}
	}
	answers := &models.ReplyParameters{MessageID: 3, AllowSendingWithoutReply: true}
	for method, c := range map[string]struct {
		file channels.File
		send func(ctx context.Context) error
	}{
		"sendDocument": {channels.File{Name: "Übersicht 1.pdf", MIME: "application/pdf", Size: int64(len(data))}, func(ctx context.Context) error {
			_, err := theirs.SendDocument(ctx, &bot.SendDocumentParams{
				ChatID: 7, MessageThreadID: 4, Document: file("Übersicht 1.pdf"), DisableContentTypeDetection: true, ReplyParameters: answers,
			})
			return err
		}},
		"sendPhoto": {channels.File{Name: "a.png", MIME: "image/png", Size: int64(len(data))}, func(ctx context.Context) error {
			_, err := theirs.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: 7, MessageThreadID: 4, Photo: file("a.png"), ReplyParameters: answers})
			return err
		}},
	} {
		reply := to(7, "4", "")
		reply.ReplyTo = "3"
		if _, err := ch.SendFile(t.Context(), reply, c.file, strings.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if err := c.send(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := forms[method]; len(got) != 2 || !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%s: ours and theirs are\n%v", method, got)
		}
	}
}

// part is the fields of a form, files by their field with name and content.
type part map[string]string

func parts(t *testing.T, req *http.Request) part {
	t.Helper()
	out := part{}
	_, args, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	if err != nil {
		t.Error(err)
		return out
	}
	for f := multipart.NewReader(req.Body, args["boundary"]); ; {
		p, err := f.NextPart()
		if err != nil {
			break // the end, or less than all, which shows
		}
		text, _ := io.ReadAll(p) // the same
		out[p.FormName()] = string(text)
		if name := p.FileName(); name != "" {
			out[p.FormName()] = fmt.Sprintf("%q: %s", name, text)
		}
	}
	return out
}
