package telegram_test

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"parley/channels"
	sim "parley/simulators/telegram"
)

// firstday T9. Pictures that the bot makes are shown; what Telegram does not take as
// a photo is a file.
func TestPhoto_PicturesAreShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.open(t, patient)
	r.say(t, sim.PrivateChat(ann), ann, "draw", sim.SayOptions{})
	drawn := func(w, h int) []byte {
		var out bytes.Buffer
		if err := png.Encode(&out, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	all := []struct {
		mime    string
		content []byte
		photo   bool
	}{
		{"image/png", drawn(40, 30), true},
		{"image/png", drawn(1, 100), false}, // of a form that no photo has
		{"image/png", []byte("no picture"), false},
		{"image/svg+xml", []byte("<svg/>"), false},
		{"text/plain", drawn(40, 30), false},
	}
	for _, c := range all {
		f := channels.File{Name: "a.png", MIME: c.mime, Size: int64(len(c.content))}
		if _, err := ch.SendFile(t.Context(), to(ann.ID, "", ""), f, bytes.NewReader(c.content)); err != nil {
			t.Errorf("%s: %v", c.mime, err)
		}
	}
	sent := r.Books().Messages
	if len(sent) != len(all) {
		t.Fatalf("%d messages, want %d", len(sent), len(all))
	}
	for i, c := range all {
		if d := sent[i].Document; d.Photo != c.photo || d.SHA256 != digest(c.content) {
			t.Errorf("file %d is %+v", i, d)
		}
	}
}
