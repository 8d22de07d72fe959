package attachments_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"log/slog"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/attachments"
	"parley/gateway/documents"
	"parley/simulators/model"
	"parley/tools"
)

// TestBringTexts is row firstday A1: what files say is brought with them, framed, and
// all of them together are bounded.
func TestBringTexts(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.b.Texts = documents.NewReader(nil, slog.New(slog.DiscardHandler))
	r.b.Config.TextBytes = 20
	r.net.has("a", gives("the cat\n[bracket]")) // 17 bytes
	r.net.has("b", gives("the dog barks"))
	r.net.has("c", gives("late"))
	r.net.has("d", gives("\x00"))
	r.net.has("e", gives("\x89PNG\r\n\x1a\n\x00\x00"))
	files := []attachments.File{file("1", "d", "d", ""), file("1", "e", "e", ""), file("1", "a", "a", ""), file("1", "b", "b", ""), file("1", "c", "c", "")}
	for i := range files {
		files[i].Kind = "document"
	}
	bring := func() []attachments.Result {
		t.Helper()
		got, err := r.b.Import(t.Context(), attachments.Request{ID: "m", Workspace: r.space, Files: [][]attachments.File{files}})
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	got := bring()
	for i, want := range []struct{ text, words string }{
		{"", "1 byte, not read as text: it is of a kind that is shown to nobody here)"},
		{"", "10 bytes, a picture that cannot be shown, because it is damaged: say so)"},
		{tools.FrameUntrusted("the file attachments/1-a", "the cat\n[bracket]"), "17 bytes)"},
		{tools.FrameUntrusted("the file attachments/1-b", "the") + "\n[that is the beginning, 3 bytes of 13 bytes; the whole file is attachments/1-b]", "13 bytes)"},
		{"", "4 bytes, its text is not shown here: there is too much text in the other files)"},
	} {
		if got[i].Text != want.text || !strings.HasSuffix(got[i].Line, want.words) {
			t.Errorf("file %d: %q, %q", i, got[i].Line, got[i].Text)
		}
	}
	files = []attachments.File{file("2", "d", "voice", "")}
	files[0].Kind = "voice"
	if got := bring(); !strings.HasSuffix(got[0].Line, "1 byte, which nobody here can hear: say so)") {
		t.Errorf("of a voice: %q", got[0].Line)
	}
	r.b.Transcribes = true
	r.net.has("v", gives(string(model.Voice("hi", time.Second))))
	files = []attachments.File{file("3", "v", "voice", ""), files[0]}
	files[0].Kind = "voice"
	got = bring()
	if s := got[0].Sound; s == nil || s.Name != "3-voice.ogg" || !s.Spoken || got[0].Text != "" || strings.Contains(got[0].Line, "hear") {
		t.Errorf("of a voice that can be heard: %+v", got[0])
	}
	if got[1].Sound != nil || !strings.HasSuffix(got[1].Line, "1 byte, which nobody here can hear: say so)") {
		t.Errorf("of a voice in a format that nobody takes: %+v", got[1])
	}
	r.b.Config.TextBytes = -1
	files = []attachments.File{file("4", "a", "a", "")}
	if got := bring(); got[0].Text != "" || !strings.HasSuffix(got[0].Line, "17 bytes)") {
		t.Errorf("switched off: %+v", got)
	}
	files = []attachments.File{{Channel: "net", Message: "5", Attachment: channels.Attachment{Kind: "place", Name: "here"}}}
	if got := bring(); got[0].Text != "" {
		t.Errorf("of what is no file: %+v", got)
	}
}

// What no provider takes is not shown to a model, which reads why.
func TestImportMarksPicturesThatNoModelTakes(t *testing.T) {
	t.Parallel()
	encoded := func(encode func(*bytes.Buffer, image.Image) error, wide, high int) string {
		t.Helper()
		var b bytes.Buffer
		if err := encode(&b, image.NewPaletted(image.Rect(0, 0, wide, high), color.Palette{color.White})); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	asPNG := func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }
	asJPEG := func(b *bytes.Buffer, m image.Image) error { return jpeg.Encode(b, m, nil) }
	asGIF := func(b *bytes.Buffer, m image.Image) error { return gif.Encode(b, m, nil) }
	const large, damaged = "more than 8000 points wide or high", "it is damaged"
	for name, c := range map[string]struct{ data, why string }{
		"a PNG":                   {encoded(asPNG, 8000, 1), ""},
		"a JPEG":                  {encoded(asJPEG, 8, 8000), ""},
		"a GIF":                   {encoded(asGIF, 8, 8), ""},
		"a WebP":                  {"RIFF\x10\x00\x00\x00WEBPVP8 ", ""},
		"a PNG that is too wide":  {encoded(asPNG, 8001, 1), large},
		"a JPEG that is too high": {encoded(asJPEG, 1, 8001), large},
		"a GIF that is too high":  {encoded(asGIF, 1, 8001), large},
		"a JPEG of four bytes":    {"\xff\xd8\xff\xe0", damaged},
	} {
		r := newRig(t, nil)
		r.net.has("p", gives(c.data))
		got, err := r.b.Import(t.Context(), attachments.Request{ID: "m", Workspace: r.space, Files: [][]attachments.File{{file("1", "p", "p", "")}}})
		if err != nil {
			t.Fatal(err)
		}
		if f := got[0][0]; f.Unseen != (c.why != "") || !strings.Contains(f.Line, c.why) || !strings.HasPrefix(f.MIME, "image/") || strings.Contains(f.Line, "say so") != f.Unseen {
			t.Errorf("%s: %+v", name, f)
		}
	}
}
