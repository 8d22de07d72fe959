package telegram_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	sim "parley/simulators/telegram"
)

func TestTheClientLibraryUploadsDocuments(t *testing.T) {
	t.Parallel()
	p := start(t)
	hers := p.say(sim.PrivateChat(ann), ann, "hi").MessageID
	b, err := bot.New(token, bot.WithServerURL(p.URL()), bot.WithHTTPClient(5e9, p.client))
	if err != nil {
		t.Fatal(err)
	}
	upload := func(content string) (*models.Message, error) {
		return b.SendDocument(t.Context(), &bot.SendDocumentParams{
			ChatID: ann.ID, Caption: "look", ReplyParameters: &models.ReplyParameters{MessageID: int(hers)},
			Document: &models.InputFileUpload{Filename: "a.txt", Data: strings.NewReader(content)},
		})
	}
	m, err := upload("content")
	if err != nil {
		t.Fatal(err)
	}
	if m.Document == nil || m.Document.FileName != "a.txt" || m.Document.FileSize != 7 || m.Caption != "look" {
		t.Errorf("answered %+v", m)
	}
	sum := sha256.Sum256([]byte("content"))
	want := sim.DocumentEntry{FileID: m.Document.FileID, Name: "a.txt", MIME: "application/octet-stream", Size: 7, SHA256: hex.EncodeToString(sum[:])}
	if e := p.Books().Messages[0]; *e.Document != want || e.Text() != "look" || e.ReplyTo != hers {
		t.Errorf("booked %+v, %+v", e, e.Document)
	}
	r := p.call("getFile", args{"file_id": m.Document.FileID})
	if got := p.get("/file/bot" + token + "/" + p.fields(r)["file_path"].(string)); got != "content" {
		t.Errorf("it is handed out as %q", got)
	}
	if _, err := upload(""); !errors.Is(err, bot.ErrorBadRequest) || !strings.Contains(err.Error(), "file must be non-empty") {
		t.Errorf("an empty file: %v", err)
	}
	p.plan(sim.Fault{Trouble: sim.Ambiguous, Method: "sendDocument", Next: 1})
	if _, err := upload("lost"); err == nil {
		t.Error("the answer was to be lost")
	}
	if es := p.Books().Messages; len(es) != 2 || !es[1].Unconfirmed || es[1].Document.Size != 4 {
		t.Errorf("booked %+v", es)
	}
}

func TestDocumentsAreRefusedLikeThePlatformDoes(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "hi", sim.SayOptions{Media: "document", File: []byte("x")})
	known := p.poll(nil)[0].Message.Document.FileID
	p.say(super, ann, "/start")
	if _, err := p.SetStanding(super, ann, "", "restricted"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"nothing", args{"chat_id": ann.ID}, "Bad Request: there is no document in the request"},
		{"an unknown file", args{"chat_id": ann.ID, "document": "x"}, "Bad Request: wrong file identifier/HTTP URL specified"},
		{"a long caption", args{"chat_id": ann.ID, "document": known, "caption": strings.Repeat("x", 1025)}, "Bad Request: message caption is too long"},
		{"a chat for texts only", args{"chat_id": super.ID, "document": known}, "Bad Request: not enough rights to send documents to the chat"},
		{"a known file", args{"chat_id": ann.ID, "document": known}, ""},
	} {
		if r := p.call("sendDocument", c.args); r.Description != c.want {
			t.Errorf("%s: %q, want %q", c.name, r.Description, c.want)
		}
	}
	id := p.Books().Messages[0].MessageID
	if r := p.call("editMessageText", args{"chat_id": ann.ID, "message_id": id, "text": "x"}); r.Description != "Bad Request: there is no text in the message to edit" {
		t.Errorf("to edit it: %+v", r)
	}
}

func TestARequestThatIsTooLargeIsRefused(t *testing.T) {
	t.Parallel()
	p := start(t)
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/bot"+token+"/sendDocument", bytes.NewReader(make([]byte, 50<<20+1)))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	// Not over a connection: who sends too much may be cut off before the answer.
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, q)
	var r reply
	if json.Unmarshal(w.Body.Bytes(), &r) != nil || r.ErrorCode != 413 || w.Code != 413 {
		t.Errorf("%d %s", w.Code, w.Body.Bytes())
	}
}

// Bot API, sendPhoto: at most 10 MB, 10000 pixels of width and height together, and
// a ratio of 20.
func TestPhotosAreShownWhenTheyArePictures(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.say(sim.PrivateChat(ann), ann, "hi")
	b, err := bot.New(token, bot.WithServerURL(p.URL()), bot.WithHTTPClient(5e9, p.client))
	if err != nil {
		t.Fatal(err)
	}
	drawn := func(w, h int) []byte {
		var out bytes.Buffer
		if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for name, c := range map[string]struct {
		content []byte
		why     string // empty: it is taken
	}{
		"a picture":     {drawn(40, 30), ""},
		"too narrow":    {drawn(2, 41), "PHOTO_INVALID_DIMENSIONS"},
		"too many dots": {drawn(9000, 1001), "PHOTO_INVALID_DIMENSIONS"},
		"no picture":    {[]byte("text"), "IMAGE_PROCESS_FAILED"},
		"too large":     {append(drawn(40, 30), make([]byte, 10<<20)...), "too big for a photo"},
	} {
		m, err := b.SendPhoto(t.Context(), &bot.SendPhotoParams{
			ChatID: ann.ID, Photo: &models.InputFileUpload{Filename: "a.png", Data: bytes.NewReader(c.content)},
		})
		switch {
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)):
			t.Errorf("%s: %v", name, err)
		case c.why == "" && (err != nil || len(m.Photo) == 0 || m.Document != nil):
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
	if es := p.Books().Messages; len(es) != 1 || !es[0].Document.Photo || es[0].Document.Name != "a.png" {
		t.Errorf("booked %+v", es)
	}
}
