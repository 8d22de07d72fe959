package attachments

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/channels"
	"parley/simulators/model"
	"parley/transcript"
)

// What a sound is called for who hears it, and how long it is at most.
func TestSoundOf(t *testing.T) {
	t.Parallel()
	voice := model.Voice("hi", 8470*time.Millisecond)
	twice := append(bytes.Clone(voice), voice...)
	endless := model.Voice("hi", time.Second)
	binary.LittleEndian.PutUint64(endless[len(endless)-31+6:], 1<<60)
	for name, c := range map[string]struct {
		data string
		file channels.Attachment
		want *transcript.Sound
	}{
		"a.oga":   {string(voice), channels.Attachment{Kind: channels.Voice}, &transcript.Sound{Name: "a.ogg", Millis: 9000, Spoken: true}},
		"b.ogg":   {string(voice), channels.Attachment{Kind: "audio", Millis: 60_000}, &transcript.Sound{Name: "b.ogg", Millis: 60_000}},
		"c.ogg":   {string(voice), channels.Attachment{Kind: "audio", Millis: 1}, &transcript.Sound{Name: "c.ogg", Millis: 9000}},
		"d.ogg":   {string(twice), channels.Attachment{}, &transcript.Sound{Name: "d.ogg", Millis: 9000}}, // one stream, twice
		"e.ogg":   {string(endless), channels.Attachment{}, &transcript.Sound{Name: "e.ogg", Guess: true}},
		"f.ogg":   {"OggS\x00", channels.Attachment{}, &transcript.Sound{Name: "f.ogg", Guess: true}},
		"g.ogg":   {string(voice) + strings.Repeat("x", 1<<20), channels.Attachment{}, &transcript.Sound{Name: "g.ogg", Millis: 16_386}}, // more than it says
		"h.mp4":   {"\x00\x00\x00\x1cftypM4A " + strings.Repeat("x", 7500), channels.Attachment{Kind: channels.Voice, Millis: 4200}, &transcript.Sound{Name: "h.m4a", Millis: 4200, Spoken: true}},
		"i":       {"\x00\x00\x00\x1cftypisom" + strings.Repeat("x", 7488), channels.Attachment{}, &transcript.Sound{Name: "i.m4a", Millis: 10_000, Guess: true}},
		"j.aac":   {"\xff\xf1" + strings.Repeat("x", 748), channels.Attachment{Kind: channels.Voice}, &transcript.Sound{Name: "j.m4a", Millis: 1000, Guess: true, Spoken: true}},
		"j2":      {string(model.VoiceAAC("hi", 2*time.Second)), channels.Attachment{}, &transcript.Sound{Name: "j2.m4a", Millis: 2020}},
		"k.mp3":   {"\xff\xfb" + strings.Repeat("x", 748), channels.Attachment{}, &transcript.Sound{Name: "k.mp3", Millis: 1000, Guess: true}},
		"l.bin":   {"ID3" + strings.Repeat("x", 747), channels.Attachment{}, &transcript.Sound{Name: "l.mp3", Millis: 1000, Guess: true}},
		"m.webm":  {"\x1a\x45\xdf\xa3" + strings.Repeat("x", 746), channels.Attachment{}, &transcript.Sound{Name: "m.webm", Millis: 1000, Guess: true}},
		"n.flac":  {"fLaC" + strings.Repeat("x", 746), channels.Attachment{}, &transcript.Sound{Name: "n.flac", Millis: 1000, Guess: true}},
		"o.wav":   {"RIFF\x00\x00\x00\x00WAVE" + strings.Repeat("x", 738), channels.Attachment{}, &transcript.Sound{Name: "o.wav", Millis: 1000, Guess: true}},
		"p.amr":   {"#!AMR\n", channels.Attachment{Kind: channels.Voice}, nil},
		"q.ogg":   {"", channels.Attachment{}, nil},
		"r.x.ogg": {string(voice), channels.Attachment{Millis: 1 << 62}, &transcript.Sound{Name: "r.x.ogg", Millis: 9000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, name), []byte(c.data), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := probeSound(dir, name, File{Attachment: c.file})
			if (err != nil) != (c.data == "") {
				t.Fatal(err)
			}
			if c.want != nil {
				c.want.Bytes = int64(len(c.data))
				if c.want.Millis == 0 {
					c.want.Millis = durationAtRate(c.want.Bytes, minRate).Milliseconds()
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := probeSound(t.TempDir(), "../x.ogg", File{}); err == nil {
		t.Error("a file outside of the workspace was opened")
	}
}

// FuzzOggLength: whatever a file holds, its length is an amount of time.
func FuzzOggLength(f *testing.F) {
	f.Add(model.Voice("hi", time.Second))
	f.Add([]byte("OggS"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if d := oggLength(bytes.NewReader(b)); d < 0 {
			t.Errorf("%s", d)
		}
	})
}
