package try

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"parley/gateway/messages"
	"parley/tools"
)

// The commands of this terminal, which never reach the bot.
const (
	asCommand      = ":as"
	dmCommand      = ":dm"
	groupCommand   = ":group"
	pictureCommand = ":picture"
	voiceCommand   = ":voice"
	whoCommand     = ":who"
	helpCommand    = ":help"
	quitCommand    = ":quit"
)

func commandNames() []string {
	return []string{asCommand, dmCommand, groupCommand, pictureCommand, voiceCommand, whoCommand, helpCommand, quitCommand}
}

const usage = `Type to talk to the bot. What starts with / is a command of the bot: /help shows them.
What starts with : is for this terminal:
  :as NAME          be another person (%s)
  :dm               write to the bot directly
  :group            write in a group; there the bot answers when you mention @%s
  :picture [FILE]   show the bot a picture, in a direct message; words may follow
  :voice WORDS      say it in a voice note, in a direct message; a model reads the words
  :who              who and where you are
  :help             this text
  :quit             end`

func usageText() string { return fmt.Sprintf(usage, peopleNames(), botUsername) }

// greet says what this is, and what to type.
func (c *conversation) greet() {
	c.view.printLine("parley: everything in one process, without configuration.")
	c.view.printLine("Answers come from " + c.model.description + ".")
	c.view.printNote("Metrics: http://" + c.ops + "/metrics")
	c.view.printNote("Operator page: " + c.page.URL + " (log in with " + c.page.Code + ", once and within five minutes)")
	c.view.printLine("")
	c.view.printLine("Type a message, or one of these, in any order:")
	for _, s := range c.model.samples() {
		c.view.printSample("  "+s.typed, strings.Repeat(" ", max(1, 24-len(s.typed)))+s.about)
	}
	c.view.printLine("/help shows the commands of the bot, :help those of this terminal; :quit ends.")
	c.view.printLine("")
}

func (c *conversation) placeText() string {
	switch {
	case c.inGroup && c.inThread:
		return "in a thread of the group “" + groupTitle + "”"
	case c.inGroup:
		return "in the group “" + groupTitle + "”"
	}
	return "in a direct message"
}

// obey does what a line says that is for this terminal.
func (c *conversation) obey(ctx context.Context, line string) (quit bool, err error) {
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch {
	case word == quitCommand || word == ":q":
		return true, nil
	case word == asCommand:
		name := strings.ToLower(arg)
		if _, ok := people[name]; !ok {
			c.view.printLine("There is no " + strconv.Quote(name) + " here; there are " + peopleNames() + ".")
			break
		}
		c.who = name
		c.sayWho()
	case word == dmCommand, word == groupCommand:
		c.inGroup, c.inThread = word == groupCommand, false
		c.network.leaveThread()
		c.sayWho()
	case word == whoCommand:
		c.sayWho()
	case c.inGroup && (word == voiceCommand || word == pictureCommand):
		c.view.printLine("Pictures and voice notes go into direct messages here; " + dmCommand + " leads there.")
	case word == voiceCommand && arg == "":
		c.view.printLine("Say something: " + voiceCommand + " what is 12*7")
	case word == voiceCommand:
		return false, c.say(ctx, "", voiceNote(arg))
	case word == pictureCommand:
		file, words := pictureArguments(arg)
		picture, err := pictureOf(file)
		if err != nil {
			c.view.printLine("No picture was sent: " + err.Error() + ".")
			break
		}
		return false, c.say(ctx, words, picture)
	case word == helpCommand:
		c.view.printLine(usageText())
	default:
		c.view.printLine(unknownText(word))
	}
	c.prompt()
	return false, nil
}

func (c *conversation) sayWho() { c.view.printLine("You are " + c.who + ", " + c.placeText() + ".") }

// unknownText names the commands that were perhaps meant, or all.
func unknownText(word string) string {
	names := commandNames()
	if near := tools.Nearest(word, names); len(near) > 0 {
		return "There is no " + word + " here. Did you mean " + strings.Join(near, " or ") + "?"
	}
	return "There is no " + word + " here; there are " + JoinWords(names, "and") + "."
}

// asks is where the bot says how to decide what it asks.
var asks = regexp.MustCompile(`/approve ([0-9A-Z]{4,8})\b`)

// codes is by which codes a person may decide, the latest first.
type codes struct {
	mu   sync.Mutex // who types asks for them, too
	list []string
}

// note remembers the codes that a message of the bot names.
func (c *codes) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range asks.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(c.list, m[1]) {
			c.list = slices.Insert(c.list, 0, m[1])
		}
	}
}

// forget removes the code by which a line decides.
func (c *codes) forget(line string) {
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "/approve" && words[0] != "/deny" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(c.list, func(code string) bool { return strings.EqualFold(code, words[1]) })
}

func (c *codes) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// completions returns what a line may become, as the tab key has it.
func completions(line string, codes []string) (all []string) {
	if typed, _, ok := strings.Cut(line, " "); ok && (typed == "/approve" || typed == "/deny") {
		for _, code := range codes {
			all = append(all, typed+" "+code)
		}
	} else {
		all = append(all, commandNames()...)
		for _, name := range slices.Sorted(slices.Values(messages.CommandNames())) {
			all = append(all, "/"+name)
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return line == "" || !strings.HasPrefix(s, line) })
}
