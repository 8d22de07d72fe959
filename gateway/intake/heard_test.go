package intake_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/intake"
	"parley/gateway/policy"
	"parley/sessions"
)

// talk is a group in which people talk.
type talk struct {
	t *testing.T
	w *world
	*intake.Intake
	n   int
	now time.Time
}

func newTalk(t *testing.T, context int, change ...func(*policy.Access)) *talk {
	t.Helper()
	a := policy.Access{People: []string{ann}, Groups: []string{kitchen}}
	for _, c := range change {
		c(&a)
	}
	k := &talk{t: t, w: &world{}, now: received}
	k.Intake = k.w.intake(a)
	src := k.Sources["tg"]
	src.GroupContext = context
	k.Sources["tg"] = src
	k.Now = func() time.Time { return k.now }
	return k
}

// event is a message of the group that is not for the bot.
func (k *talk) event(from, text string) channels.Message {
	k.n++
	m := group(from, text)
	m.Event, m.MessageID, m.Mentioned = fmt.Sprint("e", k.n), fmt.Sprint("m", k.n), false
	m.ReceivedAt, m.SentAt = k.now, k.now
	return m
}

func (k *talk) say(from, text string) channels.Message {
	k.t.Helper()
	m := k.event(from, text)
	k.take(m)
	return m
}

func (k *talk) take(m channels.Message) {
	k.t.Helper()
	if err := k.Accept(k.t.Context(), m); err != nil {
		k.t.Fatal(err)
	}
}

// ask has Ann ask, and returns what came with the question.
func (k *talk) ask() []string {
	k.t.Helper()
	m := k.event(ann, "well?")
	m.Mentioned = true
	return k.asked(m)
}

func (k *talk) asked(m channels.Message) (texts []string) {
	k.t.Helper()
	k.take(m)
	for _, q := range k.stored().Heard {
		if !q.Untrusted || q.Author.ID == "" || q.Author.Name == "" {
			k.t.Errorf("it comes as %+v", q)
		}
		texts = append(texts, q.Text)
	}
	return texts
}

func (k *talk) stored() (m channels.Message) {
	k.t.Helper()
	if len(k.w.published) == 0 {
		k.t.Fatal("nothing was queued")
	}
	if err := json.Unmarshal(k.w.published[len(k.w.published)-1].Body, &m); err != nil {
		k.t.Fatal(err)
	}
	return m
}

func (k *talk) want(got []string, want ...string) {
	k.t.Helper()
	if !slices.Equal(got, want) {
		k.t.Errorf("it comes with %q, want %q", got, want)
	}
}

// firstday S9: what a group said, and not to the bot, comes with the next question
// there, once, whoever said it; and nothing of it obeys anybody or leaves a trace
// before.
func TestHeardWordsComeWithTheNextQuestion(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 3)
	for _, text := range []string{"zero", "/stop", "/new", "three"} {
		k.say(ben, text)
	}
	forwarded := k.event(ann, "")
	forwarded.Forwarded = []channels.Quote{{Text: "/stop, it said"}}
	k.take(forwarded)
	if n := k.w.trace(); n != 0 {
		t.Errorf("what is not for the bot leaves %d traces", n)
	}
	k.want(k.ask(), "/new", "three", "(passed on) /stop, it said")
	k.want(k.ask())
	k.say(ben, "four")
	k.want(k.ask(), "four")
	k.say(ben, "five")
	command := k.event(ann, "/new")
	command.Mentioned = true
	k.want(k.asked(command))
	k.want(k.ask(), "five")
}

// firstday S9: nothing is kept where that is not configured, nor of groups that are not
// listed, be everybody allowed, nor of what is said to the bot.
func TestHeardWordsAreKeptOnlyWhereThatIsWanted(t *testing.T) {
	t.Parallel()
	off := newTalk(t, 0)
	off.say(ben, "one")
	off.want(off.ask())

	unlisted := newTalk(t, 5, func(a *policy.Access) { a.Everyone, a.Groups = true, []string{"-3000"} })
	unlisted.say(ben, "one")
	unlisted.want(unlisted.ask())

	k := newTalk(t, 5)
	direct := dm(ben, "psst")
	direct.Event = "direct"
	k.take(direct)
	toBot := k.event(ben, "let me in")
	toBot.Mentioned = true
	k.take(toBot)
	elsewhere := k.event(ben, "elsewhere")
	elsewhere.Address.Thread = "7"
	k.take(elsewhere)
	k.want(k.ask())
	there := k.event(ann, "and here?")
	there.Mentioned, there.Address.Thread = true, "7"
	k.want(k.asked(there), "elsewhere")

	k.say(ben, "before")
	k.take(membership(k.event(ann, ""), true))
	k.w.chats = map[string]sessions.Chat{}
	k.want(k.ask())
}

// firstday S9: what is kept has bounds in each direction.
func TestHeardWordsAreBounded(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 200)
	for n := range 30 {
		k.say(ben, fmt.Sprint(n, " ", strings.Repeat("ö", 1000)))
	}
	got, bytes := k.ask(), 0
	for _, text := range got {
		bytes += len(text)
		if len(text) > 1003 || !strings.HasSuffix(text, "…") {
			t.Errorf("a text of %d bytes", len(text))
		}
	}
	if bytes > 8<<10 || len(got) != 8 || !strings.HasPrefix(got[7], "29 ") {
		t.Errorf("%d texts of %d bytes", len(got), bytes)
	}
	k.say(ben, "old")
	fading := k.event(ben, "fading")
	fading.ExpiresAfter = 2 * time.Hour
	k.now = k.now.Add(time.Hour)
	k.take(fading)
	k.say(ben, "new")
	k.now = k.now.Add(time.Hour)
	k.say(ben, "newer")
	k.now = k.now.Add(time.Hour)
	k.say(ben, "newest")
	k.now = k.now.Add(3 * time.Hour)
	k.want(k.ask(), "new", "newer", "newest")
}

// firstday S9: what its sender changes or takes back is changed or gone, and nobody
// else changes it.
func TestHeardWordsFollowEdits(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 9)
	changed := func(m channels.Message, kind channels.EventKind, by, text string) {
		m.Event, m.Kind, m.Text, m.Sender.ID = m.Event+"x", kind, text, by
		k.take(m)
	}
	one, two, three, four := k.say(ben, "one"), k.say(ben, "two"), k.say(ben, "three"), k.say(ben, "four")
	changed(one, channels.Edited, ben, "uno")
	changed(two, channels.Deleted, ben, "")
	changed(three, channels.Edited, "6666", "mine")
	changed(four, channels.Unhandled, ben, "")
	changed(k.event(ben, ""), channels.Edited, ben, "of what was never heard")
	k.want(k.ask(), "uno", "three")

	k.say(ben, "five")
	forgot := k.say(ann, "what is it?")
	k.say(ben, "six")
	forgot.Event, forgot.Kind, forgot.Mentioned = "edit", channels.Edited, true
	k.want(k.asked(forgot), "five", "six")
	k.say(ben, "seven")
	forgot.Event = "edit of nothing"
	k.want(k.asked(forgot))
	k.want(k.ask(), "seven")
}

// firstday S9: what was not queued has taken nothing with it.
func TestHeardWordsStayUntilTheQuestionIsQueued(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 9)
	k.say(ben, "one")
	m := k.event(ann, "well?")
	m.Mentioned, k.w.fail = true, "Publish"
	if k.Accept(t.Context(), m) == nil {
		t.Fatal("nothing failed")
	}
	k.w.fail = ""
	k.want(k.asked(m), "one")
	k.want(k.ask())
}

// firstday S9: the pieces of a question are no words of others, whichever of them names
// the bot.
func TestHeardWordsAreNotThoseOfTheQuestion(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 9)
	long := strings.Repeat("x", 4096)
	k.say(ben, "one")
	k.say(ann, long)
	k.say(ben, "between")
	k.want(k.ask(), "one", "between")

	k.now = k.now.Add(time.Minute)
	first := k.event(ann, long)
	first.Mentioned = true
	k.want(k.asked(first))
	k.say(ann, long)
	k.say(ann, "the end")
	k.want(k.ask())

	k.now = k.now.Add(time.Minute)
	k.say(ann, long)
	k.say(ann, "that was all")
	if got := k.ask(); len(got) != 2 || got[1] != "that was all" {
		t.Errorf("what its sender said by itself before is left out: %d", len(got))
	}

	k.now = k.now.Add(time.Minute)
	photo := func(album string) channels.Message {
		m := k.event(ann, "")
		m.Album, m.Attachments = album, []channels.Attachment{{Kind: "photo", Ref: "r"}}
		return m
	}
	k.take(photo("of another day"))
	k.take(photo("a"))
	last := photo("a")
	last.Mentioned = true
	k.want(k.asked(last), "(photo)")
	k.take(photo("a"))
	k.want(k.ask())
}

// noError ends the test if err is an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
