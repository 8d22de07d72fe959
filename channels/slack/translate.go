package slack

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// contents are the subtypes of messages that somebody said.
var contents = []string{"", "file_share", "thread_broadcast", "me_message", "bot_message"}

// assistantRoot is the subtype of the first message of an assistant thread, which
// Slack keeps for its own books in the name of the person who opened the thread.
const assistantRoot = "assistant_app_thread"

// posted takes a message, or the mention that Slack tells of beside it.
func (r *receiver) posted(e *event, c *callback, in *inner, mention bool) error {
	if in.Channel == "" {
		return errNoChannel
	}
	p, user := &in.post, string(in.User)
	switch {
	case in.Subtype == "message_changed":
		return r.changed(e, c, in)
	case in.Hidden, !slices.Contains(contents, in.Subtype) && !slices.Contains(calls, in.Subtype):
		if in.Subtype == "message_deleted" && in.Previous != nil { // the event itself names nobody
			p, user = &in.Previous.post, string(in.Previous.User)
		}
		e.message.Problem = "a message of subtype " + strconv.Quote(markup.Brief(in.Subtype))
		e.message.Sender = r.sender(c, user, p)
		e.message.Address = r.place(string(in.Channel), in.ChannelType, p.ThreadTS, p.TS)
		if r.ours(user, p) {
			e.line = own
		}
		return nil
	}
	p.kind = in.Subtype
	return r.said(e, c, in, p, user, channels.Said, mention)
}

// changed takes an edit. Slack also says so when it unfurls a link or keeps books
// of its own: only what a person changed has another edited.ts.
func (r *receiver) changed(e *event, c *callback, in *inner) error {
	if in.Message == nil {
		return errNoInner
	}
	m, p, user := &e.message, &in.Message.post, string(in.Message.User)
	if r.ours(user, p) {
		e.line = own
		return nil
	}
	before := ""
	if in.Previous != nil && in.Previous.Edited != nil {
		before = in.Previous.Edited.TS
	}
	problem := ""
	switch {
	case in.Message.Subtype == assistantRoot: // its title, which has an author and a time
		problem = "the title of an " + assistantRoot
	case p.Edited == nil || p.Edited.TS == "" || p.Edited.TS == before:
		problem = "a message that nobody edited"
	}
	if problem != "" {
		m.Problem = problem
		m.Sender = r.sender(c, user, p)
		m.Address = r.place(string(in.Channel), in.ChannelType, p.ThreadTS, p.TS)
		return nil
	}
	if err := r.said(e, c, in, p, user, channels.Edited, false); err != nil {
		return err
	}
	if m.Kind == channels.Edited {
		m.Event = "e-" + p.TS + "-" + p.Edited.TS
		m.SentAt = clock(p.Edited.TS)
	}
	return nil
}

// said fills in what somebody said.
func (r *receiver) said(e *event, c *callback, in *inner, p *post, user string, kind channels.EventKind, mention bool) error {
	m := &e.message
	switch {
	case r.ours(user, p):
		e.line = own
		return nil
	case p.TS == "":
		return errNoTS
	case user == "" && p.BotID == "":
		return errNobody
	}
	m.Address = r.place(string(in.Channel), in.ChannelType, p.ThreadTS, p.TS)
	// One post is one event, whatever brought it, and however often.
	m.Event, m.MessageID, m.SentAt = "m-"+p.TS, p.TS, clock(p.TS)
	m.Sender = r.sender(c, user, p)
	m.Attachments = attachments(p.Files)
	t := r.plain(p.Text)
	m.Text, m.Forwarded = r.typed(t.text), r.forwarded(p)
	if slices.Contains(calls, p.kind) {
		m.Text = "" // Slack's own words, which speak of the person
	}
	if m.Blank() {
		m.Text = describe(p)
	}
	if m.Blank() {
		if !t.mentioned && !mention {
			m.Problem = "a message without text or file"
			return nil
		}
		m.Text = "@" + cmp.Or(r.me.User, "bot") // a mention and nothing else is a greeting
	}
	m.Kind = kind
	m.Mentioned = m.Address.Kind == sessionkeys.DM || mention || t.mentioned || p.ParentUser != "" && p.ParentUser == r.me.UserID
	named := mention || t.mentioned
	e.complete = func(ctx context.Context, m *channels.Message) {
		if named {
			m.Around = r.around(m.Address, p)
		}
		r.nameOf(ctx, m, user)
		r.inThread(m, p)
	}
	// Of a post that mentions the bot there are two events, and the mention may lack
	// the files. Whichever was taken first, the message completes it.
	switch post := (thread{m.Address.Peer, p.TS}); {
	case kind != channels.Said || m.Address.Kind == sessionkeys.DM:
	case mention:
		m.Partial = len(m.Attachments) == 0
	case t.mentioned:
		e.whole = func() bool { return len(m.Attachments) > 0 || r.halves.has(post) }
	}
	partial := m.Partial
	e.after = func(m channels.Message) {
		if partial {
			r.halves.add(thread{m.Address.Peer, m.MessageID})
		}
		if m.Mentioned && !m.Sender.Bot {
			r.threads.asked(m.Address, speaker{cmp.Or(p.UserTeam, p.SourceTeam, p.Team, r.me.TeamID), user}, p.TS)
		}
	}
	return nil
}

// forwarded lists what the post passes on of others. What Slack shows of a link in
// the text is not passed on by anybody.
func (r *receiver) forwarded(p *post) (all []channels.Quote) {
	for _, a := range p.Shared {
		text := r.plain(cmp.Or(a.Text, a.Fallback)).text
		if text == "" || p.Text != "" && !a.IsShare && !a.IsPost {
			continue
		}
		all = append(all, channels.Quote{
			Text: text, FromBot: r.me.posted(a.AuthorID, ""),
			Author: channels.Sender{ID: a.AuthorID, Name: markup.Name(a.AuthorName)},
		})
	}
	return all
}

// ours says whether the bot itself posted it.
func (r *receiver) ours(user string, p *post) bool { return r.me.posted(user, p.BotID) }

// posted says whether the bot posted what a user or a bot did.
func (s *self) posted(user, bot string) bool {
	return user != "" && user == s.UserID || bot != "" && bot == s.BotID
}

// membership takes what became of a channel, or of the bot in it.
func (r *receiver) membership(e *event, in *inner) error {
	m := &e.message
	if in.Channel == "" {
		return errNoChannel
	}
	m.Address = r.place(string(in.Channel), in.ChannelType, "", "")
	m.Sender = channels.Sender{ID: string(in.User)}
	m.Text, m.SentAt = in.Type, clock(in.EventTS)
	joins := in.Type == "member_joined_channel" || in.Type == "member_left_channel"
	if joins && string(in.User) != r.me.UserID {
		m.Problem = "somebody joined or left a channel"
		return nil
	}
	m.Kind = channels.Membership
	m.Closed = !slices.Contains([]string{"member_joined_channel", "channel_unarchive", "group_unarchive"}, in.Type)
	return nil
}

// movedChannel takes the news that a channel has another id, as one does that
// becomes shared.
func (r *receiver) movedChannel(e *event, in *inner) error {
	if in.OldChannel == "" || in.NewChannel == "" {
		return errNoChannel
	}
	m := &e.message
	m.Kind, m.MovedTo, m.SentAt = channels.Migrated, in.NewChannel, clock(in.EventTS)
	m.Address = r.place(in.OldChannel, "", "", "")
	e.line = in.OldChannel
	return nil
}

// stopped takes the press of the button that ends an agent's session. It means
// what /stop means.
func (r *receiver) stopped(e *event, c *callback, in *inner) error {
	if in.Channel == "" || in.User == "" {
		return errNobody
	}
	m := &e.message
	m.Kind, m.Text, m.Mentioned, m.MessageID = channels.Said, "/stop", true, in.ThreadTS
	m.Address = r.place(string(in.Channel), in.ChannelType, in.ThreadTS, in.EventTS)
	m.Sender, m.SentAt = r.sender(c, string(in.User), &in.post), clock(in.EventTS)
	at := m.Address
	e.after = func(channels.Message) { r.streams.halted(at) }
	return nil
}

// attachments lists the files of a message that are there.
func attachments(files []fileRef) []channels.Attachment {
	var out []channels.Attachment
	for _, f := range files {
		if f.ID == "" || slices.Contains([]string{"tombstone", "hidden_by_limit"}, f.Mode) {
			continue
		}
		kind := "document"
		if f.Subtype == "slack_audio" { // its type may be that of a video
			kind = channels.Voice
		}
		out = append(out, channels.Attachment{
			Kind: kind, Name: markup.Name(f.Name, f.Title), MIME: f.MIME, Size: max(0, f.Size), Ref: f.ID, Millis: max(0, f.Millis),
		})
	}
	return out
}
