package signal

import "fmt"

// sendSign sends what is no message to the targets of a call, and books it where
// somebody was reached.
func (c *call) sendSign(targets []target, book func(t target, at int64)) any {
	w := wireResults{Timestamp: c.stamp(), Results: []wireResult{}}
	for _, t := range targets {
		results := c.resultsOf(t)
		w.Results = append(w.Results, results...)
		if reachedAny(results) {
			book(t, w.Timestamp)
		}
	}
	c.books.Notify()
	return w.checked()
}

// sign books what an account shows. The caller holds the lock.
func (c *call) sign(e SignEntry) {
	e.Account, e.Process, e.At = c.account.ID(), c.process.n, c.opts.Now()
	c.books.signs.Add(e)
	c.show(Happening{Kind: e.Kind, Account: e.Account, Chat: e.Chat, Target: e.Target, Text: e.Text})
}

func (c *call) sendReaction() any {
	emoji := c.args.text("emoji")
	at := c.args.number("targetTimestamp")
	if emoji == "" || at == 0 {
		panic(internalError("emoji and targetTimestamp are required"))
	}
	author := c.recipient(c.args.text("targetAuthor"))
	kind := "reaction"
	if c.args.flag("remove") {
		kind = "reaction_removed"
	}
	return c.sendSign(c.targets(), func(t target, _ int64) {
		if !t.react(msgKey{author.ACI, at}, c.account.ACI, emoji, c.args.flag("remove")) {
			c.books.totals.StrayReactions++
			return
		}
		c.sign(SignEntry{Kind: kind, Chat: t.name(), Author: nameOf(author), Target: at, Text: emoji})
	})
}

// react gives a message the one reaction that who has of it, or takes it away; false
// when people see no change: they do not have the message, as of another author, or who
// takes away what is not there. So DataMessageProcessor of Signal-Android.
func (t target) react(k msgKey, who, emoji string, remove bool) bool {
	if t.place.chat == nil {
		return false
	}
	m := t.place.chat.find(k)
	if m == nil || m.deleted {
		return false
	}
	was, has := m.reactions[who]
	if remove {
		delete(m.reactions, who)
		return has
	}
	if m.reactions == nil {
		m.reactions = map[string]string{}
	}
	m.reactions[who] = emoji
	return was != emoji
}

func (c *call) sendTyping() any {
	kind := "typing"
	if c.args.flag("stop") {
		kind = "typing_stopped"
	}
	return c.sendSign(c.writableTargets(), func(t target, _ int64) { c.sign(SignEntry{Kind: kind, Chat: t.name()}) })
}

func (c *call) sendReceipt() any {
	kind := c.args.text("type")
	switch kind {
	case "":
		kind = "read"
	case "read", "viewed":
	default:
		panic(userError("Unknown receipt type: " + kind))
	}
	of := c.args.numbers("targetTimestamp")
	if len(of) == 0 {
		panic(internalError("targetTimestamp is required"))
	}
	c.recipient(c.args.text("recipient"))
	return c.sendSign(c.targets(), func(t target, _ int64) {
		for _, at := range of {
			c.sign(SignEntry{Kind: "receipt", Chat: t.name(), Author: t.name(), Target: at, Text: kind})
		}
	})
}

func (c *call) remoteDelete() any {
	of := c.args.number("targetTimestamp")
	if of == 0 {
		panic(internalError("targetTimestamp is required"))
	}
	return c.sendSign(c.targets(), func(t target, at int64) {
		m := t.place.chat.find(msgKey{c.account.ACI, of})
		if m == nil || m.own == nil || m.deleted {
			return
		}
		m.deleted, m.own.Deleted = true, c.opts.Now()
		c.books.totals.Deleted++
		c.touched = append(c.touched, m.own)
		c.show(Happening{Kind: "deleted", Account: c.account.ID(), Chat: t.name(), Timestamp: at, Target: m.own.Timestamp})
	})
}

// safetyNumber returns what two people compare. A new key has another.
func (p *person) safetyNumber() string {
	return fmt.Sprintf("%012d%048d", p.key, 7)
}
