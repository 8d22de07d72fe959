package slack

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// spokenSubtypes are the subtypes of messages that somebody said.
var spokenSubtypes = []string{"", "file_share", "thread_broadcast", "me_message", "bot_message"}

// assistantRoot is the subtype of the first message of an assistant thread, which
// Slack keeps for its own books in the name of the person who opened the thread.
const assistantRoot = "assistant_app_thread"

// fillPost takes a message, or the mention that Slack tells of beside it.
func (r *receiver) fillPost(e *event, c *eventCallback, in *innerEvent, mention bool) error {
	if in.Channel == "" {
		return errNoChannel
	}
	p, user := &in.post, string(in.User)
	switch {
	case in.Subtype == "message_changed":
		return r.fillEdit(e, c, in)
	case in.Hidden, !slices.Contains(spokenSubtypes, in.Subtype) && !slices.Contains(calls, in.Subtype):
		if in.Subtype == "message_deleted" && in.Previous != nil { // the event itself names nobody
			p, user = &in.Previous.post, string(in.Previous.User)
		}
		e.message.Problem = "a message of subtype " + strconv.Quote(markup.Brief(in.Subtype))
		e.message.Sender = r.sender(c, user, p)
		e.message.Address = r.addressOf(string(in.Channel), in.ChannelType, p.ThreadTS, p.TS)
		if r.isOurs(user, p) {
			e.lane = ownLane
		}
		return nil
	}
	p.kind = in.Subtype
	kind := channels.Said
	if mention && p.Edited != nil && p.Edited.TS != "" { // Slack also tells it of a post that mentions the bot after an edit
		kind = channels.Edited
	}
	return r.fillMessage(e, c, in, p, user, kind, mention)
}

// fillEdit takes an edit. Slack also says so when it unfurls a link or keeps books
// of its own: only what a person changed has another edited.ts, which counts whole
// seconds, or another text.
func (r *receiver) fillEdit(e *event, c *eventCallback, in *innerEvent) error {
	if in.Message == nil {
		return errNoInner
	}
	m, p, user := &e.message, &in.Message.post, string(in.Message.User)
	if r.isOurs(user, p) {
		e.lane = ownLane
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
	case p.Edited == nil || p.Edited.TS == "" || p.Edited.TS == before && p.Text == in.Previous.Text:
		problem = "a message that nobody edited"
	}
	if problem != "" {
		m.Problem = problem
		m.Sender = r.sender(c, user, p)
		m.Address = r.addressOf(string(in.Channel), in.ChannelType, p.ThreadTS, p.TS)
		return nil
	}
	return r.fillMessage(e, c, in, p, user, channels.Edited, false)
}

// editID returns what identifies an edit: the second in which it was made is not
// enough, because two may fall into one.
func editID(p *post) string {
	h := fnv.New64a()
	h.Write([]byte(p.Text))
	return fmt.Sprintf("e-%s-%s-%016x", p.TS, p.Edited.TS, h.Sum64())
}

// fillMessage fills in a post: as its author wrote it, or as it reads after an edit.
func (r *receiver) fillMessage(e *event, c *eventCallback, in *innerEvent, p *post, user string, kind channels.EventKind, mention bool) error {
	m := &e.message
	switch {
	case r.isOurs(user, p):
		e.lane = ownLane
		return nil
	case p.TS == "":
		return errNoTS
	case user == "" && p.BotID == "":
		return errNobody
	}
	m.Address = r.addressOf(string(in.Channel), in.ChannelType, p.ThreadTS, p.TS)
	// One post is one event, whatever brought it, and however often; and so is one edit.
	m.Event, m.MessageID, m.SentAt = "m-"+p.TS, p.TS, timeOf(p.TS)
	if kind == channels.Edited {
		m.Event, m.SentAt = editID(p), timeOf(p.Edited.TS)
	}
	m.Sender = r.sender(c, user, p)
	m.Attachments = attachments(p.Files)
	t := r.plainText(p.Text)
	m.Text, m.Forwarded = r.expandCommand(t.text), r.forwarded(p)
	if slices.Contains(calls, p.kind) {
		m.Text = "" // Slack's own words, which speak of the person
	}
	if m.IsBlank() {
		m.Text = describe(p)
	}
	if m.IsBlank() {
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
			m.Around = r.contextRef(m.Address, p)
		}
		r.fillName(ctx, m, user)
		r.fillThread(m, p)
	}
	// Of a post that mentions the bot there are two events, also of its edit, and the mention may
	// lack the files. Whichever was taken first, the message completes it.
	switch post := (thread{m.Address.Peer, m.Event}); {
	case m.Address.Kind == sessionkeys.DM:
	case mention:
		m.Partial = len(m.Attachments) == 0
	case t.mentioned:
		e.whole = func() bool { return len(m.Attachments) > 0 || r.partialPosts.has(post) }
	}
	partial := m.Partial
	e.after = func(m channels.Message) {
		if partial {
			r.partialPosts.add(thread{m.Address.Peer, m.Event})
		}
		if m.Mentioned && !m.Sender.Bot {
			r.threads.noteMention(m.Address, speaker{cmp.Or(p.UserTeam, p.SourceTeam, p.Team, r.me.TeamID), user}, p.TS)
		}
	}
	return nil
}

// forwarded lists what the post passes on of others. What Slack shows of a link in
// the text is not passed on by anybody.
func (r *receiver) forwarded(p *post) (all []channels.Quote) {
	for _, a := range p.Shared {
		text := r.plainText(cmp.Or(a.Text, a.Fallback)).text
		if text == "" || p.Text != "" && !a.IsShare && !a.IsPost {
			continue
		}
		all = append(all, channels.Quote{
			Text: text, FromBot: r.me.isAuthor(a.AuthorID, ""),
			Author: channels.Sender{ID: a.AuthorID, Name: markup.Name(a.AuthorName)},
		})
	}
	return all
}

// isOurs says whether the bot itself posted it.
func (v *viewpoint) isOurs(user string, p *post) bool { return v.bot.isAuthor(user, p.BotID) }

// isAuthor reports whether the bot posted what a user or a bot did.
func (s *self) isAuthor(user, bot string) bool {
	return user != "" && user == s.UserID || bot != "" && bot == s.BotID
}

// fillMembership takes what became of a channel, or of the bot in it.
func (r *receiver) fillMembership(e *event, in *innerEvent) error {
	m := &e.message
	if in.Channel == "" {
		return errNoChannel
	}
	m.Address = r.addressOf(string(in.Channel), in.ChannelType, "", "")
	m.Sender = channels.Sender{ID: string(in.User)}
	m.Text, m.SentAt = in.Type, timeOf(in.EventTS)
	joins := in.Type == "member_joined_channel" || in.Type == "member_left_channel"
	if joins && string(in.User) != r.me.UserID {
		m.Problem = "somebody joined or left a channel"
		return nil
	}
	m.Kind = channels.Membership
	m.Closed = !slices.Contains([]string{"member_joined_channel", "channel_unarchive", "group_unarchive"}, in.Type)
	return nil
}

// fillMigration takes the news that a channel has another id, as one does that
// becomes shared.
func (r *receiver) fillMigration(e *event, in *innerEvent) error {
	if in.OldChannel == "" || in.NewChannel == "" {
		return errNoChannel
	}
	m := &e.message
	m.Kind, m.MovedTo, m.SentAt = channels.Migrated, in.NewChannel, timeOf(in.EventTS)
	m.Address = r.addressOf(in.OldChannel, "", "", "")
	e.lane = in.OldChannel
	return nil
}

// fillSessionStopped takes the press of the button that ends an agent's session. It means
// what /stop means.
func (r *receiver) fillSessionStopped(e *event, c *eventCallback, in *innerEvent) error {
	if in.Channel == "" || in.User == "" {
		return errNobody
	}
	m := &e.message
	m.Kind, m.Text, m.Mentioned, m.MessageID = channels.Said, "/stop", true, in.ThreadTS
	m.Address = r.addressOf(string(in.Channel), in.ChannelType, in.ThreadTS, in.EventTS)
	m.Sender, m.SentAt = r.sender(c, string(in.User), &in.post), timeOf(in.EventTS)
	at := m.Address
	e.after = func(channels.Message) { r.streams.forgetThread(at) }
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
