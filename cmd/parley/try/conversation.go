package try

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/gateway"
	"parley/gateway/admin"
	"parley/gateway/commands"
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

	who      string // a name in people
	inGroup  bool
	inThread bool // of the group
	waiting  openQuestions
	last     map[string]gateway.Answer // of each session
	texts    map[string]string         // of each message, by its chat and id
	codes    codes                     // of what the bot has asked for
	view     display

	unsettled []shownMessage // that may still change, with Options.settled
}

// converse is the conversation over the lines of in and over what watch gives, of
// which look tells what people see.
func converse[H any](ctx context.Context, c *conversation, in <-chan string, watch func(context.Context) <-chan H, look func(H) (shownMessage, bool)) error {
	show := func(h H) {
		if s, ok := look(h); ok {
			c.showMessage(s)
		}
	}
	c.who, c.last, c.texts = "ann", map[string]gateway.Answer{}, map[string]string{}
	defer c.view.end()
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

// prompt lets a person type.
func (c *conversation) prompt() {
	if !c.o.Terminal {
		return
	}
	where := ""
	switch {
	case c.inGroup && c.inThread:
		where = " (thread)"
	case c.inGroup:
		where = " (group)"
	}
	c.view.begin(c.who + where + "> ")
}

// enterLine takes one line.
func (c *conversation) enterLine(ctx context.Context, line string) (quit bool, err error) {
	line = strings.TrimSpace(line)
	if c.o.Terminal {
		c.view.resetLine() // the person's own return key ended the line
	} else if line != "" {
		c.view.printLine(c.who + "> " + line)
	}
	if c.o.Screen != nil {
		defer c.prompt() // one may always type there
	}
	if line == "" {
		c.prompt()
		return false, nil
	}
	if strings.HasPrefix(line, ":") {
		return c.obey(ctx, line)
	}
	c.codes.forget(line)
	return false, c.say(ctx, line, nil)
}

// say writes into the chat, with a file if there is one.
func (c *conversation) say(ctx context.Context, text string, file *enclosure) error {
	said, err := c.network.say(c.who, c.inGroup, text, file)
	if err != nil {
		return err
	}
	c.inThread = said.thread
	if !c.inGroup || said.heard || isForBot(text) {
		c.waiting.add(said.chat, text, time.Now())
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errNoAnswer)
	defer cancel()
	if err := said.awaitTaken(ctx); err != nil {
		return fmt.Errorf("wait for the bot to read it: %w", err)
	}
	c.view.printNote("   (read and passed over: in a group the bot answers when you mention @" + botUsername + ")")
	c.prompt()
	return nil
}

// showMessage shows what people see, if it is new to them: networks also change what stands
// around a message, such as its buttons.
func (c *conversation) showMessage(m shownMessage) {
	key := m.chat + " " + m.id
	if before, ok := c.texts[key]; ok && m.edited && before == m.text {
		return
	}
	c.texts[key] = m.text
	c.codes.note(m.text)
	if !c.o.settled {
		c.view.show(m)
		return
	}
	m.edited = false
	if i := slices.IndexFunc(c.unsettled, func(u shownMessage) bool { return u.chat == m.chat && u.id == m.id }); i >= 0 {
		c.unsettled[i] = m
	} else {
		c.unsettled = append(c.unsettled, m)
	}
}

// settle shows the messages that are complete.
func (c *conversation) settle() {
	for _, m := range c.unsettled {
		c.view.show(m)
	}
	c.unsettled = nil
}

// showAnswer notes that an answer is complete, and says what it cost.
func (c *conversation) showAnswer(a gateway.Answer) {
	c.settle()
	if a.File != "" { // the answer is still to come
		c.view.printLine("   [file] " + a.File)
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
		c.view.printNote(fmt.Sprintf("   (%.1f s; %sthis conversation %s)", time.Since(asked).Seconds(), this, all))
		c.showTree(a, before, tree)
	}
	c.prompt()
}
