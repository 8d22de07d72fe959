package try

import (
	"context"
	"fmt"
	"strings"

	"parley/gateway/settings"
)

// network is a simulated chat network: a server, and the chats in it as this
// terminal sees them.
type network interface {
	Listen() error
	Run(ctx context.Context) error
	Close() error
	// config returns how a gateway with its state in dir reaches it, once it listens.
	config(dir string) settings.ChannelsConfig
	// say lets somebody of people write to the bot, or into the group, where what they
	// write goes on in a thread if the network has them; with a file, when there is one.
	say(who string, inGroup bool, text string, file *enclosure) (sentLine, error)
	// leaveThread has what is written into the group next stand outside of its threads.
	leaveThread()
	// converse is the conversation over what people see in it.
	converse(ctx context.Context, c *conversation, typed <-chan string) error
}

// maker makes a simulated network, of which nothing is started yet.
type maker struct {
	name string
	make func(Options) (network, error)
}

func networkMakers() []maker {
	return []maker{{"Telegram", newTelegram}, {"Slack", newSlack}, {"Signal", newSignal}}
}

// Networks names the networks that try knows, the default first. In lower case
// they are the values of Options.Channel.
func Networks() (names []string) {
	for _, m := range networkMakers() {
		names = append(names, m.name)
	}
	return names
}

// openNetwork makes the network of that name, which nothing is started of yet.
func openNetwork(o Options) (network, error) {
	for _, m := range networkMakers() {
		if o.Channel == "" || o.Channel == strings.ToLower(m.name) {
			return m.make(o)
		}
	}
	return nil, fmt.Errorf("%w %s: try knows %s", ErrChannel, o.Channel, strings.ToLower(JoinWords(Networks(), "and")))
}

// JoinWords joins words as people do: a, b and c.
func JoinWords(words []string, last string) string {
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// sentLine is a line that was written into a chat.
type sentLine struct {
	chat   string // the network's id of it
	thread bool   // it stands in a thread of the group
	heard  bool   // the bot answers it, whether or not it is mentioned
	// awaitTaken waits until the bot has taken it, or for the cause of ctx's end.
	awaitTaken func(ctx context.Context) error
}

// shownMessage is a message as people see it appear or change.
type shownMessage struct {
	chat, id string
	text     string
	edited   bool
}

// ignore is for a snapshot that nobody needs.
func ignore[T any](_ T, err error) error { return err }
