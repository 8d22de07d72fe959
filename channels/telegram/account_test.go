package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"parley/channels"
	"parley/channels/telegram"
	sim "parley/simulators/telegram"
)

// notes is an observer that keeps what it is told of a channel.
type notes struct {
	channels.NopObserver
	mu   sync.Mutex
	last map[string]string
}

func (n *notes) Note(channel, note string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last[channel] = note
}

func (n *notes) of(channel string) (note string, told bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	note, told = n.last[channel]
	return note, told
}

// firstday T5. Bot API, User: can_read_all_group_messages says whether privacy mode
// is off.
func TestPrivacyModeIsToldWhereGroupsAreServed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ groups, readsAll, want bool }{
		"groups, and privacy mode on":     {true, false, true},
		"groups, and privacy mode off":    {true, true, false},
		"no groups, and privacy mode on":  {false, false, false},
		"no groups, and privacy mode off": {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRigWith(t, func(o *sim.Options) { o.Bots[0].CanReadAllGroupMessages = c.readsAll })
			var log bytes.Buffer
			n := &notes{last: map[string]string{}}
			ch := r.open(t, func(o *telegram.Options) {
				o.Groups, o.Observer, o.Log = c.groups, n, slog.New(slog.NewTextHandler(&log, nil))
			})
			events := listen(t, ch)
			r.say(t, sim.PrivateChat(ann), ann, "hi", sim.SayOptions{})
			next(t, events) // which comes after the account was looked at
			note, told := n.of("tg")
			if !told || strings.Contains(note, "/setprivacy") != c.want {
				t.Errorf("the status is told %q, %v", note, told)
			}
		})
	}
}

// firstday T6.
func TestCommandsAreSuggestedInDirectMessagesAndGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	menu := []telegram.Command{{Name: "new", Does: "begin again"}, {Name: "help", Does: "this list"}}
	for n := range 2 { // the second process finds them there
		ch := r.open(t, func(o *telegram.Options) { o.Commands = menu })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ch.Receive(ctx, func(context.Context, channels.Message) error { return nil }) }()
		_, err := r.Await(t.Context(), func(b sim.Book) bool {
			return asked(b, "getMyCommands") == 2*n+2 && asked(b, "setMyCommands") == 2
		})
		stop()
		if err := errors.Join(err, <-ended); err != nil {
			t.Fatal(err)
		}
	}
	for _, scope := range []string{"all_private_chats", "all_group_chats"} {
		if m := r.Menu("", scope, ""); len(m) != 2 || m[0] != (sim.Command{Command: "new", Description: "begin again"}) {
			t.Errorf("in %s are suggested %v", scope, m)
		}
	}
	if n := asked(r.Books(), "setMyCommands"); n != 2 {
		t.Errorf("they were set %d times, want once for each scope", n)
	}
}

// asked counts the calls of a method.
func asked(b sim.Book, method string) (n int) {
	for _, c := range b.Calls {
		if c.Method == method {
			n++
		}
	}
	return n
}
