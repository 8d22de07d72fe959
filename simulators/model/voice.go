package model

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"
)

// voiceComment is the comment in which a simulated voice note says what is said in it.
const voiceComment = "TRANSCRIPT="

// maxWords is how long that may be: it has to fit a page of Ogg.
const maxWords = 60_000

// Voice makes a voice note as phones record them: Opus in Ogg (RFC 3533, RFC 7845), of
// that length. The sound is silence; the words stand in a comment, where the endpoint
// for transcriptions finds them. It cuts words off behind 60,000 bytes.
func Voice(words string, length time.Duration) []byte {
	const vendor = "simulator"
	words = voiceComment + words[:min(len(words), maxWords)]
	head := append([]byte("OpusHead\x01\x01\x00\x00"), 0x80, 0xBB, 0, 0, 0, 0, 0) // one channel, 48 kHz
	tags := binary.LittleEndian.AppendUint32([]byte("OpusTags"), uint32(len(vendor)))
	tags = binary.LittleEndian.AppendUint32(append(tags, vendor...), 1)
	tags = append(binary.LittleEndian.AppendUint32(tags, uint32(len(words))), words...)
	silence := []byte{0xF8, 0xFF, 0xFE} // one packet of 20 ms
	b := oggPage(nil, 2, 0, 0, head)
	b = oggPage(b, 0, 0, 1, tags)
	return oggPage(b, 4, uint64(length.Milliseconds())*48, 2, silence)
}

// VoiceAAC makes a voice note as Signal records it on Android: AAC in ADTS, of about
// that length, 44.1 kHz and one channel. Its words stand in the first frame.
func VoiceAAC(words string, length time.Duration) []byte {
	const mostFrame = 8000
	words = voiceComment + words[:min(len(words), mostFrame)]
	first := append(binary.LittleEndian.AppendUint32([]byte{0x21}, uint32(len(words))), words...)
	var b []byte
	for n, at := 0, time.Duration(0); at < length; n, at = n+1, at+1024*time.Second/44100 {
		frame := []byte{0x21, 0x10, 0x05, 0x20}
		if n == 0 {
			frame = first
		}
		size := len(frame) + 7
		b = append(b, 0xFF, 0xF1, 0x50, 0x40|byte(size>>11), byte(size>>3), byte(size<<5)|0x1F, 0xFC)
		b = append(b, frame...)
	}
	return b
}

// oggPage appends a page with one whole packet.
func oggPage(b []byte, flags byte, granule uint64, number uint32, packet []byte) []byte {
	start := len(b)
	b = append(append(b, "OggS\x00"...), flags)
	b = binary.LittleEndian.AppendUint64(b, granule)
	b = binary.LittleEndian.AppendUint32(b, 1) // the stream
	b = binary.LittleEndian.AppendUint32(b, number)
	b = append(b, 0, 0, 0, 0, byte(len(packet)/255+1)) // the sum comes last
	for n := len(packet); ; n -= 255 {
		b = append(b, byte(min(n, 255)))
		if n < 255 {
			break
		}
	}
	b = append(b, packet...)
	binary.LittleEndian.PutUint32(b[start+22:], oggSum(b[start:]))
	return b
}

// oggSum returns the CRC of RFC 3533: the polynomial 0x04c11db7, not reflected.
func oggSum(b []byte) (sum uint32) {
	for _, c := range b {
		sum ^= uint32(c) << 24
		for range 8 {
			if sum&(1<<31) != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}

// decodeVoice returns what is said in a file, and how long it lasts; ok is false when it
// is no sound that is known here. What only parley's own voice notes tell, the words, is
// "" in others.
func decodeVoice(file []byte) (words string, length time.Duration, ok bool) {
	switch {
	case bytes.HasPrefix(file, []byte("OggS")):
		at := bytes.LastIndex(file, []byte("OggS"))
		if len(file) < at+14 {
			return "", 0, false
		}
		granule := binary.LittleEndian.Uint64(file[at+6:])
		if granule > 1<<40 {
			return "", 0, false
		}
		return oggComment(file), time.Duration(granule) * time.Second / 48_000, true
	case len(file) >= 44 && bytes.HasPrefix(file, []byte("RIFF")) && string(file[8:12]) == "WAVE":
		rate := binary.LittleEndian.Uint32(file[28:]) // bytes a second
		if rate == 0 {
			return "", 0, false
		}
		return "", time.Duration(len(file)-44) * time.Second / time.Duration(rate), true
	case len(file) > 2 && file[0] == 0xFF && file[1]&0xF6 == 0xF0:
		// AAC in ADTS, as Signal records it on Android. OpenAI looks into the file and
		// refuses it whatever its name says: letta-ai/lettabot, pull request 128.
		return "", 0, false
	case len(file) > 12 && string(file[4:8]) == "ftyp":
		length, ok = mp4Duration(file)
		return oggComment(file), length, ok
	case bytes.HasPrefix(file, []byte("ID3")), len(file) > 2 && file[0] == 0xFF && file[1]&0xE0 == 0xE0,
		bytes.HasPrefix(file, []byte("fLaC")), bytes.HasPrefix(file, []byte("\x1a\x45\xdf\xa3")):
		return "", time.Duration(len(file)) * time.Second / 16_000, true // of 128 kbit/s
	}
	return "", 0, false
}

// mp4Duration reads how long the sound in an MP4 is, which must have its samples where its
// table says that they are.
func mp4Duration(file []byte) (length time.Duration, ok bool) {
	inside := func(name string) []byte {
		at := bytes.Index(file, []byte(name))
		if at < 4 {
			return nil
		}
		n := int(binary.BigEndian.Uint32(file[at-4:]))
		if n < 8 || at-4+n > len(file) {
			return nil
		}
		return file[at+4 : at-4+n]
	}
	header, sizes, places, data := inside("mdhd"), inside("stsz"), inside("stco"), inside("mdat")
	if len(header) < 20 || len(sizes) < 12 || len(places) < 12 {
		return 0, false
	}
	sum := 0
	for at := 12; at+4 <= len(sizes); at += 4 {
		sum += int(binary.BigEndian.Uint32(sizes[at:]))
	}
	rate, samples := binary.BigEndian.Uint32(header[12:]), binary.BigEndian.Uint32(header[16:])
	place := int(binary.BigEndian.Uint32(places[8:]))
	if rate == 0 || sum != len(data) || place != bytes.Index(file, []byte("mdat"))+4 || inside("mp4a") == nil {
		return 0, false
	}
	return time.Duration(samples) * time.Second / time.Duration(rate), true
}

// oggComment returns the comment of a voice note of [Voice].
func oggComment(file []byte) string {
	at := bytes.Index(file, []byte(voiceComment))
	if at < 4 {
		return ""
	}
	n := int(binary.LittleEndian.Uint32(file[at-4:]))
	if n < len(voiceComment) || n > len(file)-at {
		return ""
	}
	return strings.ToValidUTF8(string(file[at+len(voiceComment):at+n]), "")
}
