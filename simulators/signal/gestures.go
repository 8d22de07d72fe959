package signal

import "fmt"

// sendSign sends what is no message to the targets of a call, and books it where
// somebody was reached.
func (s *Server) sendSign(c *call, book func(t target, at int64)) (any, *rpcError) {
	targets, refused := s.targets(c)
	if refused != nil {
		return nil, refused
	}
	w := wireResults{Timestamp: s.stamp(), Results: []wireResult{}}
	for _, t := range targets {
		results := s.resultsOf(c, t)
		w.Results = append(w.Results, results...)
		if reachedAny(results) {
			book(t, w.Timestamp)
		}
	}
	s.books.Notify()
	return finished(w)
}

// sign books what an account shows. The caller holds the lock.
func (s *Server) sign(a *account, process int, e SignEntry) {
	e.Account, e.Process, e.At = a.ID(), process, s.opts.Now()
	s.books.signs.Add(e)
	s.show(Happening{Kind: e.Kind, Account: e.Account, Chat: e.Chat, Target: e.Target, Text: e.Text})
}

func sendReaction(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	emoji := c.args.text("emoji")
	at, refused := c.args.number("targetTimestamp")
	if refused != nil {
		return nil, refused
	}
	if emoji == "" || at == 0 {
		return nil, &rpcError{Code: codeInternal, Message: "emoji and targetTimestamp are required"}
	}
	author, refused := s.recipient(c.args.text("targetAuthor"))
	if refused != nil {
		return nil, refused
	}
	kind := "reaction"
	if c.args.flag("remove") {
		kind = "reaction_removed"
	}
	return s.sendSign(c, func(t target, _ int64) {
		if !t.react(msgKey{author.ACI, at}, c.account.ACI, emoji, c.args.flag("remove")) {
			s.books.totals.StrayReactions++
			return
		}
		s.sign(c.account, c.process.n, SignEntry{Kind: kind, Chat: t.name(), Author: nameOf(author), Target: at, Text: emoji})
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

func sendTyping(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "typing"
	if c.args.flag("stop") {
		kind = "typing_stopped"
	}
	return s.sendSign(c, func(t target, _ int64) { s.sign(c.account, c.process.n, SignEntry{Kind: kind, Chat: t.name()}) })
}

func sendReceipt(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := c.args.text("type")
	switch kind {
	case "":
		kind = "read"
	case "read", "viewed":
	default:
		return nil, userError("Unknown receipt type: " + kind)
	}
	of, refused := c.args.numbers("targetTimestamp")
	if refused != nil {
		return nil, refused
	}
	if len(of) == 0 {
		return nil, &rpcError{Code: codeInternal, Message: "targetTimestamp is required"}
	}
	to := c.args.text("recipient")
	if _, refused := s.recipient(to); refused != nil {
		return nil, refused
	}
	return s.sendSign(c, func(t target, _ int64) {
		for _, at := range of {
			s.sign(c.account, c.process.n, SignEntry{Kind: "receipt", Chat: t.name(), Author: t.name(), Target: at, Text: kind})
		}
	})
}

func remoteDelete(s *Server, c *call) (any, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, refused := c.args.number("targetTimestamp")
	if refused != nil {
		return nil, refused
	}
	if of == 0 {
		return nil, &rpcError{Code: codeInternal, Message: "targetTimestamp is required"}
	}
	return s.sendSign(c, func(t target, at int64) {
		m := t.place.chat.find(msgKey{c.account.ACI, of})
		if m == nil || m.own == nil || m.deleted {
			return
		}
		m.deleted, m.own.Deleted = true, s.opts.Now()
		s.books.totals.Deleted++
		c.touched = append(c.touched, m.own)
		s.show(Happening{Kind: "deleted", Account: c.account.ID(), Chat: t.name(), Timestamp: at, Target: m.own.Timestamp})
	})
}

// safetyNumber is what two people compare. A new key has another.
func (p *person) safetyNumber() string {
	return fmt.Sprintf("%012d%048d", p.key, 7)
}
