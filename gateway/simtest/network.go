package simtest

import (
	"context"
	"strings"

	"parley/channels"
	"parley/sessionkeys"
)

// network is the chat network as one process reaches it. It has no previews.
type network struct{ p *process }

// arrival is a message that stands in a chat.
type arrival struct {
	chat, part, text string
	repeat           bool // marked as a possible repeat
	by               string
}

func (*network) Name() string                                         { return channel }
func (*network) Receive(ctx context.Context, _ channels.Accept) error { <-ctx.Done(); return nil }

// Render gives a message for each line.
func (*network) Render(text string) (bs []channels.Body) {
	for l := range strings.Lines(text) {
		bs = append(bs, channels.Body{Text: strings.TrimSpace(l)})
	}
	return bs
}

// Send implements [channels.Channel].
func (n *network) Send(ctx context.Context, r channels.Reply) (channels.Receipt, error) {
	w := n.p.w
	what := "send " + w.partName(r.ID)
	if r.Repeat {
		what += " again"
	}
	id, _, _ := strings.Cut(r.ID, "/")
	o := &op{kind: "send", what: what, answerID: id}
	return call(ctx, n.p, o, func() (channels.Receipt, error) {
		w.arrived = append(w.arrived, arrival{r.To.Peer, r.ID, r.Body.Text, r.Repeat, n.p.name})
		return channels.Receipt{MessageID: "m-" + r.ID}, nil
	})
}

// address returns where a person of that name talks to the bot.
func address(name string) sessionkeys.Address {
	return sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.DM, Peer: name}
}

const channel = "tg"
