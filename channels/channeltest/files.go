package channeltest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/channels"
)

// FileHarness is a Rig whose network takes files; Features.Files needs it.
type FileHarness interface {
	Harness

	// SentFiles are the files that people see from the bot, in order.
	SentFiles() []SentFile

	// LimitNextFile makes the network refuse the next file of the bot, at the last
	// moment at which it can, and ask to wait for d.
	LimitNextFile(t testing.TB, d time.Duration)

	// LoseNextFile makes the network show the next file of the bot and cut the
	// connection instead of saying so. It needs Features.LostAnswer.
	LoseNextFile(t testing.TB)
}

// SentFile is a file as people see it.
type SentFile struct {
	Name string
	Data []byte
	// At is the place in Harness.Sent of the message that brought it, whose text is
	// what stands beside the file.
	At int
}

func testFiles(t *testing.T, f Features, open func(testing.TB) Harness) {
	t.Helper()
	cases := map[string]func(*testing.T, FileHarness){
		"a file arrives whole, in its place among texts":        testFileInOrder,
		"a file that may have arrived before says so":           testFileRepeated,
		"a rate limit on a file says how long to wait":          testFileRateLimit,
		"content that fails leaves nothing behind and is named": testFileFails,
		"a file that is empty or too large is refused unread":   testFileOfNoSize,
		"SendFile ends with its context":                        testFileCancelled,
		"names of files are sound":                              testFileNames,
	}
	if f.LostAnswer {
		cases["a file whose answer is lost is ambiguous and never denied"] = func(t *testing.T, rig FileHarness) { testFileLost(t, rig, f) }
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig, ok := open(t).(FileHarness)
			if !ok {
				t.Fatal("Features.Files needs a FileRig")
			}
			test(t, rig)
		})
	}
}

// content is a file as SendFile reads it. It is told apart from one that is read
// when it may no longer be.
type content struct {
	t        *testing.T
	data     []byte
	at       int
	failAt   func() error // at the middle, if set: what reading fails with then
	returned atomic.Bool  // SendFile has returned
}

func (c *content) Read(p []byte) (int, error) {
	if c.returned.Load() {
		c.t.Error("the content is read after SendFile returned")
	}
	left := c.data[c.at:]
	if c.failAt != nil {
		left = c.data[c.at:max(c.at, len(c.data)/2)]
		if len(left) == 0 {
			return 0, c.failAt()
		}
	}
	if len(left) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 1+len(p)*2/3)], left) // in pieces, not all at once
	c.at += n
	return n, nil
}

// randomBytes is data without a pattern, so that nothing in it is mistaken for the
// rest.
func randomBytes(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data) // never fails
	return data
}

// sender is a channel that can send files, in a chat where the person has spoken.
type sender struct {
	channels.Channel
	channels.FileSender
	t  *testing.T
	to channels.Message
}

func startFileChat(t *testing.T, rig Harness) sender {
	t.Helper()
	ch, m := startChat(t, rig)
	f, ok := ch.(channels.FileSender)
	if !ok {
		t.Fatal("the channel cannot send files")
	}
	return sender{ch, f, t, m}
}

func (s sender) sendFile(ctx context.Context, r channels.Reply, f channels.File, c *content) (channels.Receipt, error) {
	defer c.returned.Store(true)
	r.To = s.to.Address
	return s.SendFile(ctx, r, f, c)
}

func (s sender) sendText(text string) {
	s.t.Helper()
	if _, err := s.Send(s.t.Context(), channels.Reply{To: s.to.Address, Body: channels.Body{Text: text}}); err != nil {
		s.t.Fatal(err)
	}
}

// wantNothingSent announces that people see nothing of a file.
func wantNothingSent(t *testing.T, rig FileHarness) {
	t.Helper()
	if sent, files := rig.Sent(), rig.SentFiles(); len(sent) != 0 || len(files) != 0 {
		t.Errorf("sent %q and %d files, want nothing", sent, len(files))
	}
}

func testFileInOrder(t *testing.T, rig FileHarness) {
	s := startFileChat(t, rig)
	data := randomBytes(300<<10 + 7)
	s.sendText("one")
	r, err := s.sendFile(t.Context(), channels.Reply{ID: "a/0", ReplyTo: s.to.MessageID},
		channels.File{Name: "report.csv", MIME: "text/csv", Size: int64(len(data))}, &content{t: t, data: data})
	if err != nil || r.MessageID == "" {
		t.Fatalf("SendFile gave %+v, %v", r, err)
	}
	small := []byte("a")
	if _, err := s.sendFile(t.Context(), channels.Reply{ID: "a/1"}, channels.File{Name: "small", Size: 1}, &content{t: t, data: small}); err != nil {
		t.Fatal(err) // without a MIME type or an ending
	}
	s.sendText("two")
	if sent := rig.Sent(); !slices.Equal(sent, []string{"one", "", "", "two"}) {
		t.Errorf("sent %q", sent)
	}
	files := rig.SentFiles()
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	if f := files[0]; f.Name != "report.csv" || f.At != 1 || !bytes.Equal(f.Data, data) {
		t.Errorf("%q at %d, whole: %t", f.Name, f.At, bytes.Equal(f.Data, data))
	}
	if f := files[1]; f.Name != "small" || f.At != 2 || !bytes.Equal(f.Data, small) {
		t.Errorf("%q at %d: %q", f.Name, f.At, f.Data)
	}
}

func testFileRepeated(t *testing.T, rig FileHarness) {
	s := startFileChat(t, rig)
	if _, err := s.Send(t.Context(), channels.Reply{To: s.to.Address, Body: channels.Body{Text: "x"}, Repeat: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.sendFile(t.Context(), channels.Reply{ID: "a/0", Repeat: true}, channels.File{Name: "a.txt", Size: 4}, &content{t: t, data: []byte("data")}); err != nil {
		t.Fatal(err)
	}
	sent := rig.Sent()
	if len(sent) != 2 {
		t.Fatalf("sent %q", sent)
	}
	mark := strings.TrimSpace(strings.TrimSuffix(sent[0], "x"))
	if mark == "" || strings.TrimSpace(sent[1]) != mark {
		t.Errorf("beside the file stands %q, before the text %q", sent[1], mark)
	}
	if f := rig.SentFiles(); len(f) != 1 || f[0].At != 1 || string(f[0].Data) != "data" {
		t.Errorf("files %+v", f)
	}
}

func testFileRateLimit(t *testing.T, rig FileHarness) {
	s := startFileChat(t, rig)
	rig.LimitNextFile(t, 7*time.Second)
	_, err := s.sendFile(t.Context(), channels.Reply{ID: "a/0"}, channels.File{Name: "a.txt", Size: 4}, &content{t: t, data: []byte("data")})
	var e *channels.Error
	if !errors.As(err, &e) || e.Kind != channels.RateLimit || e.RetryAfter != 7*time.Second {
		t.Errorf("SendFile gave %v, want a rate limit of 7s", err)
	}
	wantNothingSent(t, rig)
}

var errContent = errors.New("channeltest: the disk is gone")

func testFileFails(t *testing.T, rig FileHarness) {
	s := startFileChat(t, rig)
	data := randomBytes(256 << 10)
	whole := channels.File{Name: "a.bin", Size: int64(len(data))}
	_, err := s.sendFile(t.Context(), channels.Reply{ID: "a/0"}, whole, &content{t: t, data: data, failAt: func() error { return errContent }})
	if kindOf(err) != channels.Unsent || !errors.Is(err, errContent) {
		t.Errorf("content that fails gave %v", err)
	}
	_, err = s.sendFile(t.Context(), channels.Reply{ID: "a/0"}, whole, &content{t: t, data: data[:len(data)/2]})
	if kindOf(err) != channels.Unsent {
		t.Errorf("content that ends early gave %v", err)
	}
	wantNothingSent(t, rig)
	// What failed stands in nobody's way.
	if _, err := s.sendFile(t.Context(), channels.Reply{ID: "a/0"}, whole, &content{t: t, data: data}); err != nil {
		t.Error(err)
	}
	if f := rig.SentFiles(); len(f) != 1 || !bytes.Equal(f[0].Data, data) {
		t.Errorf("%d files", len(f))
	}
}

func testFileOfNoSize(t *testing.T, rig FileHarness) {
	s := startFileChat(t, rig)
	if s.LargestFile() < 1<<20 {
		t.Errorf("the largest file has %d bytes", s.LargestFile())
	}
	for _, size := range []int64{-1, 0, s.LargestFile() + 1} {
		c := &content{t: t}
		c.returned.Store(true)
		_, err := s.SendFile(t.Context(), channels.Reply{To: s.to.Address, ID: "a/0"}, channels.File{Name: "a.txt", Size: size}, c)
		if kindOf(err) != channels.Refused {
			t.Errorf("a file of %d bytes gave %v", size, err)
		}
	}
	wantNothingSent(t, rig)
}

func testFileCancelled(t *testing.T, rig FileHarness) {
	s := startFileChat(t, rig)
	ctx, cancel := context.WithCancel(t.Context())
	data := randomBytes(256 << 10)
	f := channels.File{Name: "a.bin", Size: int64(len(data))}
	// What reads from a store is cut off by the same end.
	_, err := s.sendFile(ctx, channels.Reply{ID: "a/0"}, f, &content{t: t, data: data, failAt: func() error {
		cancel()
		return context.Cause(ctx)
	}})
	if kindOf(err) != channels.Unsent || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that ends amid the content gave %v", err)
	}
	_, err = s.sendFile(ctx, channels.Reply{ID: "a/0"}, f, &content{t: t, data: data})
	if kindOf(err) != channels.Unsent || !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended gave %v", err)
	}
	wantNothingSent(t, rig)
}

func testFileNames(t *testing.T, rig FileHarness) {
	s := startFileChat(t, rig)
	names := []string{
		"", ".", "..", "../../etc/passwd", `C:\x\y.txt`, "a\x00b\nc.txt", "invoice\u202Efdp.exe", "\u200b", "\xff.bin",
		"<!channel> & @here.txt", `a";b=c.txt`, "a;filename=b,c.txt", "%2e%2e%2f.txt", strings.Repeat("ä", 400) + ".txt", "日本 – Übersicht.pdf",
	}
	for _, name := range names {
		if _, err := s.sendFile(t.Context(), channels.Reply{ID: "a/0"}, channels.File{Name: name, Size: 4}, &content{t: t, data: []byte("data")}); err != nil {
			t.Errorf("a file with the name %q: %v", name, err)
		}
	}
	files := rig.SentFiles()
	if len(files) != len(names) {
		t.Fatalf("%d files, want %d", len(files), len(names))
	}
	for i, f := range files {
		got := f.Name
		if got == "" || got == "." || got == ".." || len(got) > 255 || !utf8.ValidString(got) || strings.ContainsAny(got, `/\`) ||
			strings.ContainsFunc(got, unicode.IsControl) || strings.ContainsRune(got, 0x202E) {
			t.Errorf("%q arrived as %q", names[i], got)
		}
		if strings.HasSuffix(names[i], ".txt") && !strings.HasSuffix(got, ".txt") {
			t.Errorf("%q arrived as %q, without its ending", names[i], got)
		}
		if string(f.Data) != "data" {
			t.Errorf("of %q arrived %q", names[i], f.Data)
		}
	}
	if got := files[len(files)-1].Name; got != names[len(names)-1] {
		t.Errorf("an honest name arrived as %q", got)
	}
}

func testFileLost(t *testing.T, rig FileHarness, f Features) {
	s := startFileChat(t, rig)
	since := time.Now()
	rig.LoseNextFile(t)
	_, err := s.sendFile(t.Context(), channels.Reply{ID: "answer/0"}, channels.File{Name: "a.txt", Size: 4}, &content{t: t, data: []byte("data")})
	if kindOf(err) != channels.Ambiguous {
		t.Fatalf("SendFile gave %v, want an ambiguous error", err)
	}
	if files := rig.SentFiles(); len(files) != 1 || string(files[0].Data) != "data" {
		t.Fatalf("%d files, want it once", len(files))
	}
	if !f.Finds {
		return
	}
	// It is found, or nobody can know; in whatever process.
	for _, ch := range []channels.Channel{s.Channel, rig.Open(t)} {
		finder, ok := ch.(channels.Finder)
		if !ok {
			t.Fatal("the channel cannot find")
		}
		r, found, err := finder.Find(t.Context(), s.to.Address, "answer/0", since)
		switch {
		case err == nil && !found:
			t.Error("Find denies a file that arrived")
		case found && r.MessageID == "":
			t.Error("Find gives a receipt without an id")
		}
	}
}
