package signal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/channels"
	"parley/channels/signal"
	"parley/runtest"
	sim "parley/simulators/signal"
)

// taking is one Receive in the background.
type taking struct {
	t      testing.TB
	events chan channels.Message
	stop   func()
}

func take(t testing.TB, ch *signal.Channel, decide func(channels.Message) error) *taking {
	t.Helper()
	r := &taking{t: t, events: make(chan channels.Message, 1024)}
	r.stop = runtest.Start(t, "Receive", func(ctx context.Context) error {
		return ch.Receive(ctx, func(_ context.Context, m channels.Message) error {
			if decide != nil {
				if err := decide(m); err != nil {
					return err
				}
			}
			r.events <- m
			return nil
		})
	})
	return r
}

func (r *taking) next() channels.Message {
	r.t.Helper()
	select {
	case m := <-r.events:
		return m
	case <-time.After(patience):
		r.t.Fatal("no event came")
		panic("unreachable")
	}
}

// texts takes the next n events.
func (r *taking) texts(n int) []string {
	r.t.Helper()
	var out []string
	for range n {
		out = append(out, r.next().Text)
	}
	return out
}

var errFull = errors.New("not taken")

// G26.
func TestNothingIsLostWhenTheDaemonIsKilledWhileMessagesCome(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t), nil)
	r.seen.await(t, "the channel is up", func(w *watched) bool { return w.up })
	var said []string
	for i := range 30 {
		text := fmt.Sprint("message ", i)
		said = append(said, text)
		r.say(t, sim.Chat{}, ann, text, sim.SayOptions{})
		if i%10 == 5 {
			if n, err := r.Kill(number); err != nil || n > 1 {
				t.Fatalf("killed %d: %v", n, err)
			}
		}
	}
	seen := map[string]bool{}
	for len(seen) < len(said) {
		seen[got.next().Text] = true // one may come twice: intake knows it by its id
	}
	r.seen.await(t, "the channel is up again", func(w *watched) bool { return w.up && w.again > 0 })
}

// G26.
func TestWhatIsSaidWhileParleyDoesNotRunComesWhenItDoes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	offered := make(chan struct{}, 1)
	refused := take(t, r.open(t), func(channels.Message) error {
		select {
		case offered <- struct{}{}:
		default:
		}
		return errFull
	})
	r.say(t, sim.Chat{}, ann, "in the journal", sim.SayOptions{})
	<-offered
	r.await(t, "the daemon wrote it down", func(b sim.Book) bool { return b.Totals.Handled == 1 })
	refused.stop()
	r.stop()
	if n := r.Acknowledged(); n != 0 {
		t.Errorf("%d lines are taken, none was", n)
	}
	r.say(t, sim.Chat{}, ann, "at the service", sim.SayOptions{})
	got := take(t, r.open(t), nil)
	if texts := got.texts(2); !slices.Equal(texts, []string{"in the journal", "at the service"}) {
		t.Errorf("came %q", texts)
	}
	if err := r.AwaitAcknowledged(t.Context(), 2); err != nil {
		t.Error(err)
	}
}

// G26. A line that was taken comes again under its id when the position was not
// stored, and never when it was.
func TestALineComesAgainUnderItsIDOrNotAtAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := take(t, r.open(t), nil)
	r.say(t, sim.Chat{}, ann, "one", sim.SayOptions{})
	one := first.next()
	noError(t, r.AwaitAcknowledged(t.Context(), 1))
	kept, err := os.ReadFile(filepath.Join(r.dir, "state", "position.json"))
	if err != nil {
		t.Fatal(err)
	}
	r.say(t, sim.Chat{}, ann, "two", sim.SayOptions{})
	two := first.next()
	noError(t, r.AwaitAcknowledged(t.Context(), 2))
	first.stop()
	r.stop()
	// As if parley had been killed between accept and the position.
	noError(t, os.WriteFile(filepath.Join(r.dir, "state", "position.json"), kept, 0o600))
	second := take(t, r.open(t), nil)
	if again := second.next(); again.Event != two.Event || again.Text != "two" || again.Event == one.Event {
		t.Errorf("%+v came again as %+v", two, again)
	}
	r.say(t, sim.Chat{}, ann, "three", sim.SayOptions{})
	if m := second.next(); m.Text != "three" {
		t.Errorf("then came %+v", m)
	}
}

// G26.
func TestATornLastLineIsHandedOnRawAndHoldsUpNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	state := filepath.Join(r.dir, "state")
	noError(t, os.MkdirAll(state, 0o700))
	torn := `{"envelope":{"source":"` + ann.ACI + `","timestamp":1,"dataMes`
	noError(t, os.WriteFile(filepath.Join(state, "journal-00000007.ndjson"), []byte("not JSON\n\n"+torn), 0o600))
	got := take(t, r.open(t), nil)
	for _, want := range []string{"not JSON", torn} {
		m := got.next()
		if m.Kind != channels.Unreadable || m.Event == "" || m.Problem == "" || !strings.Contains(string(m.Raw), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("%q came as %+v", want, m)
		}
	}
	r.say(t, sim.Chat{}, ann, "after", sim.SayOptions{})
	if m := got.next(); m.Text != "after" {
		t.Errorf("then came %+v", m)
	}
	noError(t, r.AwaitAcknowledged(t.Context(), 3))
	got.stop()
	// What was taken is gone from the disk.
	if _, err := os.Stat(filepath.Join(state, "journal-00000007.ndjson")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the journal that was taken: %v", err)
	}
}

func TestTakenJournalIsGivenBackToTheDiskWhileTheDaemonRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := take(t, r.open(t, func(o *signal.Options) { o.Reclaim = 4096 }), nil)
	const n = 200
	for i := range n {
		r.say(t, sim.Chat{}, ann, fmt.Sprint(i, strings.Repeat("x", 1500)), sim.SayOptions{})
	}
	got.texts(n)
	noError(t, r.AwaitAcknowledged(t.Context(), n))
	got.stop()
	path := filepath.Join(r.dir, "state", "journal-00000001.ndjson")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() < n*1500 || used > info.Size()/2 {
		t.Errorf("of %d bytes %d are still on the disk", info.Size(), used)
	}
	// The position holds over what was given back.
	next := take(t, r.open(t, func(o *signal.Options) { o.Reclaim = 4096 }), nil)
	r.say(t, sim.Chat{}, ann, "after", sim.SayOptions{})
	if m := next.next(); m.Text != "after" {
		t.Errorf("then came %+v", m)
	}
	noError(t, r.AwaitAcknowledged(t.Context(), n+1))
}

// What was given back reads as zeros, in which no line is lost.
func TestWithoutItsPositionAJournalIsReadFromWhatIsLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	change := func(o *signal.Options) { o.Reclaim = 4096 }
	got := take(t, r.open(t, change), nil)
	const n = 50
	for i := range n {
		r.say(t, sim.Chat{}, ann, fmt.Sprint(i, strings.Repeat("x", 1500)), sim.SayOptions{})
	}
	got.texts(n)
	noError(t, r.AwaitAcknowledged(t.Context(), n))
	got.stop()
	r.stop()
	state := filepath.Join(r.dir, "state")
	raw, err := os.ReadFile(filepath.Join(state, "journal-00000001.ndjson"))
	if err != nil || raw[0] != 0 {
		t.Fatalf("nothing was given back: %v", err)
	}
	// One more line stands behind them.
	line := `{"envelope":{"sourceUuid":"` + ann.ACI + `","sourceDevice":1,"timestamp":7,"dataMessage":{"timestamp":7,"message":"the last"}}}`
	hole := slices.IndexFunc(raw, func(b byte) bool { return b != 0 })
	if raw[hole] != '\n' {
		t.Errorf("behind what was given back stands %.20q", raw[hole:])
	}
	err = errors.Join(
		os.WriteFile(filepath.Join(state, "journal-00000001.ndjson"), append(raw[:hole+1], line...), 0o600),
		os.Remove(filepath.Join(state, "position.json")),
	)
	if err != nil {
		t.Fatal(err)
	}
	got = take(t, r.open(t, change), nil)
	if m := got.next(); m.Kind != channels.Said || m.Text != "the last" {
		t.Errorf("first came %+v", m)
	}
	// The event without a sender and the person's message are offered side by side, in either order.
	noError(t, r.AwaitAcknowledged(t.Context(), 1))
	if len(got.events) > 0 {
		t.Errorf("beside it came %+v", <-got.events)
	}
}

// aParley, as the first argument, makes this binary a program that receives
// until it is killed, and writes down what it took.
const aParley = "a-parley-of-a-test"

// beParley: program, folder, file to write to, program of the Keeper.
func beParley(args []string) {
	ch, err := signal.New(signal.Options{
		Common:  channels.Common{Name: "sig", MinPause: time.Millisecond},
		Account: number, ACI: ourACI, Command: []string{args[0], "--config", filepath.Join(args[1], "config")}, Dir: filepath.Join(args[1], "state"),
		Look: time.Millisecond, Outlive: time.Millisecond,
		Keeper: []string{args[3], "keep", time.Hour.String()},
	})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return
	}
	err = ch.Receive(context.Background(), func(_ context.Context, m channels.Message) error {
		f, err := os.OpenFile(args[2], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintf(f, "%s\t%s\n", m.Event, m.Text)
		}
		if err == nil {
			err = f.Close()
		}
		return err
	})
	_, _ = fmt.Fprintln(os.Stderr, err)
}

// G26, firstday G10.
func TestAKilledParleyLosesNothingAndItsDaemonIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	took := filepath.Join(r.dir, "took")
	lines := func() []string {
		text, err := os.ReadFile(took)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	for round := range 3 {
		// One that takes until signal-cli is told to stop: it is confirmed already.
		r.plan(t, sim.Fault{Trouble: sim.Busy, Skip: 2, Next: 1})
		cmd := exec.Command(self, aParley, r.program, r.dir, took, companion(t)) //nolint:noctx // itself, killed below
		cmd.Stderr = t.Output()
		noError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		for i := range 5 {
			r.say(t, sim.Chat{}, ann, fmt.Sprintf("%d.%d", round, i), sim.SayOptions{})
		}
		// Killed in the middle of it.
		r.await(t, "signal-cli is busy with one", func(b sim.Book) bool {
			return b.Totals.Faults == round+1 && b.Totals.Acked == b.Totals.Handled+1
		})
		noError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		r.await(t, "signal-cli has finished and receives no more", func(b sim.Book) bool {
			return !b.Receiving[number] && b.Totals.Handled == b.Totals.Acked
		})
	}
	r.say(t, sim.Chat{}, ann, "the last", sim.SayOptions{})
	got := take(t, r.open(t), nil)
	r.await(t, "it runs alone", func(b sim.Book) bool {
		live := 0
		for _, d := range b.Daemons {
			if d.Ended.IsZero() {
				live++
			}
		}
		return live == 1
	})
	for m := got.next(); m.Text != "the last"; m = got.next() {
		f := m.Event + "\t" + m.Text
		noError(t, os.WriteFile(took, []byte(strings.Join(append(lines(), f), "\n")), 0o600))
	}
	events := map[string]string{}
	for _, l := range lines() {
		id, text, _ := strings.Cut(l, "\t")
		if before, known := events[id]; known && before != text {
			t.Errorf("%q and %q have the same id %s", before, text, id)
		}
		events[id] = text
	}
	if len(events) != 15 {
		t.Errorf("%d different messages came of 15", len(events))
	}
}

// firstday G10. Nobody has to come for a signal-cli whose parley was killed.
func TestWithoutItsParleyADaemonIsEndedByItsKeeper(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lifeline, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args := append(keeper(t, time.Millisecond), r.program, "--config", filepath.Join(r.dir, "config"), "-a", number, "daemon", "--socket", filepath.Join(r.dir, "rpc.sock"))
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // ended below
	cmd.Stdin, cmd.Stderr = lifeline, t.Output()
	noError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	r.await(t, "signal-cli runs", func(b sim.Book) bool { return len(b.Daemons) == 1 })
	if err := errors.Join(lifeline.Close(), ours.Close()); err != nil { // as the end of parley does
		t.Fatal(err)
	}
	r.await(t, "signal-cli has ended", func(b sim.Book) bool { return !b.Daemons[0].Ended.IsZero() })
	_ = cmd.Wait() // with the status of signal-cli, which may have been about to listen
}

// firstday G10. What signal-cli has confirmed when parley is told to end is written down.
func TestWhatSignalCLIIsBusyWithWhenReceiveEndsIsInTheJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.plan(t, sim.Fault{Trouble: sim.Busy, Next: 1})
	first := take(t, r.open(t), nil)
	r.say(t, sim.Chat{}, ann, "busy", sim.SayOptions{})
	r.await(t, "it is confirmed", func(b sim.Book) bool { return b.Totals.Acked == 1 })
	first.stop()
	r.stop()
	second := take(t, r.open(t), nil)
	if m := second.next(); m.Kind != channels.Said || m.Text != "busy" {
		t.Errorf("came %+v", m)
	}
}
