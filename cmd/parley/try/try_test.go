package try_test

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/cmd/cmdtest"
	"parley/cmd/parley/terminal"
	"parley/cmd/parley/terminal/terminaltest"
	"parley/cmd/parley/try"
	"parley/simulators/signal"
)

func TestMain(m *testing.M) {
	// See TestMain of package broker.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

const patience = 60 * time.Second

// glass is a screen that somebody looks at.
type glass struct {
	mu      sync.Mutex
	all     string
	changed chan struct{} // closed at the next write
}

func (g *glass) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all += string(p)
	close(g.changed)
	g.changed = make(chan struct{})
	return len(p), nil
}

// await waits until text stands after the first from bytes, and gives the place
// behind it.
func (g *glass) await(t *testing.T, from int, text string) int {
	t.Helper()
	limit := time.After(patience)
	for {
		g.mu.Lock()
		all, changed := g.all, g.changed
		g.mu.Unlock()
		if i := strings.Index(all[from:], text); i >= 0 {
			return from + i + len(text)
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%q does not appear; there is:\n%s", text, all[from:])
		}
	}
}

var errNotSeen = errors.New("what a line needs is not seen")

// find waits until what matches, and gives the last match's first group.
func (g *glass) find(what *regexp.Regexp) (string, error) {
	limit := time.After(patience)
	for {
		g.mu.Lock()
		all, changed := g.all, g.changed
		g.mu.Unlock()
		if found := what.FindAllStringSubmatch(all, -1); found != nil {
			return found[len(found)-1][1], nil
		}
		select {
		case <-changed:
		case <-limit:
			return "", errNotSeen
		}
	}
}

// person sits at a terminal.
func person(t *testing.T, ctx context.Context, pace time.Duration) (*glass, io.WriteCloser, <-chan error) {
	t.Helper()
	in, keys := io.Pipe()
	g := &glass{changed: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		err := try.Run(ctx, try.Options{In: in, Out: g, Terminal: true, Getenv: func(string) string { return "" }, Pace: pace})
		_ = in.Close() // lets the reader of a blocked line go
		ended <- err
	}()
	return g, keys, ended
}

func key(t *testing.T, w io.Writer, line string) {
	t.Helper()
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func over(t *testing.T, g *glass, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with: %v", err)
		}
	case <-time.After(patience):
		t.Fatalf("it did not end:\n%s", g.all)
	}
}

func TestAPersonIsPromptedAndCanStopASlowAnswer(t *testing.T) {
	t.Parallel()
	g, keys, ended := person(t, t.Context(), time.Millisecond)
	at := g.await(t, 0, "ann> ")
	key(t, keys, "what is 6*7")
	at = g.await(t, at, "6 * 7 = 42")
	at = g.await(t, at, "this conversation $")
	at = g.await(t, at, "\nann> ")
	key(t, keys, ":as ben")
	at = g.await(t, at, "You are ben")
	at = g.await(t, at, "\nben> ")
	key(t, keys, ":group")
	at = g.await(t, at, "\nben (group)> ")
	key(t, keys, ":dm")
	at = g.await(t, at, "\nben> ")

	key(t, keys, "something slow please")
	at = g.await(t, at, "parley: ")
	key(t, keys, "/stop")
	at = g.await(t, at, "parley: Stopped.\n")
	g.await(t, at, "ben> ")
	// The stopped answer never comes, and nobody waits for it.
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
	over(t, g, ended)
}

func TestTheSameTalkGoesThroughSlackAndSignal(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"slack", "signal"} {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := try.Run(t.Context(), try.Options{
				Channel: channel, Out: &out, Getenv: func(string) string { return "" }, SignalCLI: signalCLI(t),
				In: strings.NewReader("what is 6*7\n/cost\n:as ben\n:group\nanybody there?\n@@Parley_bot @ what is 5*5\n/cost@parley_bot\n:dm\n/stop\n"),
			})
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for _, want := range []string{
				"ann> what is 6*7\n", "6 * 7 = 42\n", "ann> /cost\nparley: This conversation: $", "(read and passed over: ", "5 * 5 = 25\n",
				"ben> /cost@parley_bot\nparley: This conversation: $", "parley: Nothing was running.",
			} {
				n := strings.Index(out.String()[at:], want)
				if n < 0 {
					t.Fatalf("%q is missing or too early in:\n%s", want, out.String())
				}
				at += n + len(want)
			}
		})
	}
}

// signalCLI returns what writes down the program of a world's signal-cli.
func signalCLI(t *testing.T) func(world string) []string {
	t.Helper()
	program, err := cmdtest.Program(cmdtest.SignalCLI)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return func(world string) []string {
		script, err := signal.Install(dir, world, program)
		if err != nil {
			t.Error(err)
		}
		return []string{script}
	}
}

func TestANetworkThatThereIsNotIsAMistakeOfThePerson(t *testing.T) {
	t.Parallel()
	err := try.Run(t.Context(), try.Options{Channel: "pigeon", In: strings.NewReader(""), Out: io.Discard, Getenv: func(string) string { return "" }})
	if !errors.Is(err, try.ErrChannel) {
		t.Errorf("it ended with: %v", err)
	}
}

func TestAPersonsLastWordsAreAnswered(t *testing.T) {
	t.Parallel()
	g, keys, ended := person(t, t.Context(), 0)
	g.await(t, 0, "ann> ")
	key(t, keys, "what is 6*7")
	if err := keys.Close(); err != nil {
		t.Fatal(err)
	}
	over(t, g, ended)
	g.await(t, 0, "6 * 7 = 42")
}

func TestAnInterruptEndsInOrderAlsoDuringAnAnswer(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	g, keys, ended := person(t, ctx, time.Millisecond)
	at := g.await(t, 0, "ann> ")
	key(t, keys, "something slow please")
	g.await(t, at, "parley: ")
	interrupt()
	over(t, g, ended)
}

func TestALineThatCannotBeReadIsSaid(t *testing.T) {
	t.Parallel()
	broken := errors.New("the tape is torn")
	err := try.Run(t.Context(), try.Options{
		In: io.MultiReader(strings.NewReader("hello\n"), torn{broken}), Out: io.Discard, Getenv: func(string) string { return "" },
	})
	if !errors.Is(err, broken) {
		t.Errorf("it ended with: %v", err)
	}
}

type torn struct{ err error }

func (r torn) Read([]byte) (int, error) { return 0, r.err }

// What somebody says in a voice note is answered as if they had typed it. (firstday A1)
func TestAVoiceNoteIsAnswered(t *testing.T) {
	t.Parallel()
	for _, channel := range try.Networks() {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := try.Run(t.Context(), try.Options{
				Channel: strings.ToLower(channel), Out: &out, Getenv: func(string) string { return "" }, SignalCLI: signalCLI(t),
				In: strings.NewReader(":voice what is 12*7\n:group\n:voice what is 3*3\n"),
			})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "12 * 7 = 84\n") || strings.Contains(out.String(), "3 * 3 = 9") {
				t.Error(out.String())
			}
		})
	}
}

// In a Slack channel the thread that a mention began is where one goes on, without a mention
// and with the same conversation; :group leads out of it.
func TestASlackChannelStaysInItsThread(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := try.Run(t.Context(), try.Settled(try.Options{
		Channel: "slack", Out: &out, Getenv: func(string) string { return "" },
		In: strings.NewReader(":group\nanybody there?\n@parley_bot what is 5*5\nwhat is 6*6\n:as ben\nand what is 7*7\n:group\nanybody there?\n@parley_bot what is 8*8\n"),
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := out.String()
	for _, want := range []string{
		"(read and passed over: ", "not a real model", "5 * 5 = 25\n", "ann> what is 6*6\nparley: 6 * 6 = 36\n", "You are ben, in a thread of the group “kitchen table”.\n",
		"parley: 7 * 7 = 49\n", "You are ben, in the group “kitchen table”.\n", "(read and passed over: ", "not a real model", "8 * 8 = 64\n",
	} {
		_, rest, ok := strings.Cut(got, want)
		if !ok {
			t.Fatalf("%q is missing or too early in:\n%s", want, out.String())
		}
		got = rest
	}
}

// At a real terminal one may type at any time: the line stays below what comes, can be
// edited, and is taken as it was typed.
func TestWhatIsTypedDuringAnAnswerStaysALineOfItsOwn(t *testing.T) {
	t.Parallel()
	in, keys := io.Pipe()
	paper := terminaltest.New(80)
	ended := make(chan error, 1)
	go func() {
		err := try.Run(t.Context(), try.Options{
			Terminal: true, Screen: terminal.New(in, paper, func() (int, int) { return 80, 24 }),
			Getenv: func(string) string { return "" }, Pace: time.Millisecond,
		})
		_ = in.Close()
		ended <- err
	}()
	press := func(text string) {
		t.Helper()
		if _, err := io.WriteString(keys, text); err != nil {
			t.Fatal(err)
		}
	}
	paper.AwaitEnd(t, "\n\nann>")
	press("something slow\r")
	paper.AwaitEnd(t, "\nann>")
	press("/sto")
	text := paper.Await(t, "an answer that grows above the line", func(text string) bool {
		return strings.Contains(text, "I am") && strings.HasSuffix(text, "\nann> /sto")
	})
	if !strings.Contains(text, "ann> something slow\nparley: Hello!") {
		t.Errorf("the answer does not stand below its question:\n%s", text)
	}
	press("q\x7fp\r")
	paper.Await(t, "the end of the answer", func(text string) bool {
		return strings.Contains(text, "ann> /stop\n") && strings.Contains(text, "parley: Stopped.\n") && strings.HasSuffix(text, "\nann>")
	})
	press("what is 12*7\r")
	paper.Await(t, "the next answer", func(text string) bool { return strings.Contains(text, "12 * 7 = 84\n   (") })
	press("\x1b[A\r") // the same again
	paper.Await(t, "it again", func(text string) bool { return strings.Count(text, "ann> what is 12*7\nparley: 12 * 7 = 84\n") == 2 })
	press(":quit\r")
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
