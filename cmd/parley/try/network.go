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
	// config is how a gateway with its state in dir reaches it, once it listens.
	config(dir string) settings.ChannelsConfig
	// say lets somebody of people write to the bot, or into the group; or speak, in a
	// voice note, when there is one.
	say(who string, inGroup bool, text string, voice []byte) (said, error)
	// converse is the conversation over what people see in it.
	converse(ctx context.Context, c *conversation, typed <-chan string) error
}

// maker makes a simulated network, of which nothing is started yet.
type maker struct {
	name string
	make func(Options) (network, error)
}

func makers() []maker {
	return []maker{{"Telegram", newTelegram}, {"Slack", newSlack}, {"Signal", newSignal}}
}

// Networks names the networks that try knows, the default first. In lower case
// they are the values of Options.Channel.
func Networks() (names []string) {
	for _, m := range makers() {
		names = append(names, m.name)
	}
	return names
}

// open makes the network of that name, which nothing is started of yet.
func open(o Options) (network, error) {
	for _, m := range makers() {
		if o.Channel == "" || o.Channel == strings.ToLower(m.name) {
			return m.make(o)
		}
	}
	return nil, fmt.Errorf("%w %s: try knows %s", ErrChannel, o.Channel, strings.ToLower(List(Networks(), "and")))
}

// List joins words as people do: a, b and c.
func List(words []string, last string) string {
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// said is a line that was written into a chat.
type said struct {
	chat string // the network's id of it
	// taken waits until the bot has taken it, or for the cause of ctx's end.
	taken func(ctx context.Context) error
}

// sight is a message as people see it appear or change.
type sight struct {
	chat, id string
	text     string
	edited   bool
}

// ignore is for a snapshot that nobody needs.
func ignore[T any](_ T, err error) error { return err }
