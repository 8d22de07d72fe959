package attachments_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/broker"
	"parley/channels"
	"parley/gateway/attachments"
	"parley/sessionkeys"
)

// patience is what only a test that fails waits.
const patience = time.Minute

// network is a channel that has files.
type network struct {
	channels.Channel // of which nothing is asked

	mu    sync.Mutex
	files map[string]func(ctx context.Context, w io.Writer) error // by reference
	calls map[string]int
	busy  atomic.Int32
	limit atomic.Int32
}

func (*network) Name() string { return "net" }

func (n *network) Fetch(ctx context.Context, _ sessionkeys.Address, a channels.Attachment, w io.Writer) error {
	n.mu.Lock()
	n.calls[a.Ref]++
	f := n.files[a.Ref]
	n.mu.Unlock()
	now := n.busy.Add(1)
	defer n.busy.Add(-1)
	for was := n.limit.Load(); now > was && !n.limit.CompareAndSwap(was, now); was = n.limit.Load() {
	}
	if f == nil {
		return &channels.Error{Kind: channels.Refused, Op: "fetch", Message: "no such file"}
	}
	return f(ctx, w)
}

func (n *network) called(ref string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls[ref]
}

func (n *network) has(ref string, f func(ctx context.Context, w io.Writer) error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.files[ref] = f
}

func gives(text string) func(context.Context, io.Writer) error {
	return func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, strings.NewReader(text))
		return err
	}
}

// mute is a channel that has none.
type mute struct{ channels.Channel }

func (mute) Name() string { return "net" }

type fixture struct {
	t     *testing.T
	log   *broker.Broker
	net   *network
	b     *attachments.Importer
	space string
	serve func(forget time.Duration)
	stop  func() // the serving
}

func newRig(t *testing.T, c channels.Channel) *fixture {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{Dir: t.TempDir(), Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			t.Errorf("close the log: %v", err)
		}
	})
	r := &fixture{t: t, log: b, space: t.TempDir()}
	r.net = &network{files: map[string]func(context.Context, io.Writer) error{}, calls: map[string]int{}}
	if c == nil {
		c = r.net
	}
	logger := slog.New(slog.DiscardHandler)
	cfg := attachments.Config{MaxBytes: 1 << 20, MaxPerTurn: 5, Timeout: patience}.Defaults()
	r.b = &attachments.Importer{Config: cfg, Log: b, Logger: logger, Now: time.Now}
	r.serve = func(forget time.Duration) {
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		wg.Go(func() {
			(&attachments.Server{Log: b, MaxBytes: cfg.MaxBytes, Logger: logger, Forget: forget}).Serve(ctx, c)
		})
		r.stop = func() { cancel(); wg.Wait() }
		t.Cleanup(r.stop)
	}
	r.serve(patience)
	return r
}

func (r *fixture) bring(files ...attachments.File) []string {
	r.t.Helper()
	said, err := r.b.Import(r.t.Context(), attachments.Request{ID: "m", Workspace: r.space, Files: [][]attachments.File{files}})
	if err != nil {
		r.t.Fatal(err)
	}
	return words(said[0])
}

func words(all []attachments.Result) (ws []string) {
	for _, b := range all {
		ws = append(ws, b.Line)
	}
	return ws
}

func (r *fixture) content(path string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.space, path)) // a test's
	if err != nil {
		r.t.Error(err)
	}
	return string(text)
}

func (r *fixture) names() (names []string) {
	r.t.Helper()
	err := filepath.WalkDir(r.space, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, strings.TrimPrefix(path, r.space+"/"))
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

func file(message, ref, name, mime string) attachments.File {
	return attachments.File{
		Channel: "net", In: sessionkeys.Address{Channel: "telegram", Account: "1", Kind: sessionkeys.DM, Peer: "2"}, Message: message,
		Attachment: channels.Attachment{Kind: "photo", Name: name, MIME: mime, Ref: ref},
	}
}

func TestAFileComesIntoTheWorkspace(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.net.has("a", gives("the cat"))
	r.net.has("b", gives(strings.Repeat("x", 53_000)))
	got := r.bring(file("1234", "a", "cat.jpg", "image/jpeg"), file("1234", "b", "dog.png", ""), file("1234", "", "a place", ""))
	want := []string{
		"(attached photo, saved as attachments/1234-cat.jpg, image/jpeg, 7 bytes)",
		"(attached photo, saved as attachments/1234-dog.png, 52 KB)",
		"(attached, not readable here: photo a place)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if text := r.content("attachments/1234-cat.jpg"); text != "the cat" {
		t.Errorf("it holds %q", text)
	}
	// Again, as after a crash: the same file, and no second one.
	if d := cmp.Diff(want[:1], r.bring(file("1234", "a", "cat.jpg", "image/jpeg"))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"attachments/1234-cat.jpg", "attachments/1234-dog.png"}, r.names()); d != "" {
		t.Error(d)
	}
	// Nothing of it stays in the log.
	for _, name := range []string{"a", "b"} {
		f := file("1234", name, "cat.jpg", "image/jpeg")
		if name == "b" {
			f = file("1234", name, "dog.png", "")
		}
		if _, _, err := r.log.OpenFile(t.Context(), attachments.Object(f)); !errors.Is(err, broker.ErrNoFile) {
			t.Errorf("%s is in the log: %v", name, err)
		}
	}
}

// Whatever a name holds, the file lies in the folder, under a name that tells its
// message; and no file takes another's place.
func TestNamesAreMadeSafe(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.b.Config.MaxPerTurn = 100
	long := strings.Repeat("ж", 300)
	cases := []struct{ message, name, mime, want string }{
		{"1", "../../etc/passwd", "", "1-passwd"},
		{"2", `..\..\boot.ini`, "", "2-boot.ini"},
		{"3", "/", "image/jpeg", "3-photo.jpg"},
		{"4", "", "", "4-photo"},
		{"5", "a\x00b\nc\u202egpj.exe", "", "5-a_b_c_gpj.exe"},
		{"6", long + ".jpg", "", "6-" + strings.Repeat("ж", 48) + ".jpg"},
		{"7", ".bashrc", "", "7-bashrc"},
		{"8", "a b;rm -rf $HOME.txt", "", "8-a_b_rm_-rf__HOME.txt"},
		{"9", "\xff\xfe.txt", "", "9-txt"},
		{"10", "...", "", "10-photo"},
		{"1700000000.000100", "cat.jpg", "", "1700000000.000100-cat.jpg"},
		{"../x", "cat.jpg", "", ".._x*-cat.jpg"},
		{"", "cat.jpg", "", "*-cat.jpg"},
	}
	for i, c := range cases {
		ref := fmt.Sprint(i)
		r.net.has(ref, gives("file "+ref))
		got := r.bring(file(c.message, ref, c.name, c.mime))[0]
		before, after, wild := strings.Cut(c.want, "*")
		path, ok := strings.CutPrefix(got, "(attached photo, saved as attachments/")
		path, _, _ = strings.Cut(path, ", ")
		if !ok || !wild && path != c.want || wild && (!strings.HasPrefix(path, before) || !strings.HasSuffix(path, after)) {
			t.Errorf("%.40q: %q, want %q", c.name, got, c.want)
			continue
		}
		if text := r.content("attachments/" + path); text != "file "+ref {
			t.Errorf("%s holds %q", path, text)
		}
	}
	// Two of the same name, in one message.
	r.net.has("x", gives("one"))
	r.net.has("y", gives("two!"))
	both := r.bring(file("20", "x", "cat.jpg", ""), file("20", "y", "cat.jpg", ""))
	paths := map[string]bool{}
	for i, line := range both {
		path, _, _ := strings.Cut(strings.TrimPrefix(line, "(attached photo, saved as "), ", ")
		paths[path] = true
		if text := r.content(path); text != []string{"one", "two!"}[i] {
			t.Errorf("%s holds %q", path, text)
		}
	}
	if !paths["attachments/20-cat.jpg"] || !paths["attachments/20-cat-2.jpg"] {
		t.Errorf("they are %q", both)
	}
}

func TestWhatCannotBeHadIsSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.net.has("huge", func(_ context.Context, w io.Writer) error {
		for {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return &channels.Error{Kind: channels.Unsent, Op: "download", Err: err}
			}
		}
	})
	r.net.has("edge", gives(strings.Repeat("x", 1<<20)))
	doubtful := func(context.Context, io.Writer) error {
		return &channels.Error{Kind: channels.Refused, RetryAfter: time.Millisecond, Op: "getFile"}
	}
	r.net.has("later", func(ctx context.Context, w io.Writer) error {
		if r.net.called("later") < 3 {
			return doubtful(ctx, w)
		}
		return gives("x")(ctx, w)
	})
	r.net.has("never", doubtful)
	r.net.has("denied", func(context.Context, io.Writer) error {
		return &channels.Error{Kind: channels.Unauthorized, Op: "download"}
	})
	told := file("1", "told", "film.mp4", "")
	told.Size = 1<<20 + 1
	got := r.bring(file("1", "huge", "a\nb", ""), told, file("1", "gone", "cat.jpg", ""), file("1", "denied", "", ""), file("1", "edge", "edge", ""), file("1", "sixth", "x", ""))
	want := []string{
		"(attached photo ab, not saved: larger than 1 MB, which is the most)",
		"(attached photo film.mp4, not saved: larger than 1 MB, which is the most)",
		"(attached photo cat.jpg, not saved: the network does not hand it out)",
		"(attached photo, not saved: the network does not hand it out)",
		"(attached photo, saved as attachments/1-edge, 1 MB)",
		"(attached photo x, not saved: more than 5 came at once)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = r.bring(file("2", "later", "a.jpg", ""), file("2", "never", "b.jpg", ""))
	if len(got) != 2 || !strings.Contains(got[0], "saved as attachments/2-a.jpg") || !strings.Contains(got[1], "does not hand it out") || r.net.called("never") != 3 {
		t.Errorf("after refusals for the moment: %q, %d tries", got, r.net.called("never"))
	}
	if err := os.Remove(filepath.Join(r.space, "attachments", "2-a.jpg")); err != nil {
		t.Fatal(err)
	}
	if n := r.net.called("told") + r.net.called("sixth"); n != 0 {
		t.Errorf("what is not wanted was fetched, %d times", n)
	}
	if d := cmp.Diff([]string{"attachments/1-edge"}, r.names()); d != "" {
		t.Error(d)
	}

	if err := os.RemoveAll(filepath.Join(r.space, "attachments")); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(r.space, "attachments")); err != nil {
		t.Fatal(err)
	}
	if got := r.bring(file("1", "edge", "edge", "")); got[0] != "(attached photo edge, not saved: the workspace does not take it)" {
		t.Error(got)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("outside lies %v, %v", left, err)
	}
	r.b.Config.Timeout = time.Millisecond
	r.net.has("slow", func(ctx context.Context, _ io.Writer) error { <-ctx.Done(); return ctx.Err() })
	if got := r.bring(file("1", "slow", "slow", "")); got[0] != "(attached photo slow, not saved: it did not come in time)" {
		t.Error(got)
	}
}

func TestWhereFilesAreOffNoneIsFetched(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.net.has("a", gives("x"))
	unreadable := "(attached, not readable here: photo cat.jpg)"
	ask := func() string {
		t.Helper()
		said, err := r.b.Import(t.Context(), attachments.Request{Workspace: r.space, Files: [][]attachments.File{nil, {file("1", "a", "cat.jpg", "")}}})
		if err != nil || len(said) != 2 || len(said[0]) != 0 {
			t.Fatalf("%+v, %v", said, err)
		}
		return said[1][0].Line
	}
	r.b.Config.Off = true
	if got := ask(); got != unreadable {
		t.Error(got)
	}
	if r.net.called("a") != 0 {
		t.Error("it was fetched")
	}
	none := newRig(t, mute{})
	if got := none.bring(file("1", "a", "cat.jpg", "")); got[0] != unreadable {
		t.Error(got)
	}
}

// What fails for a while is fetched again, and what is asked twice at once is
// fetched once; no more than some at the same time.
func TestFetchingIsRepeatedSharedAndBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.b.Config.MaxPerTurn = 20
	failures := 2
	r.net.has("later", func(_ context.Context, w io.Writer) error {
		if failures--; failures >= 0 {
			_, _ = w.Write([]byte("half"))
			return &channels.Error{Kind: channels.RateLimit, Op: "download", RetryAfter: time.Millisecond}
		}
		_, err := w.Write([]byte("whole"))
		return err
	})
	if got := r.bring(file("1", "later", "a", "")); got[0] != "(attached photo, saved as attachments/1-a, 5 bytes)" || r.content("attachments/1-a") != "whole" {
		t.Error(got)
	}
	// All at once, twice each, by two workers of one workspace.
	gate, reached := make(chan struct{}), make(chan struct{}, 100)
	var files []attachments.File
	for i := range 12 {
		ref := fmt.Sprint("n", i)
		r.net.has(ref, func(_ context.Context, w io.Writer) error {
			reached <- struct{}{}
			<-gate
			_, err := io.Copy(w, bytes.NewReader(bytes.Repeat([]byte(ref), 1000)))
			return err
		})
		files = append(files, file("2", ref, ref, ""))
	}
	r.net.limit.Store(0)
	var two sync.WaitGroup
	for range 2 {
		two.Go(func() { r.bring(files...) })
	}
	for range 4 {
		<-reached
	}
	close(gate)
	two.Wait()
	if limit := r.net.limit.Load(); limit != 4 {
		t.Errorf("%d were fetched at the same time", limit)
	}
	if names := r.names(); len(names) != 13 {
		t.Errorf("there are %q", names)
	}
}

// abuse M9: a download that breaks off is fetched again, however its adapter says so,
// and when it does not say so but the network had named a size.
func TestADownloadThatBreaksOffIsFetchedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size int64
		err  error
	}{
		"an error that wraps the end": {0, &channels.Error{Kind: channels.Unsent, Op: "download", Err: fmt.Errorf("read: %w", io.EOF)}},
		"no error":                    {5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			r.net.has("f", func(_ context.Context, w io.Writer) error {
				if r.net.called("f") == 1 {
					_, _ = io.WriteString(w, "who")
					return c.err
				}
				_, err := io.WriteString(w, "whole")
				return err
			})
			f := file("1", "f", "a", "")
			f.Size = c.size
			if got := r.bring(f); got[0] != "(attached photo, saved as attachments/1-a, 5 bytes)" || r.content("attachments/1-a") != "whole" {
				t.Error(got)
			}
		})
	}
}

// What nobody wants any more is given up.
func TestWhatNobodyWantsIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.stop()
	r.serve(time.Millisecond)
	ended := make(chan struct{}, 1000)
	r.net.has("slow", func(ctx context.Context, _ io.Writer) error {
		<-ctx.Done()
		ended <- struct{}{}
		return ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		_, _ = r.b.Import(ctx, attachments.Request{Workspace: r.space, Files: [][]attachments.File{{file("1", "slow", "a", "")}}})
	})
	select {
	case <-ended: // although it is asked for: not often enough
	case <-time.After(patience):
		t.Error("it is still fetched")
	}
	cancel()
	asking.Wait()
}

func TestAConfigurationWithoutSenseIsRefused(t *testing.T) {
	t.Parallel()
	if err := (attachments.Config{}).Defaults().Validate(); err != nil {
		t.Error(err)
	}
	for field, c := range map[string]attachments.Config{
		"max_bytes: ": {MaxBytes: -1}, "max_bytes: 2": {MaxBytes: 2 << 30}, "max_per_turn: ": {MaxPerTurn: 101},
		"timeout: ": {Timeout: time.Millisecond}, "timeout: 1h": {Timeout: time.Hour},
	} {
		if err := c.Defaults().Validate(); err == nil || !strings.HasPrefix(err.Error(), field) {
			t.Errorf("%s%v", field, err)
		}
	}
}

// Who stops waits for nobody.
func TestStoppingEndsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	reached, ended := make(chan struct{}), make(chan struct{})
	r.net.has("slow", func(ctx context.Context, w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		close(reached)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	stopped := errors.New("somebody said stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-reached; cancel(stopped) }()
	if said, err := r.b.Import(ctx, attachments.Request{Workspace: r.space, Files: [][]attachments.File{{file("1", "slow", "a", "")}}}); !errors.Is(err, stopped) {
		t.Errorf("%+v, %v", said, err)
	}
	if names := r.names(); len(names) != 0 {
		t.Errorf("there are %q", names)
	}
	r.stop() // the process ends: so does the fetching
	<-ended
}
