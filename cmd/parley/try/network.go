package try

import (
	"context"
	"fmt"

	"parley/gateway"
)

// network is a simulated chat network: a server, and the chats in it as this
// terminal sees them.
type network interface {
	Listen() error
	Run(ctx context.Context) error
	Close() error
	// config is how a gateway with its state in dir reaches it, once it listens.
	config(dir string) gateway.ChannelsConfig
	// say lets somebody of people write to the bot, or into the group.
	say(who string, inGroup bool, text string) (said, error)
	// converse is the conversation over what people see in it.
	converse(ctx context.Context, c *conversation, typed <-chan string) error
}

// open makes the network of that name, which nothing is started of yet.
func open(o Options) (network, error) {
	switch o.Channel {
	case "", "telegram":
		return newTelegram()
	case "slack":
		return newSlack()
	case "signal":
		return newSignal(o.SignalCLI)
	}
	return nil, fmt.Errorf("%w %s: try knows telegram, slack and signal", ErrChannel, o.Channel)
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
