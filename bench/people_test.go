package bench

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"parley/runtest"
	"parley/simulators/signal"
	"parley/simulators/slack"
)

// network is where people write who are not on Telegram.
type network interface {
	runtest.Server
	// join tells a system under test where it is.
	join(p *plan) error
	// say lets a person write where the bot shows all that it can show.
	say(person int64, text string, file []byte) error
	// watch tells see what people see, until ctx ends.
	watch(ctx context.Context, see func(sight)) func()
	missed() int
}

// fileName is what a file is called that somebody sends.
const fileName = "backup.bin"

// otherNetwork opens a network; nil is Telegram.
func otherNetwork(name string) (network, error) {
	switch name {
	case "slack":
		s, err := slack.New(slack.Options{
			Apps: []slack.App{{Name: "bench_bot", BotToken: slackBotToken, AppToken: slackAppToken}}, Keep: -1, History: 128,
			Retries: slices.Repeat([]time.Duration{10 * time.Millisecond}, 10_000), // until it is connected
		})
		return &onSlack{Server: s, threads: map[int64]string{}}, err
	case "signal":
		s, err := signal.New(signal.Options{
			Accounts: []signal.Account{{Number: signalNumber, ACI: signalACI, Name: "bench"}}, NoReceipts: true, Keep: -1, History: 64,
		})
		return &onSignal{Server: s}, err
	}
	return nil, nil
}

const (
	slackBotToken = "xoxb-bench"
	slackAppToken = "xapp-bench"
	signalNumber  = "+4200000001"
	signalACI     = "42000000-0000-4000-8000-000000000001"
)

// onSlack is people in Slack, each in a thread of a channel of their own: only in a
// thread does Slack show a status and stream an answer.
type onSlack struct {
	*slack.Server
	mu      sync.Mutex
	threads map[int64]string
}

func (n *onSlack) join(p *plan) error {
	p.Slack = n.APIURL()
	return nil
}

func (n *onSlack) missed() int { return n.Totals().Missed }

func (n *onSlack) say(person int64, text string, file []byte) error {
	n.mu.Lock()
	thread := n.threads[person]
	n.mu.Unlock()
	o := slack.SayOptions{ThreadTS: thread}
	if file != nil {
		o.Files = []slack.File{{Name: fileName, Data: file}}
	}
	id := strconv.FormatInt(person, 10)
	said, err := n.Say(slack.Channel{ID: "C" + id, Kind: slack.Public}, slack.Person{ID: "U" + id, Name: "p" + id}, "@bench_bot "+text, o)
	if err == nil && thread == "" {
		n.mu.Lock()
		n.threads[person] = said.TS
		n.mu.Unlock()
	}
	return err
}

func (n *onSlack) watch(ctx context.Context, see func(sight)) func() {
	shown := n.Watch(ctx)
	return func() {
		for h := range shown {
			id, err := strconv.ParseInt(strings.TrimPrefix(h.Channel, "C"), 10, 64)
			if err != nil {
				continue
			}
			switch h.Kind {
			case "status":
				see(sight{chat: id, sign: true, at: h.At})
			case "posted", "edited", "streamed":
				see(sight{chat: id, text: strings.TrimSpace(h.Text), at: h.At})
			}
		}
	}
}

// onSignal is people who write directly to the bot.
type onSignal struct{ *signal.Server }

func (n *onSignal) join(p *plan) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p.SignalCLI, err = signal.Install(p.Dir, n.URL(), self)
	return err
}

func (n *onSignal) missed() int { return n.Totals().Missed }

func (n *onSignal) say(person int64, text string, file []byte) error {
	var o signal.SayOptions
	if file != nil {
		o.Attachments = []signal.Attachment{{ContentType: "application/octet-stream", Filename: fileName, Data: file}}
	}
	_, err := n.Say(signal.Chat{}, signal.Person{ACI: signal.MadeUpACI(int(person)), Name: "P"}, text, o)
	return err
}

func (n *onSignal) watch(ctx context.Context, see func(sight)) func() {
	shown := n.Watch(ctx)
	return func() {
		for h := range shown {
			var id int64
			if _, err := fmt.Sscan(strings.TrimLeft(h.Chat[strings.LastIndexByte(h.Chat, '-')+1:], "0"), &id); err != nil {
				continue
			}
			switch h.Kind {
			case "typing":
				see(sight{chat: id, sign: true, at: h.At})
			case "sent", "edited":
				see(sight{chat: id, text: h.Text, at: h.At})
			}
		}
	}
}
