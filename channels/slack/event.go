package slack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"parley/channels"
	"parley/channels/internal/markup"
	"parley/sessionkeys"
)

// The parts of events that parley reads. They are few on purpose: whatever Slack
// adds or changes elsewhere cannot make an event unreadable.

// eventCallback is the payload of the Events API, over either way.
type eventCallback struct {
	Type           string          `json:"type"`
	Challenge      string          `json:"challenge"` // url_verification
	TeamID         string          `json:"team_id"`
	ContextTeamID  string          `json:"context_team_id"`
	EnterpriseID   string          `json:"enterprise_id"`
	EventID        string          `json:"event_id"`
	Event          json.RawMessage `json:"event"`
	Authorizations []struct {
		TeamID       string `json:"team_id"`
		EnterpriseID string `json:"enterprise_id"`
	} `json:"authorizations"`
}

// innerEvent is an event: a message, a mention, or what became of a channel.
type innerEvent struct {
	Type        string          `json:"type"`
	Subtype     string          `json:"subtype"`
	Channel     channelRef      `json:"channel"`
	ChannelType string          `json:"channel_type"`
	User        userRef         `json:"user"`
	EventTS     string          `json:"event_ts"`
	Message     *authoredPost   `json:"message"` // message_changed
	Previous    *authoredPost   `json:"previous_message"`
	OldChannel  string          `json:"old_channel_id"`
	NewChannel  string          `json:"new_channel_id"`
	Tab         string          `json:"tab"` // app_home_opened
	Assistant   assistantThread `json:"assistant_thread"`
	post
}

// post is a message as it stands in a channel.
type post struct {
	TS         string          `json:"ts"`
	ThreadTS   string          `json:"thread_ts"`
	Text       string          `json:"text"`
	BotID      string          `json:"bot_id"`
	Username   string          `json:"username"`
	Team       string          `json:"team"`
	UserTeam   string          `json:"user_team"`
	SourceTeam string          `json:"source_team"`
	ParentUser string          `json:"parent_user_id"`
	Hidden     bool            `json:"hidden"`
	Edited     *edit           `json:"edited"`
	Files      []fileRef       `json:"files"`
	Shared     []sharedContent `json:"attachments"`
	Blocks     blocks          `json:"blocks"`

	kind string // the subtype of the message that it is
}

// authoredPost is a post inside another event.
type authoredPost struct {
	Subtype string  `json:"subtype"`
	User    userRef `json:"user"`
	post
}

type edit struct {
	TS string `json:"ts"`
}

// sharedContent is what a message quotes or shows of another place.
type sharedContent struct {
	Fallback   string `json:"fallback"`
	Text       string `json:"text"`
	AuthorID   string `json:"author_id"`
	AuthorName string `json:"author_name"`
	IsShare    bool   `json:"is_share"`
	IsPost     bool   `json:"is_msg_unfurl"` // of a post, which the text links to
}

type fileRef struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	MIME     string `json:"mimetype"`
	Size     int64  `json:"size"`
	Mode     string `json:"mode"` // tombstone, hidden_by_limit, external …
	Access   string `json:"file_access"`
	External bool   `json:"is_external"`
	URL      string `json:"url_private_download"`
	Private  string `json:"url_private"`
	Subtype  string `json:"subtype"`     // slack_audio: a clip that was recorded in Slack
	Millis   int64  `json:"duration_ms"` // of a sound
}

type assistantThread struct {
	UserID   string `json:"user_id"`
	Channel  string `json:"channel_id"`
	ThreadTS string `json:"thread_ts"`
}

// channelRef is a channel, by its id or with it.
type channelRef string

// UnmarshalJSON reads both forms.
func (c *channelRef) UnmarshalJSON(b []byte) error { return readRef(b, (*string)(c)) }

// userRef is a person, by the id or with it.
type userRef string

// UnmarshalJSON reads both forms.
func (u *userRef) UnmarshalJSON(b []byte) error { return readRef(b, (*string)(u)) }

func readRef(b []byte, into *string) error {
	if len(b) > 0 && b[0] == '{' {
		var o struct {
			ID string `json:"id"`
		}
		err := json.Unmarshal(b, &o)
		*into = o.ID
		return err
	}
	return json.Unmarshal(b, into)
}

// event is what one envelope brought, as offered.
type event struct {
	lane    string // events of one line are taken one after another
	message channels.Message
	// complete, if set, fills in what the event does not say, as far as that is known
	// soon: Slack waits three seconds for all of it.
	complete func(ctx context.Context, m *channels.Message)
	// whole, if set, says whether the event is offered again as one that completes the
	// first of its post.
	whole func() bool
	// after, if set, is called when the event was taken. It must not block.
	after func(m channels.Message)
}

// ownLane is the line of our own posts, which are not offered: they say what was
// sent.
const ownLane = "\x00own"

var (
	errNoInner   = errors.New("the event holds nothing")
	errNoID      = errors.New("the event has no id")
	errNoChannel = errors.New("the event names no channel")
	errNoTS      = errors.New("the message has no ts")
	errNobody    = errors.New("the event names nobody")
)

// decode gives the event in the payload of an envelope of a type. It never fails:
// what cannot be read becomes an Unreadable event.
func (r *receiver) decode(kind string, payload json.RawMessage) event {
	m := channels.Message{Kind: channels.Unhandled, Channel: r.o.Name, ReceivedAt: r.o.Now()}
	e := event{message: m}
	var err error
	switch kind {
	case "events_api", "event_callback":
		err = r.fillCallback(&e, payload)
	case "slash_commands":
		err = r.fillSlashCommand(&e, payload)
	case "interactive":
		err = r.fillInteraction(&e, payload)
	default:
		e.message.Event = hashID(payload)
		e.message.Problem = "an envelope of type " + strconv.Quote(markup.Brief(kind))
	}
	if err != nil {
		if !json.Valid(payload) {
			payload, _ = json.Marshal(map[string]string{"garbled": string(payload)})
		}
		m.Kind, m.Problem, m.Raw = channels.Unreadable, markup.Brief(err.Error()), payload
		m.Event = cmp.Or(e.message.Event, hashID(payload))
		m.Sender = senderOf(payload)
		e = event{message: m}
	}
	return e
}

// senderOf returns who caused an event that cannot be read otherwise, as far as it
// says.
func senderOf(payload json.RawMessage) channels.Sender {
	var c, in map[string]json.RawMessage
	_ = json.Unmarshal(payload, &c) // what cannot be read stays empty
	_ = json.Unmarshal(c["event"], &in)
	var id string
	_ = json.Unmarshal(in["user"], &id)
	return channels.Sender{ID: id}
}

// fillCallback reads an event of the Events API.
func (r *receiver) fillCallback(e *event, payload json.RawMessage) error {
	var c eventCallback
	if err := json.Unmarshal(payload, &c); err != nil {
		return err
	}
	m := &e.message
	m.Event = c.EventID
	if len(c.Event) == 0 {
		if c.Type == "app_rate_limited" {
			r.o.Log.Warn("slack delays events of this app: more than 30,000 in an hour")
			m.Event, m.Problem = cmp.Or(m.Event, hashID(payload)), "slack limits the events of the app"
			return nil
		}
		return errNoInner
	}
	if m.Event == "" {
		return errNoID
	}
	var in innerEvent
	if err := json.Unmarshal(c.Event, &in); err != nil {
		return err
	}
	e.lane = string(in.Channel)
	switch in.Type {
	case "message":
		return r.fillPost(e, &c, &in, false)
	case "app_mention":
		return r.fillPost(e, &c, &in, true)
	case "member_joined_channel", "channel_unarchive", "group_unarchive",
		"channel_left", "group_left", "channel_archive", "group_archive", "channel_deleted", "group_deleted", "member_left_channel":
		return r.fillMembership(e, &in)
	case "channel_id_changed":
		return r.fillMigration(e, &in)
	case "agent_session_stopped":
		return r.fillSessionStopped(e, &c, &in)
	case "assistant_thread_started":
		return r.fillAssistantStarted(e, &in)
	case "app_home_opened":
		return r.fillHomeOpened(e, &c, &in)
	case "app_uninstalled", "tokens_revoked":
		r.o.Log.Error("slack app removed from the workspace, or its tokens revoked", "event", in.Type)
	}
	m.Problem = "an event of type " + strconv.Quote(markup.Brief(in.Type))
	m.Sender = r.sender(&c, string(in.User), &in.post)
	return nil
}

// hashID returns an id for an event without one, the same when it comes again.
func hashID(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256-" + hex.EncodeToString(sum[:16])
}

// viewpoint tells whose events are, and of which conversation, as the bot sees them.
type viewpoint struct {
	bot  *self
	view View
}

// addressOf is the address of a conversation. Slack tells channels, private channels
// and group direct messages apart in some events only, so they are of one kind:
// whatever brought a post, its conversation is the same. In them each thread is a
// conversation, and a post that stands alone begins one; so in the direct messages of
// the agent view.
func (v *viewpoint) addressOf(channel, channelType, thread, ts string) sessionkeys.Address {
	a := sessionkeys.Address{Channel: Network, Account: v.bot.account(), Kind: sessionkeys.Group, Peer: channel, Thread: cmp.Or(thread, ts)}
	if channelType == "im" || strings.HasPrefix(channel, "D") {
		a.Kind = sessionkeys.DM
		if v.view != AgentView {
			a.Thread = thread
		}
	}
	return a
}

// sender returns who is behind a post. Somebody of another workspace, in a shared
// channel, has the id of that in front: ids are unique only within one.
func (v *viewpoint) sender(c *eventCallback, user string, p *post) channels.Sender {
	s := channels.Sender{ID: user}
	switch {
	case p.BotID != "" || user == "USLACKBOT":
		s.Bot, s.ID = true, cmp.Or(user, p.BotID)
		s.Name = markup.Name(p.Username)
	case user != "" && !v.isHomeTeam(c, cmp.Or(p.UserTeam, p.SourceTeam, p.Team)):
		s.ID = cmp.Or(p.UserTeam, p.SourceTeam, p.Team) + "/" + user
	}
	return s
}

// isHomeTeam reports whether a team is the bot's own workspace or organisation, or that
// as which this event was given to the bot.
func (v *viewpoint) isHomeTeam(c *eventCallback, team string) bool {
	if team == "" || team == v.bot.TeamID || team == v.bot.EnterpriseID {
		return true
	}
	if !v.bot.OrgInstall {
		return false
	}
	for _, a := range c.Authorizations {
		if team == a.TeamID || a.EnterpriseID == v.bot.EnterpriseID && team == cmp.Or(c.ContextTeamID, c.TeamID) {
			return true
		}
	}
	return false
}

// timeOf reads a ts, whose first part is Unix time. The whole is never read as a
// number: its digits are an id.
func timeOf(ts string) time.Time {
	seconds, micros, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n <= 0 || n > 1<<40 {
		return time.Time{}
	}
	u, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || u < 0 || u > 999999 {
		u = 0
	}
	return time.Unix(n, u*1000).UTC()
}
