package try

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"parley/gateway"
	"parley/simulators/telegram"
)

// conversation is the terminal: who types, where, and what is seen.
type conversation struct {
	o         Options
	platform  *telegram.Server
	delivered <-chan gateway.Answer
	mind      mind
	ops       string

	who     string // a name in people
	inGroup bool
	waiting waiting
	last    map[string]gateway.Answer // of each session
	screen  screen
	seeded  bool
}

const usage = `Type to talk to the bot. What starts with / is a command of the bot: /help shows them.
What starts with : is for this terminal:
  :as NAME   be another person (%s)
  :dm        write to the bot directly
  :group     write in a group; there the bot answers when you mention @%s
  :who       who and where you are
  :help      this text
  :quit      end
`

func (c *conversation) run(ctx context.Context, in <-chan string) error {
	c.who, c.last = "ann", map[string]gateway.Answer{}
	c.screen.out = c.o.Out
	defer c.screen.end()
	watch, unwatch := context.WithCancel(ctx)
	defer unwatch()
	seen := c.platform.Watch(watch)
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
			quit, err := c.typed(ctx, line)
			if err != nil || quit {
				return err
			}
			limit.Reset(answerWithin)
		case h := <-seen:
			c.screen.show(h)
		case a := <-c.delivered:
			drain(seen, c.screen.show)
			c.answered(a)
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

func drain(seen <-chan telegram.Happening, show func(telegram.Happening)) {
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
	c.screen.line("parley: the whole house in one process, nothing configured.")
	c.screen.line("Answers come from " + c.mind.what + ".")
	c.screen.line("Metrics: http://" + c.ops + "/metrics")
	c.screen.line("")
	c.screen.line(strings.TrimRight(fmt.Sprintf(usage, names(), bot.Username), "\n"))
	c.screen.line("")
}

func (c *conversation) place() string {
	if c.inGroup {
		return "in the group “" + group.Title + "”"
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

// typed takes one line.
func (c *conversation) typed(ctx context.Context, line string) (quit bool, err error) {
	line = strings.TrimSpace(line)
	if c.o.Terminal {
		c.screen.fresh() // the person's own return key ended the line
	} else if line != "" {
		c.screen.line(c.who + "> " + line)
	}
	word, arg, _ := strings.Cut(line, " ")
	switch {
	case line == "":
	case word == ":quit" || word == ":q":
		return true, nil
	case word == ":as":
		name := strings.ToLower(strings.TrimSpace(arg))
		if _, ok := people[name]; !ok {
			c.screen.line("There is no " + strconv.Quote(name) + " here; there are " + names() + ".")
			break
		}
		c.who = name
		c.screen.line("You are " + name + ", " + c.place() + ".")
	case word == ":dm", word == ":group":
		c.inGroup = word == ":group"
		c.screen.line("You are " + c.who + ", " + c.place() + ".")
	case word == ":who":
		c.screen.line("You are " + c.who + ", " + c.place() + ".")
	case strings.HasPrefix(word, ":"):
		c.screen.line(strings.TrimRight(fmt.Sprintf(usage, names(), bot.Username), "\n"))
	default:
		return false, c.say(ctx, line)
	}
	c.prompt()
	return false, nil
}

func (c *conversation) say(ctx context.Context, text string) error {
	who := people[c.who]
	chat := telegram.PrivateChat(who)
	if c.inGroup {
		chat = group
	}
	said, err := c.platform.Say(chat, who, text, telegram.SayOptions{})
	if err != nil {
		return fmt.Errorf("write into the chat: %w", err)
	}
	if !c.inGroup || addressed(text) {
		c.waiting.ask(chat, text, time.Now())
		return nil
	}
	if err := c.confirmed(ctx, said); err != nil {
		return err
	}
	c.screen.line("   (read and passed over: in a group the bot answers when you mention @" + bot.Username + ")")
	c.prompt()
	return nil
}

// confirmed waits until the bot has taken what was said.
func (c *conversation) confirmed(ctx context.Context, said telegram.Said) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errNoAnswer)
	defer cancel()
	_, err := c.platform.Await(ctx, func(b telegram.Book) bool {
		for _, u := range b.Updates {
			for _, r := range said.Updates {
				if u.UpdateID == r.UpdateID && u.Confirmed.IsZero() {
					return false
				}
			}
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("wait for the bot to read it: %w", err)
	}
	return nil
}

// answered notes that an answer is complete, and says what it cost.
func (c *conversation) answered(a gateway.Answer) {
	asked, ok := c.waiting.answered(a)
	if ok && a.Turn != "" {
		this := ""
		// What a session from an earlier run had cost before is not known.
		if before, seen := c.last[a.Session]; seen || c.o.StateDir == "" {
			this = fmt.Sprintf("this answer %s, ", (a.Cost - before.Cost).Display())
		}
		c.last[a.Session] = a
		c.screen.line(fmt.Sprintf("   (%.1f s; %sthis conversation %s)", time.Since(asked).Seconds(), this, a.Cost.Display()))
		c.seed(a.Folder)
	}
	c.prompt()
}

// seed puts a file into the first conversation's workspace, so that the file
// tools have something to find.
func (c *conversation) seed(folder string) {
	if c.seeded || !c.mind.simulated {
		return
	}
	c.seeded = true
	const text = "This file lies in the workspace of one conversation.\nNo other conversation can read it.\n"
	if err := os.WriteFile(filepath.Join(folder, "welcome.txt"), []byte(text), 0o600); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.o.Logger.Warn("the example file could not be written", "error", err)
	}
}
