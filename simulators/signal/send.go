package signal

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
)

// outgoing is a message of an account.
type outgoing struct {
	version Version
	quote   *Quote
	edit    int64
}

var rangeShape = regexp.MustCompile(`^([0-9]+):([0-9]+):(.+)$`)

func send(s *Server, c *call) (any, *rpcError) {
	out, refused := s.outgoing(c)
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	targets, refused := s.targets(c)
	if refused != nil {
		return nil, refused
	}
	at := s.stamp()
	out.version.Timestamp, out.version.At = at, s.opts.Now()
	w := wireResults{Timestamp: at, Results: []wireResult{}}
	for _, t := range targets {
		results := s.resultsOf(c, t)
		w.Results = append(w.Results, results...)
		s.deliver(c, t, out, results)
	}
	s.books.Notify()
	return finished(w)
}

func finished(w wireResults) (any, *rpcError) {
	if e := overallError(w); e != nil {
		return nil, e
	}
	return w, nil
}

// resultsOf decides for everybody in a target. The caller holds the lock.
func (s *Server) resultsOf(c *call, t target) []wireResult {
	out := make([]wireResult, 0, len(t.to))
	for _, a := range t.to {
		r := wireResult{RecipientAddress: a.wire(), Type: resultSuccess}
		if !t.self {
			r = s.result(c, a)
		}
		if t.place.group != nil {
			r.GroupID = t.place.group.id
		}
		out = append(out, r)
	}
	return out
}

// reachedAny tells whether somebody sees what was sent: a group without anybody else
// is still one's own.
func reachedAny(results []wireResult) bool {
	return len(results) == 0 || slices.ContainsFunc(results, func(r wireResult) bool { return r.Type == resultSuccess })
}

// deliver lets people see the message, and books it. The caller holds the lock.
func (s *Server) deliver(c *call, t target, out outgoing, results []wireResult) {
	if !reachedAny(results) {
		return
	}
	chat := t.place.chat
	h := Happening{Kind: "sent", Account: c.account.ID(), Chat: t.name(), Timestamp: out.version.Timestamp, Text: out.version.Text, Styles: out.version.Styles}
	if out.edit != 0 {
		m := chat.find(msgKey{c.account.ACI, out.edit})
		if m == nil || m.own == nil || m.deleted {
			s.books.totals.StrayEdits++
			return
		}
		s.books.totals.Edited++
		m.own.Versions = append(m.own.Versions, out.version)
		m.text, m.latest = out.version.Text, out.version.Timestamp
		chat.messages[msgKey{c.account.ACI, out.version.Timestamp}] = m
		c.touched = append(c.touched, m.own)
		h.Kind, h.Target = "edited", m.own.Timestamp
	} else {
		entry := s.books.messages.Add(MessageEntry{
			Account: c.account.ID(), Chat: t.name(), Timestamp: out.version.Timestamp, Quote: out.quote,
			ExpiresIn: chat.timer, Versions: []Version{out.version}, Results: map[string]string{}, Process: c.process.n,
		})
		for i, r := range results {
			entry.Results[nameOf(t.to[i])] = r.Type
		}
		s.books.totals.Sent++
		chat.add(msgKey{c.account.ACI, out.version.Timestamp}, &storedMessage{text: out.version.Text, own: entry})
		c.touched = append(c.touched, entry)
	}
	s.show(h)
	s.propagate(c, t, out, results)
}

func nameOf(a address) string { return cmp.Or(a.ACI, a.Number) }

// outgoing reads what a send says.
func (s *Server) outgoing(c *call) (outgoing, *rpcError) {
	var o outgoing
	v := &o.version
	v.Text = c.args.text("message")
	v.LongText = len(v.Text) > longText
	var refused *rpcError
	if v.Styles, refused = styles(c.args.list("textStyle")); refused != nil {
		return o, refused
	}
	if v.Mentions, refused = s.mentions(c.args.list("mention")); refused != nil {
		return o, refused
	}
	if o.edit, refused = c.args.number("editTimestamp"); refused != nil {
		return o, refused
	}
	if v.Attachments, refused = s.attachments(c); refused != nil {
		return o, refused
	}
	quoted, refused := c.args.number("quoteTimestamp")
	if refused != nil {
		return o, refused
	}
	if quoted != 0 {
		s.mu.Lock()
		author, refused := s.recipient(c.args.text("quoteAuthor"))
		s.mu.Unlock()
		if refused != nil {
			return o, refused
		}
		o.quote = &Quote{Timestamp: quoted, Author: nameOf(author), Text: c.args.text("quoteMessage")}
	}
	if v.Text == "" && len(v.Attachments) == 0 && !c.args.has("sticker") && o.quote == nil {
		return o, userError("Sending empty message is not allowed, either a message, attachment or sticker must be given.")
	}
	return o, nil
}

func styles(specs []string) ([]Style, *rpcError) {
	var out []Style
	for _, spec := range specs {
		m := rangeShape.FindStringSubmatch(spec)
		if m == nil {
			return nil, userError("Invalid textStyle syntax (" + spec + ") expected 'start:length:STYLE'")
		}
		if !slices.Contains([]string{"BOLD", "ITALIC", "SPOILER", "STRIKETHROUGH", "MONOSPACE", "NONE"}, m[3]) {
			return nil, userError("Invalid style: " + m[3])
		}
		start, length, refused := numbers(m)
		if refused != nil {
			return nil, refused
		}
		out = append(out, Style{Style: m[3], Start: start, Length: length})
	}
	return out, nil
}

func (s *Server) mentions(specs []string) ([]MentionEntry, *rpcError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []MentionEntry
	for _, spec := range specs {
		m := rangeShape.FindStringSubmatch(spec)
		if m == nil {
			return nil, userError("Invalid mention syntax (" + spec + ") expected 'start:length:recipientNumber'")
		}
		a, refused := s.recipient(m[3])
		if refused != nil {
			return nil, refused
		}
		start, length, refused := numbers(m)
		if refused != nil {
			return nil, refused
		}
		out = append(out, MentionEntry{ACI: nameOf(a), Start: start, Length: length})
	}
	return out, nil
}

func numbers(m []string) (start, length int, refused *rpcError) {
	start, err := strconv.Atoi(m[1])
	if err == nil {
		length, err = strconv.Atoi(m[2])
	}
	if err != nil || start > 1<<31-1 || length > 1<<31-1 {
		return 0, 0, &rpcError{Code: codeInternal, Message: "For input string: \"" + m[1] + "\""}
	}
	return start, length, nil
}
