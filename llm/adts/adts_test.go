package adts_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
	"time"

	"parley/llm/adts"
	"parley/simulators/model"
)

// A fifth of a second of AAC-LC, mono, 44.1 kHz, as FFmpeg writes it; FFmpeg makes the
// same samples of it and of what ToM4A makes of it.
func sine(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/sine.aac")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// inside returns what the first box of that name holds.
func inside(t *testing.T, file []byte, name string) []byte {
	t.Helper()
	at := bytes.Index(file, []byte(name))
	if at < 4 {
		t.Fatalf("no box %s", name)
	}
	n := int(binary.BigEndian.Uint32(file[at-4:]))
	if n < 8 || at-4+n > len(file) {
		t.Fatalf("the box %s says that it has %d bytes", name, n)
	}
	return file[at+4 : at-4+n]
}

// TestM4A is row firstday A1: the frames stay as they are, each is where the table says,
// and the head says what they are.
func TestM4A(t *testing.T) {
	t.Parallel()
	file := sine(t)
	got := adts.ToM4A(file)
	if !bytes.HasPrefix(got[4:], []byte("ftypM4A ")) || !adts.Is(file) || adts.Is(got) {
		t.Fatalf("%q", got[:16])
	}
	if want := 10 * 1024 * time.Second / 44100; adts.Duration(file) != want || adts.Duration(got) != 0 {
		t.Errorf("it is %s long, not %s", adts.Duration(file), want)
	}
	header := inside(t, got, "mdhd")
	if rate, length := binary.BigEndian.Uint32(header[12:]), binary.BigEndian.Uint32(header[16:]); rate != 44100 || length != 10*1024 {
		t.Errorf("%d samples at %d Hz", length, rate)
	}
	if config := inside(t, got, "esds"); !bytes.Contains(config, []byte{5, 2, 0x12, 0x08}) { // AAC-LC, 44.1 kHz, mono
		t.Errorf("the decoder is told %x", config)
	}
	sizes, at := inside(t, got, "stsz"), binary.BigEndian.Uint32(inside(t, got, "stco")[8:])
	frames := int(binary.BigEndian.Uint32(sizes[8:]))
	rest := file
	for i := range frames {
		n := int(binary.BigEndian.Uint32(sizes[12+4*i:]))
		if !bytes.Equal(got[at:int(at)+n], rest[7:7+n]) {
			t.Fatalf("frame %d is another", i)
		}
		at, rest = at+uint32(n), rest[7+n:]
	}
	if frames != 10 || len(rest) != 0 || int(at) != len(got) {
		t.Errorf("%d frames, %d bytes of the old file and %d of the new are left", frames, len(rest), len(got)-int(at))
	}
}

// A frame that was cut off is left out; what is something else stays as it is.
func TestM4AOfOtherFiles(t *testing.T) {
	t.Parallel()
	file := sine(t)
	if got := adts.Duration(file[:len(file)-1]); got != 9*1024*time.Second/44100 {
		t.Errorf("cut off it is %s long", got)
	}
	other := bytes.Clone(file)
	other[2] ^= 4 << 2 // another rate in the first frame
	for name, b := range map[string][]byte{
		"nothing": nil, "a head": file[:7], "an Ogg": model.Voice("hi", time.Second), "an MP3": {0xFF, 0xFB, 0x90, 0x00, 0, 0, 0, 0},
		"two rates": other, "junk behind it": append(bytes.Clone(file), "TAG and what follows it"...),
	} {
		if got := adts.ToM4A(b); !bytes.Equal(got, b) || adts.Duration(b) != 0 {
			t.Errorf("%s: %d bytes became %d", name, len(b), len(got))
		}
	}
}

func FuzzM4A(f *testing.F) {
	f.Add(sine(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := adts.ToM4A(b); len(got) > 2*len(b)+1024 || adts.Duration(b) < 0 {
			t.Errorf("%d bytes became %d", len(b), len(got))
		}
	})
}
