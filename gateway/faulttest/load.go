package faulttest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"parley/simulators/telegram"
)

// IsLong reports whether the sizes of the fault matrix are asked for (make
// test-long) and not a small part of them.
func IsLong() bool { return os.Getenv("PARLEY_LONG") != "" }

// SkipUnlessLong skips a row in make test, which has one row for each kind of fault:
// covered says which, and what else proves the same there.
func SkipUnlessLong(t testing.TB, covered string) {
	t.Helper()
	if !IsLong() {
		t.Skip("make test-long has this row; in make test: " + covered)
	}
}

// ScaledSize is full when Long, and else a twentieth of it, at least 1.
func ScaledSize(full int) int {
	if IsLong() {
		return full
	}
	return max(full/20, 1)
}

// Shape is how much people say, and what the model does about it. The zero value
// of each field is that of the standard load L, or of a small part of it.
type Shape struct {
	Conversations int // default 150; 20 in the small part
	Groups        int // of them; default a fifth
	Messages      int // of each; default 20; 6 in the small part
	// Ahead is how many messages of a conversation wait unanswered at most;
	// default 2, so that there is something to bring out of order.
	Ahead int
	// Tools is the share of messages that have 1 to 3 calls of tools, Spawns of
	// those that have two generations of sub-agents. Default 0.2 and 0.05;
	// negative: none.
	Tools, Spawns float64
	// Scripts has every second conversation's calls be scripts of bash, in a sandbox, and not
	// calls of tools for files.
	Scripts bool
	// Asks is the share of messages that have a call for which a person must be asked, who
	// refuses every third. Default: none.
	Asks float64
	// Jobs is how many jobs report to groups of their own every minute.
	Jobs int
	// Titles lets the gateway ask for a title of each conversation.
	Titles bool
	// Activity lets the gateway show what turns do, in the messages in which answers grow.
	Activity bool
	// Goals makes goals of messages, which answers without calls reach. It is for rows in which
	// each question is answered.
	Goals bool
	// Fastest and Slowest bound the time that one answer of the model takes.
	// Default 50 ms and 800 ms; in the small part 20 ms and 200 ms.
	Fastest, Slowest time.Duration
	// Words is how long answers are; default [DefaultWords]. Asides is how many words that ask
	// for nothing people put behind each question; default: none.
	Words, Asides int
	// Window is how many tokens the model takes, and refuses what is longer; 0: more than
	// any conversation has, so none is ever summarised.
	Window int
}

func (s Shape) defaults() Shape {
	set := func(v *int, full, part int) {
		switch {
		case *v != 0:
		case IsLong():
			*v = full
		default:
			*v = part
		}
	}
	set(&s.Conversations, 150, 20)
	set(&s.Groups, s.Conversations/5, s.Conversations/5)
	set(&s.Messages, 20, 6)
	set(&s.Ahead, 2, 2)
	set(&s.Words, 12, 12)
	share := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
		*v = max(*v, 0)
	}
	share(&s.Tools, 0.2)
	share(&s.Spawns, 0.05)
	if s.Fastest == 0 {
		s.Fastest, s.Slowest = 50*time.Millisecond, 800*time.Millisecond
		if !IsLong() {
			s.Fastest, s.Slowest = 20*time.Millisecond, 200*time.Millisecond
		}
	}
	return s
}

// Compacting returns the shape with a window so small, and answers so long, that each
// conversation has to be summarised several times. It is summarised while the longest answer
// still fits behind it, so none is cut.
func (s Shape) Compacting() Shape {
	s.Window, s.Words = 4500, 400
	return s
}

// CompactingQuestions is [Shape.Compacting] with the length in what people say and not in the
// answers, which stay so short that none is shown while it grows.
func (s Shape) CompactingQuestions() Shape {
	s.Window, s.Asides = 4500, 500
	return s
}

// context is what the configuration says about when conversations are summarised.
func (l *Workload) context() string {
	if l.Shape.Window > 0 {
		return "{compact: 0.75, target: 0.7}"
	}
	return "{}"
}

// DefaultWords is how many words an answer has where a [Shape] does not say.
const DefaultWords = 12

// Workload is what is said, all of it a function of shape and seed.
type Workload struct {
	Shape Shape
	Seed  uint64
	// Conversations in their order.
	Conversations []Conversation
}

// Conversation is one chat with the bot.
type Conversation struct {
	Chat   telegram.Chat
	People []telegram.Person
	// Canary is a word that stands in everything of this conversation and in
	// nothing of any other.
	Canary    string
	Questions []Question
}

// Question is one message to the bot.
type Question struct {
	Conversation, Number int
	From                 telegram.Person
	// Tools is how many calls the model makes, one after the other; First that
	// they are the conversation's first.
	Tools int
	First bool
	// Script: the calls are scripts.
	Script bool
	// Spawns: the model hands a task to a sub-agent, which hands a part of it to
	// one of its own.
	Spawns bool
	// Asks: the model makes a call for which a person must be asked, and Refused: who says
	// no. First says whether the call is the first of the conversation that they permit.
	Asks, Refused bool
	// Audit: the model reads the files that the calls wrote, and says what is in them.
	Audit bool
	Text  string
}

// Tag names the question in every text about it.
func (q Question) Tag() string { return tag(q.Conversation, q.Number) }

func tag(conversation, number int) string { return fmt.Sprintf("m%dx%d", conversation, number) }

// NewWorkload draws a load.
func NewWorkload(s Shape, seed uint64) *Workload {
	s = s.defaults()
	l := &Workload{Shape: s, Seed: seed}
	rng := rand.New(rand.NewPCG(seed, 0x10ad))
	for c := range s.Conversations {
		conv := Conversation{Canary: fmt.Sprintf("canary%012x", rng.Uint64()>>16)}
		if c < s.Groups {
			conv.Chat = telegram.Chat{ID: -int64(20_000 + c), Kind: telegram.Group, Title: fmt.Sprintf("group %d", c)}
			for p := range 3 {
				conv.People = append(conv.People, telegram.Person{ID: int64(50_000 + 10*c + p), FirstName: fmt.Sprintf("G%dP%d", c, p)})
			}
		} else {
			p := telegram.Person{ID: int64(10_000 + c), FirstName: fmt.Sprintf("P%d", c)}
			conv.Chat, conv.People = telegram.PrivateChat(p), []telegram.Person{p}
		}
		written, permitted := false, false
		for n := range s.Messages {
			q := Question{Conversation: c, Number: n, From: conv.People[rng.IntN(len(conv.People))]}
			switch draw := rng.Float64(); {
			case n == s.Messages-1 && (written || permitted):
				q.Audit = true
			case draw < s.Tools:
				q.Tools, q.First, written = 1+rng.IntN(3), !written, true
				q.Script = s.Scripts && c%2 == 1
			case draw < s.Tools+s.Spawns:
				q.Spawns = true
			case draw < s.Tools+s.Spawns+s.Asks:
				q.Asks, q.Refused = true, rng.IntN(3) == 0
				q.First = !q.Refused && !permitted
				permitted = permitted || q.First
			}
			q.Text = strings.Join(append([]string{q.words(conv)}, l.draw(s.Asides, "aside", q.Tag())...), " ")
			conv.Questions = append(conv.Questions, q)
		}
		l.Conversations = append(l.Conversations, conv)
	}
	return l
}

func (q Question) words(c Conversation) string {
	text := fmt.Sprintf("question %s %s", q.Tag(), c.Canary)
	if len(c.People) > 1 {
		text = "@" + Username + " " + text
	}
	if q.Tools > 0 {
		text += fmt.Sprintf(" tools%d", q.Tools)
	}
	if q.First {
		text += " first"
	}
	if q.Spawns {
		text += " spawn"
	}
	if q.Refused {
		text += " refused"
	} else if q.Asks {
		text += " asks"
	}
	if q.Audit {
		text += " audit"
	}
	if q.Script {
		text += " script"
	}
	return text
}

// Questions returns how many there are.
func (l *Workload) Questions() int { return l.Shape.Conversations * l.Shape.Messages }

// Calls returns how many calls the model must answer when nothing goes wrong.
func (l *Workload) Calls() int {
	n := 0
	if l.Shape.Titles {
		n += l.Shape.Conversations
	}
	for _, c := range l.Conversations {
		for _, q := range c.Questions {
			n += 1 + q.Tools
			if q.Audit || q.Asks && !q.Refused {
				n++
			}
			if q.Spawns {
				n += 1 + 2 + 1 // its own call, a child's two, a grandchild's one
			}
		}
	}
	return n
}

// pick returns a number below n that is a function of the seed and what.
func (l *Workload) pick(n int, what ...any) int {
	h := fnv.New64a()
	_, _ = fmt.Fprintln(h, append([]any{l.Seed}, what...)...)
	return rand.New(rand.NewPCG(h.Sum64(), 1)).IntN(n) // n is small
}

// draw returns n words of the vocabulary for what and tag.
func (l *Workload) draw(n int, what, tag string) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = vocabulary[l.pick(len(vocabulary), what, tag, i)]
	}
	return words
}

var vocabulary = strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu")
