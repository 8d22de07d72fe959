package try

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/gateway"
	"parley/gateway/admin"
	"parley/gateway/commands"
	"parley/simulators/model"
)

// conversation is the terminal: who types, where, and what is seen.
type conversation struct {
	o         Options
	network   network
	delivered <-chan gateway.Answer
	subagents <-chan gateway.Subagent
	model     modelChoice
	ops       string
	page      admin.PageCode

	who     string // a name in people
	inGroup bool
	waiting openQuestions
	last    map[string]gateway.Answer // of each session
	screen  screen
}

const usage = `Type to talk to the bot. What starts with / is a command of the bot: /help shows them.
To see sub-agents at work, and what each of them costs, say: research the weather
To be asked for permission, say: set COLOUR=blue
To say it in a voice note, of which a model reads the words: :voice what is 12*7
What starts with : is for this terminal:
  :as NAME   be another person (%s)
  :dm        write to the bot directly
  :group     write in a group; there the bot answers when you mention @%s
  :voice ... say it in a voice note, in a direct message
  :who       who and where you are
  :help      this text
  :quit      end
`

// converse is the conversation over the lines of in and over what watch gives, of
// which look tells what people see.
func converse[H any](ctx context.Context, c *conversation, in <-chan string, watch func(context.Context) <-chan H, look func(H) (shownMessage, bool)) error {
	show := func(h H) {
		if s, ok := look(h); ok {
			c.screen.show(s)
		}
	}
	c.who, c.last = "ann", map[string]gateway.Answer{}
	c.screen.out = c.o.Out
	defer c.screen.end()
	watching, unwatch := context.WithCancel(ctx)
	defer unwatch()
	seen := watch(watching)
	c.greet()
	c.prompt()
	limit := time.NewTimer(answerWithin)
	defer limit.Stop()
	for {
		from := in
		if len(c.waiting) > 0 && !c.o.Terminal {
			from = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-from:
			if !more {
				if len(c.waiting) == 0 {
					return nil
				}
				in = nil // a person's last words are answered too
				c.o.Terminal = false
				limit.Reset(answerWithin)
				continue
			}
			quit, err := c.enterLine(ctx, line)
			if err != nil || quit {
				return err
			}
			limit.Reset(answerWithin)
		case h := <-seen:
			show(h)
		case h := <-c.subagents:
			c.showSubagent(h)
		case a := <-c.delivered:
			drain(c.subagents, c.showSubagent) // they came before it
			drain(seen, show)
			c.showAnswer(a)
			if in == nil && len(c.waiting) == 0 {
				return nil
			}
		case <-limit.C:
			if len(c.waiting) > 0 && !c.o.Terminal {
				return fmt.Errorf("%w within %s", errNoAnswer, answerWithin)
			}
		}
	}
}

func drain[T any](seen <-chan T, show func(T)) {
	for {
		select {
		case h, ok := <-seen:
			if !ok {
				return
			}
			show(h)
		default:
			return
		}
	}
}

func (c *conversation) greet() {
	c.screen.printLine("parley: everything in one process, without configuration.")
	c.screen.printLine("Answers come from " + c.model.description + ".")
	c.screen.printLine("Metrics: http://" + c.ops + "/metrics")
	c.screen.printLine("Operator page: " + c.page.URL + " (log in with " + c.page.Code + ", once and within five minutes)")
	c.screen.printLine("")
	c.screen.printLine(strings.TrimRight(fmt.Sprintf(usage, peopleNames(), botUsername), "\n"))
	c.screen.printLine("")
}

func (c *conversation) placeText() string {
	if c.inGroup {
		return "in the group “" + groupTitle + "”"
	}
	return "in a direct message"
}

func (c *conversation) prompt() {
	if c.o.Terminal {
		where := ""
		if c.inGroup {
			where = " (group)"
		}
		c.screen.begin(c.who + where + "> ")
	}
}

// enterLine takes one line.
func (c *conversation) enterLine(ctx context.Context, line string) (quit bool, err error) {
	line = strings.TrimSpace(line)
	if c.o.Terminal {
		c.screen.resetLine() // the person's own return key ended the line
	} else if line != "" {
		c.screen.printLine(c.who + "> " + line)
	}
	word, arg, _ := strings.Cut(line, " ")
	switch {
	case line == "":
	case word == ":quit" || word == ":q":
		return true, nil
	case word == ":as":
		name := strings.ToLower(strings.TrimSpace(arg))
		if _, ok := people[name]; !ok {
			c.screen.printLine("There is no " + strconv.Quote(name) + " here; there are " + peopleNames() + ".")
			break
		}
		c.who = name
		c.screen.printLine("You are " + name + ", " + c.placeText() + ".")
	case word == ":dm", word == ":group":
		c.inGroup = word == ":group"
		c.screen.printLine("You are " + c.who + ", " + c.placeText() + ".")
	case word == ":who":
		c.screen.printLine("You are " + c.who + ", " + c.placeText() + ".")
	case word == ":voice" && strings.TrimSpace(arg) != "" && !c.inGroup:
		return false, c.say(ctx, "", voiceNote(strings.TrimSpace(arg)))
	case strings.HasPrefix(word, ":"):
		c.screen.printLine(strings.TrimRight(fmt.Sprintf(usage, peopleNames(), botUsername), "\n"))
	default:
		return false, c.say(ctx, line, nil)
	}
	c.prompt()
	return false, nil
}

// voiceNote returns a voice note in which the words are said, about as fast as people
// speak.
func voiceNote(words string) []byte {
	return model.Voice(words, time.Second+time.Duration(len(strings.Fields(words)))*400*time.Millisecond)
}

func (c *conversation) say(ctx context.Context, text string, voice []byte) error {
	said, err := c.network.say(c.who, c.inGroup, text, voice)
	if err != nil {
		return err
	}
	if !c.inGroup || isForBot(text) {
		c.waiting.add(said.chat, text, time.Now())
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errNoAnswer)
	defer cancel()
	if err := said.awaitTaken(ctx); err != nil {
		return fmt.Errorf("wait for the bot to read it: %w", err)
	}
	c.screen.printLine("   (read and passed over: in a group the bot answers when you mention @" + botUsername + ")")
	c.prompt()
	return nil
}

// showAnswer notes that an answer is complete, and says what it cost.
func (c *conversation) showAnswer(a gateway.Answer) {
	if a.File != "" { // the answer is still to come
		c.screen.printLine("   [file] " + a.File)
		return
	}
	asked, ok := c.waiting.takeAnswered(a)
	if ok && a.Turn != "" {
		this := ""
		// What a session from an earlier run had cost before is not known.
		before, seen := c.last[a.Session]
		tree := commands.FormatCosts(a.Tree)
		since, all := tree.Since(before.Cost, a.Cost)
		if seen || c.o.StateDir == "" {
			this = fmt.Sprintf("this answer %s, ", since)
		}
		c.last[a.Session] = a
		c.screen.printLine(fmt.Sprintf("   (%.1f s; %sthis conversation %s)", time.Since(asked).Seconds(), this, all))
		c.showTree(a, before, tree)
	}
	c.prompt()
}
