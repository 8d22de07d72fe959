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

func (c *call) send() any {
	files := c.attachments()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.outgoing(files)
	targets := c.writableTargets()
	at := c.stamp()
	out.version.Timestamp, out.version.At = at, c.opts.Now()
	w := wireResults{Timestamp: at, Results: []wireResult{}}
	for _, t := range targets {
		results := c.resultsOf(t)
		w.Results = append(w.Results, results...)
		c.deliver(t, out, results)
	}
	c.books.Notify()
	return w.checked()
}

// resultsOf decides for everybody in a target. The caller holds the lock.
func (c *call) resultsOf(t target) []wireResult {
	out := make([]wireResult, 0, len(t.to))
	for _, a := range t.to {
		r := wireResult{RecipientAddress: a.wire(), Type: resultSuccess}
		if !t.self {
			r = c.result(a)
		}
		if t.place.group != nil {
			r.GroupID = t.place.group.id
		}
		out = append(out, r)
	}
	return out
}

// reachedAny reports whether somebody sees what was sent: a group without anybody else
// is still one's own.
func reachedAny(results []wireResult) bool {
	return len(results) == 0 || slices.ContainsFunc(results, func(r wireResult) bool { return r.Type == resultSuccess })
}

// deliver lets people see the message, and books it. The caller holds the lock.
func (c *call) deliver(t target, out outgoing, results []wireResult) {
	if !reachedAny(results) {
		return
	}
	chat := t.place.chat
	h := Happening{Kind: "sent", Account: c.account.ID(), Chat: t.name(), Timestamp: out.version.Timestamp, Text: out.version.Text, Styles: out.version.Styles}
	if out.edit != 0 {
		m := chat.find(msgKey{c.account.ACI, out.edit})
		if m == nil || m.own == nil || m.deleted {
			c.books.totals.StrayEdits++
			return
		}
		c.books.totals.Edited++
		m.own.Versions = append(m.own.Versions, out.version)
		m.text, m.latest = out.version.Text, out.version.Timestamp
		chat.messages[msgKey{c.account.ACI, out.version.Timestamp}] = m
		c.touched = append(c.touched, m.own)
		h.Kind, h.Target = "edited", m.own.Timestamp
	} else {
		entry := c.books.messages.Add(MessageEntry{
			Account: c.account.ID(), Chat: t.name(), Timestamp: out.version.Timestamp, Quote: out.quote,
			ExpiresIn: chat.timer, Versions: []Version{out.version}, Results: map[string]string{}, Process: c.process.n,
		})
		for i, r := range results {
			entry.Results[nameOf(t.to[i])] = r.Type
		}
		c.books.totals.Sent++
		chat.add(msgKey{c.account.ACI, out.version.Timestamp}, &storedMessage{text: out.version.Text, own: entry})
		c.touched = append(c.touched, entry)
	}
	c.show(h)
	c.propagate(t, out, results)
}

func nameOf(a address) string { return cmp.Or(a.ACI, a.Number) }

// outgoing reads what a send with these files says.
func (c *call) outgoing(files []AttachmentSent) outgoing {
	var o outgoing
	v := &o.version
	v.Text = c.args.text("message")
	v.LongText = len(v.Text) > longText
	v.Styles = styles(c.args.list("textStyle"))
	v.Mentions = c.mentions(c.args.list("mention"))
	o.edit = c.args.number("editTimestamp")
	v.Attachments = files
	if quoted := c.args.number("quoteTimestamp"); quoted != 0 {
		author := c.recipient(c.args.text("quoteAuthor"))
		o.quote = &Quote{Timestamp: quoted, Author: nameOf(author), Text: c.args.text("quoteMessage")}
	}
	if v.Text == "" && len(v.Attachments) == 0 && !c.args.has("sticker") && o.quote == nil {
		panic(userError("Sending empty message is not allowed, either a message, attachment or sticker must be given."))
	}
	return o
}

func styles(specs []string) []Style {
	var out []Style
	for _, spec := range specs {
		m := rangeShape.FindStringSubmatch(spec)
		if m == nil {
			panic(userError("Invalid textStyle syntax (" + spec + ") expected 'start:length:STYLE'"))
		}
		if !slices.Contains([]string{"BOLD", "ITALIC", "SPOILER", "STRIKETHROUGH", "MONOSPACE", "NONE"}, m[3]) {
			panic(userError("Invalid style: " + m[3]))
		}
		start, length := numbers(m)
		out = append(out, Style{Style: m[3], Start: start, Length: length})
	}
	return out
}

func (c *call) mentions(specs []string) []MentionEntry {
	var out []MentionEntry
	for _, spec := range specs {
		m := rangeShape.FindStringSubmatch(spec)
		if m == nil {
			panic(userError("Invalid mention syntax (" + spec + ") expected 'start:length:recipientNumber'"))
		}
		a := c.recipient(m[3])
		start, length := numbers(m)
		out = append(out, MentionEntry{ACI: nameOf(a), Start: start, Length: length})
	}
	return out
}

func numbers(m []string) (start, length int) {
	start, err := strconv.Atoi(m[1])
	if err == nil {
		length, err = strconv.Atoi(m[2])
	}
	if err != nil || start > 1<<31-1 || length > 1<<31-1 {
		panic(internalError("For input string: \"" + m[1] + "\""))
	}
	return start, length
}
