package try

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"parley/gateway/policy"
	"parley/gateway/settings"
	"parley/simulators/signal"
)

// signalNetwork is the scene in Signal, where the gateway keeps a signal-cli running
// as it does for real: a process of its own, and its journal.
type signalNetwork struct {
	*signal.Server
	cli func(world string) []string
}

const (
	signalNumber = "+4915550000001"
	signalACI    = "b0700000-0000-4000-8000-000000000001"
	// placeholder stands in a text where the bot is mentioned, as people's
	// programs put it there.
	placeholder = "\uFFFC"
)

func newSignal(o Options) (network, error) {
	if o.SignalCLI == nil {
		return nil, fmt.Errorf("%w signal: there is no signal-cli", ErrChannel)
	}
	s, err := signal.New(signal.Options{Accounts: []signal.Account{{Number: signalNumber, ACI: signalACI, Name: botName}}})
	if err != nil {
		return nil, fmt.Errorf("make the chat server: %w", err)
	}
	return signalNetwork{s, o.SignalCLI}, nil
}

func (n signalNetwork) config(dir string) settings.ChannelsConfig {
	return settings.ChannelsConfig{Signal: map[string]settings.SignalConfig{
		"signal": {
			Account: signalNumber, Command: append(n.cli(n.URL()), "--config", filepath.Join(dir, "signal-cli")),
			Common: settings.Common{Access: policy.Access{Everyone: true, Approvers: []string{signal.MadeUpACI(int(people["ann"].number))}}},
		},
	}}
}

func (n signalNetwork) say(who string, inGroup bool, text string, file *enclosure) (sentLine, error) {
	from := signal.Person{ACI: signal.MadeUpACI(int(people[who].number)), Name: people[who].name}
	chat, id := signal.Chat{}, from.ACI
	var o signal.SayOptions
	if inGroup {
		id = signal.MadeUpGroup(1)
		chat = signal.Chat{Group: id, Name: groupTitle}
		if with, ok := withMention(text); ok {
			text, o.Mentions = with, []signal.Mention{{Name: placeholder, ACI: signalACI}}
		}
	}
	if file != nil {
		o.Attachments = []signal.Attachment{{ContentType: cmp.Or(file.mime, "audio/aac"), Filename: file.name, Data: file.data}}
	}
	told, err := n.Say(chat, from, text, o)
	if err != nil {
		return sentLine{}, fmt.Errorf("write into the chat: %w", err)
	}
	return sentLine{chat: id, awaitTaken: func(ctx context.Context) error {
		// Once it is in the journal the bot passes it over by itself.
		return ignore(n.Await(ctx, func(b signal.Book) bool {
			return !slices.ContainsFunc(b.Envelopes, func(e signal.EnvelopeEntry) bool {
				return slices.Contains(told.Envelopes, signal.Ref{Account: e.Account, ID: e.ID}) && e.Journal == 0
			})
		}))
	}}, nil
}

// withMention puts the placeholder where a text in a group names the bot. Signal
// knows no /command@bot: there one mentions the bot first.
func withMention(text string) (string, bool) {
	if command.MatchString(text) {
		word, rest, _ := strings.Cut(text, " ")
		word, _, _ = strings.Cut(word, "@")
		return placeholder + " " + word + " " + rest, true
	}
	at := mention.FindStringSubmatchIndex(text)
	if at == nil {
		return text, false
	}
	return text[:at[2]] + placeholder + text[at[3]:], true
}

func (signalNetwork) leaveThread() {}

func (n signalNetwork) converse(ctx context.Context, c *conversation, typed <-chan string) error {
	return converse(ctx, c, typed, n.Watch, fromSignal)
}

// fromSignal returns what people see of something that happens, if it is a message.
func fromSignal(h signal.Happening) (shownMessage, bool) {
	id := h.Timestamp
	if h.Kind == "edited" {
		id = h.Target
	}
	return shownMessage{chat: h.Chat, id: fmt.Sprint(id), text: h.Text, edited: h.Kind == "edited"}, h.Kind == "sent" || h.Kind == "edited"
}
