// Package adts puts AAC as telephones record it into the container that services take.
//
// Telephones record voice notes as AAC in ADTS (ISO 14496-3, annex 1.A): frames
// one after the other, each with a head of its own. OpenAI looks into files and takes AAC
// only in MP4. Nothing is decoded: the frames stay as they are, and get one head for all.
package adts

import (
	"encoding/binary"
	"slices"
	"time"
)

// Is reports whether a file that begins so is AAC in ADTS.
func Is(head []byte) bool { return len(head) > 2 && head[0] == 0xFF && head[1]&0xF6 == 0xF0 }

// perFrame is how many samples a frame has.
const perFrame = 1024

var rates = [...]uint32{96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350}

// stream is what the heads of all frames say, and the frames without them.
type stream struct {
	kind, rate, channels byte // as the heads write them
	frames               [][]byte
}

// parse reads the frames of a file; false: it is not ADTS from its beginning to its end,
// but for a last frame that was cut off.
func parse(file []byte) (s stream, ok bool) {
	for n := 0; len(file) >= 7; n++ {
		length := int(file[3]&3)<<11 | int(file[4])<<3 | int(file[5])>>5
		head := 7
		if file[1]&1 == 0 { // a checksum follows
			head = 9
		}
		kind, rate, channels := file[2]>>6, file[2]>>2&15, file[2]&1<<2|file[3]>>6
		if n == 0 {
			s.kind, s.rate, s.channels = kind, rate, channels
		}
		switch {
		case !Is(file), length <= head, file[6]&3 != 0, int(rate) >= len(rates), channels == 0,
			kind != s.kind, rate != s.rate, channels != s.channels:
			return stream{}, false
		case length > len(file):
			return s, len(s.frames) > 0
		}
		s.frames = append(s.frames, file[head:length])
		file = file[length:]
	}
	return s, len(s.frames) > 0
}

// Duration returns how long a file is that is AAC in ADTS; 0: it is none.
func Duration(file []byte) time.Duration {
	s, ok := parse(file)
	if !ok {
		return 0
	}
	return time.Duration(len(s.frames)) * perFrame * time.Second / time.Duration(rates[s.rate])
}

// ToM4A returns a file that is AAC in ADTS as one in MP4, and any other as it is. It may
// share memory with file.
func ToM4A(file []byte) []byte {
	s, ok := parse(file)
	if !ok {
		return file
	}
	kind := box("ftyp", []byte("M4A \x00\x00\x00\x00M4A mp42isom"))
	at := uint32(len(kind)+len(s.movieBox(0))) + 8
	return slices.Concat(kind, s.movieBox(at), box("mdat", s.frames...))
}

// box writes a box of ISO 14496-12.
func box(name string, parts ...[]byte) []byte {
	b := append(make([]byte, 4), name...)
	for _, p := range parts {
		b = append(b, p...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

// u32 writes numbers of four bytes.
func u32(ns ...uint32) (b []byte) {
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// u16 writes numbers of two bytes.
func u16(ns ...uint16) (b []byte) {
	for _, n := range ns {
		b = binary.BigEndian.AppendUint16(b, n)
	}
	return b
}

// matrix shows a picture as it is.
var matrix = u32(1<<16, 0, 0, 0, 1<<16, 0, 0, 0, 1<<30)

// movieBox returns the head of all frames, which stand in the file at that place.
func (s stream) movieBox(at uint32) []byte {
	rate := rates[s.rate]
	length := uint32(len(s.frames) * perFrame)
	header := box("mvhd", u32(0, 0, 0, rate, length, 1<<16), u16(1<<8, 0), u32(0, 0), matrix, make([]byte, 24), u32(2))
	track := box("tkhd", u32(7, 0, 0, 1, 0, length, 0, 0), u16(0, 0, 1<<8, 0), matrix, u32(0, 0))
	media := box("mdia",
		box("mdhd", u32(0, 0, 0, rate, length), u16(0x55C4, 0)), // of no language
		box("hdlr", u32(0, 0), []byte("soun"), make([]byte, 13)),
		box("minf",
			box("smhd", u32(0, 0)),
			box("dinf", box("dref", u32(0, 1), box("url ", u32(1)))), // the frames are in this file
			s.sampleTable(at, rate)))
	return box("moov", header, box("trak", track, media))
}

// sampleTable returns what the frames are, and where each of them is.
func (s stream) sampleTable(at, rate uint32) []byte {
	config := uint16(s.kind+1)<<11 | uint16(s.rate)<<7 | uint16(s.channels)<<3
	decoder := slices.Concat([]byte{4, 17, 0x40, 0x15, 0, 0, 0}, u32(0, 0), []byte{5, 2}, u16(config))
	stream := slices.Concat(u32(0), []byte{3, byte(3 + len(decoder) + 3), 0, 1, 0}, decoder, []byte{6, 1, 2})
	sound := box("mp4a", make([]byte, 6), u16(1), u32(0, 0), u16(uint16(s.channels), 16, 0, 0), u32(min(rate, 1<<16-1)<<16), box("esds", stream))
	sizes := u32(0, 0, uint32(len(s.frames)))
	for _, f := range s.frames {
		sizes = append(sizes, u32(uint32(len(f)))...)
	}
	return box("stbl",
		box("stsd", u32(0, 1), sound),
		box("stts", u32(0, 1, uint32(len(s.frames)), perFrame)),
		box("stsc", u32(0, 1, 1, uint32(len(s.frames)), 1)),
		box("stsz", sizes),
		box("stco", u32(0, 1, at)))
}
