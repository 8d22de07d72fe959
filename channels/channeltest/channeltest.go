// Package channeltest is what every adapter of a chat network must do, as one
// suite. An adapter's test opens a [Harness] over a network that behaves, and runs
// the suite in a few lines; a bug found in one adapter becomes a case for all.
package channeltest

import (
	"context"
	"testing"
	"time"

	"parley/channels"
)

// Features describes what only some networks can do.
type Features struct {
	Edits      bool // channels.Editor
	Typing     bool // channels.Typer
	LostAnswer bool // Harness.LoseNextAnswer works
	Finds      bool // channels.Finder; needs LostAnswer
	Streams    bool // channels.Streamer
	Files      bool // channels.FileSender; needs a FileHarness
	Forwards   bool // people can pass on what others wrote; needs a ForwardHarness
	Contacts   bool // people can share a contact; needs a ContactHarness
	Reacts     bool // channels.Reactor; needs a ReactionHarness
	Buttons    bool // messages can have Choices; needs a ButtonHarness
	Private    bool // one person of a chat can be sent a message alone; needs a PrivateHarness
	Proxied    bool // the network is reached over channels.Proxy; needs a ProxyHarness
	Unordered  bool // the network itself brings events in any order
	// AtMostOnce: the network forgets an event once it has brought it, whether or
	// not it was taken, so that one which is not is lost with the process.
	AtMostOnce bool
}

// Harness is a network with one bot account on it and one person who writes to the
// bot in a direct chat. Its methods may be called while a channel is running.
type Harness interface {
	// Open gives a channel for the account, as the start of a new process does:
	// it knows nothing but what the network tells it. Pauses of the adapter
	// should be set to a few milliseconds.
	Open(t testing.TB) channels.Channel

	// Say lets the person, under the given name, write to the bot. Each call
	// makes one event; events are offered in the order of the calls.
	Say(t testing.TB, name, text string)

	// SayPicture is Say with a picture, a PNG.
	SayPicture(t testing.TB, name, text string, data []byte)

	// SayUnreadable makes one event that the adapter cannot decode, but for who
	// caused it.
	SayUnreadable(t testing.TB)

	// Acknowledged returns how many events the network holds for received, and
	// AwaitAcknowledged waits until it is at least n.
	Acknowledged() int
	AwaitAcknowledged(ctx context.Context, n int) error

	// LimitNext makes the network refuse the next message of the bot and ask
	// to wait for d.
	LimitNext(t testing.TB, d time.Duration)

	// LimitNextEdit does the same for the next edit. It needs Features.Edits.
	LimitNextEdit(t testing.TB, d time.Duration)

	// Attempts returns how often the bot called for a message or an edit, whatever came of
	// it.
	Attempts() int

	// Advance sets the clocks of the network and of its channels forward.
	Advance(d time.Duration)

	// LoseNextAnswer makes the network take the next message of the bot and
	// cut the connection instead of saying so.
	LoseNextAnswer(t testing.TB)

	// Sent returns the text of each message that the network took from the bot, in
	// order.
	Sent() []string
}

// Run runs the suite. Each case opens a rig of its own. The test that calls Run
// must not be parallel: one case counts goroutines.
func Run(t *testing.T, f Features, open func(t testing.TB) Harness) {
	t.Run("fifty starts and stops leave no goroutine", func(t *testing.T) { testStartsAndStops(t, f, open) })
	for name, test := range map[string]func(*testing.T, Harness, Features){
		"an event is not acknowledged before it is accepted":            testAckAfterAccept,
		"an event that is not taken is offered again before later ones": testRefusedAgain,
		"an event that was not acknowledged comes again under its id":   testSameID,
		"events are offered in their order":                             testOrder,
		"an unreadable event is handed on raw and holds up nobody":      testUnreadable,
		"Receive ends with its context while accept fails":              testEndsWhileRefusing,
		"strangers' names and texts make sound events":                  testHostileText,
		"a rate limit says how long to wait":                            testRateLimit,
		"what Render gives is taken by Send":                            testRender,
		"a penalty amid an answer costs it nothing":                     testPenalty,
		"a penalty is kept over a restart":                              testRememberedPenalty,
		"a picture comes with its words and can be fetched":             testPicture,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t), f)
		})
	}
	runOptional(t, f.LostAnswer, "a send whose answer is lost is ambiguous", open, testLostAnswer)
	runOptional(t, f.Edits, "editing to the same content is a success", open, testEdit)
	runOptional(t, f.Edits, "a penalty at the end of an answer that grows costs it nothing", open, testEditPenalty)
	runOptional(t, f.Forwards, "what is passed on is its author's", open, testForward)
	runOptional(t, f.Contacts, "a contact is said in words", open, testContact)
	if f.Buttons {
		runOptional(t, true, "a button says what it was given", open, testButtons)
	}
	if f.Private {
		runOptional(t, true, "what is for one person is seen by nobody else, and its buttons go when they are pressed", open, testPrivate)
	}
	runOptional(t, f.Typing, "typing can be shown", open, testTyping)
	runOptional(t, f.Reacts, "a reaction comes and goes", open, testReact)
	runOptional(t, f.Reacts, "a penalty for a reaction is kept", open, testReactPenalty)
	runOptional(t, f.Finds, "a send whose answer is lost is found", open, testFind)
	runOptional(t, f.Streams, "an answer grows to its end", open, testStream)
	runOptional(t, f.Streams, "an answer that begins anew loses nothing of what was said before", open, testSplitStream)
	runOptional(t, f.Files, "files can be sent", open, func(t *testing.T, rig Harness) { startFileChat(t, rig) })
	if f.Files {
		testFiles(t, f, open)
	}
	if f.Proxied {
		testProxies(t, f, open)
	}
}

func runOptional(t *testing.T, has bool, name string, open func(testing.TB) Harness, test func(*testing.T, Harness)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		if has {
			test(t, open(t))
			return
		}
		// What a network cannot do its adapter must not offer.
		ch := open(t).Open(t)
		_, editor := ch.(channels.Editor)
		_, typer := ch.(channels.Typer)
		_, reactor := ch.(channels.Reactor)
		_, finder := ch.(channels.Finder)
		_, streamer := ch.(channels.Streamer)
		_, fileSender := ch.(channels.FileSender)
		if map[string]bool{
			"typing can be shown": typer, "a reaction comes and goes": reactor, "editing to the same content is a success": editor,
			"a send whose answer is lost is found": finder, "an answer grows to its end": streamer, "files can be sent": fileSender,
		}[name] {
			t.Errorf("%s: offered, but not declared as a feature", ch.Name())
		}
	})
}
