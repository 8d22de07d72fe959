package attachments

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"parley/channels"
	"parley/llm/adts"
	"parley/transcript"
)

// How much sound a file of so many bytes holds. Nobody speaks in less than 6 kbit/s:
// that is the least that Opus takes; nor does any codec of voice notes take more than
// 512.
const (
	minRate = 6_000 / 8 // bytes a second
	maxRate = 512_000 / 8
)

// longest is more than any file that is brought holds: what says so is not believed.
const longest = 1000 * time.Hour

// markSounds marks the files that are to be made words of.
func (b *Importer) markSounds(r Request, said [][]Result) {
	if !b.Transcribes {
		return
	}
	for i, fs := range said {
		for k := range fs {
			f := &fs[k]
			if f.Path == "" || strings.HasPrefix(f.MIME, "text/") || !isSound(r.Files[i][k], f.MIME) {
				continue
			}
			s, err := probeSound(r.Workspace, f.Path, r.Files[i][k])
			if err != nil {
				b.Logger.Warn("audio attachment unreadable", "workspace", r.Workspace, "path", f.Path, "error", err)
			}
			f.Sound = s
		}
	}
}

// probeSound looks at a file of the workspace; nil: it is of no format that providers take.
func probeSound(workspace, place string, f File) (*transcript.Sound, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	file, err := root.OpenFile(place, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err // it names the file
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, err // as above
	}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	if err != nil && n == 0 {
		return nil, fmt.Errorf("read %s: %w", place, err)
	}
	ending := soundExtension(head[:n])
	if ending == "" {
		return nil, nil // that is no mistake
	}
	s := &transcript.Sound{
		Name: strings.TrimSuffix(path.Base(place), path.Ext(place)) + ending, Bytes: info.Size(), Spoken: f.Kind == channels.Voice,
	}
	length := time.Duration(f.Millis) * time.Millisecond
	if ending == ".ogg" {
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err // as above
		}
		length = max(length, oggLength(file))
	}
	if adts.Is(head[:n]) {
		whole, err := io.ReadAll(io.MultiReader(bytes.NewReader(head[:n]), file))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", place, err)
		}
		length = max(length, adts.Duration(whole))
	}
	if s.Guess = length <= 0 || length > longest; s.Guess {
		length = durationAtRate(s.Bytes, minRate)
	}
	s.Millis = max(length, durationAtRate(s.Bytes, maxRate)).Milliseconds()
	return s, nil
}

// durationAtRate returns how long so many bytes last.
func durationAtRate(n, perSecond int64) time.Duration {
	return time.Duration(n) * time.Second / time.Duration(perSecond)
}

// soundExtension returns the ending of the format that a file begins with, as providers
// know it: they go by the name first, and networks give sounds none or a wrong one; "" of
// what they do not take. AAC without a container gets one on the way.
func soundExtension(head []byte) string {
	starts := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	switch {
	case starts("OggS"):
		return ".ogg"
	case len(head) > 12 && string(head[4:8]) == "ftyp", adts.Is(head):
		return ".m4a"
	case starts("RIFF") && len(head) > 12 && string(head[8:12]) == "WAVE":
		return ".wav"
	case starts("fLaC"):
		return ".flac"
	case starts("\x1a\x45\xdf\xa3"):
		return ".webm"
	case starts("ID3"), len(head) > 2 && head[0] == 0xFF && head[1]&0xE0 == 0xE0:
		return ".mp3"
	}
	return ""
}

// oggLength reads how long the sound in an Ogg file is (RFC 3533): each of its streams
// says in its pages how far they go, one after the other. 0: it cannot be read, or its
// codec is not known here.
func oggLength(r io.ReadSeeker) (length time.Duration) {
	ends, rates, skips := map[uint32]uint64{}, map[uint32]uint64{}, map[uint32]uint64{}
	for {
		var head [27]byte
		if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "OggS" {
			break
		}
		granule, serial := binary.LittleEndian.Uint64(head[6:]), binary.LittleEndian.Uint32(head[14:])
		table := make([]byte, head[26])
		if _, err := io.ReadFull(r, table); err != nil {
			break
		}
		size := 0
		for _, n := range table {
			size += int(n)
		}
		if rates[serial] == 0 {
			body := make([]byte, size)
			if _, err := io.ReadFull(r, body); err != nil {
				return 0
			}
			if rates[serial], skips[serial] = oggRate(body); rates[serial] == 0 {
				return 0
			}
		} else if _, err := r.Seek(int64(size), io.SeekCurrent); err != nil {
			return 0
		}
		if granule>>62 == 0 { // -1 stands for a page in which nothing ends
			ends[serial] = max(ends[serial], granule)
		}
	}
	for serial, end := range ends {
		seconds := (end - min(end, skips[serial])) / rates[serial]
		if seconds >= uint64(longest/time.Second) {
			return 0
		}
		length += time.Duration(seconds+1) * time.Second // up to which it is billed
	}
	return length
}

// oggRate reads in the first packet of a stream how many samples a second has, and how
// many at its beginning are not played.
func oggRate(packet []byte) (rate, skip uint64) {
	switch {
	case bytes.HasPrefix(packet, []byte("OpusHead")) && len(packet) >= 12: // RFC 7845
		return 48_000, uint64(binary.LittleEndian.Uint16(packet[10:]))
	case bytes.HasPrefix(packet, []byte("\x01vorbis")) && len(packet) >= 16:
		return uint64(binary.LittleEndian.Uint32(packet[12:])), 0
	}
	return 0, 0
}
