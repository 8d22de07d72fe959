package slack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/sessionkeys"
)

// mostThreads bounds what is remembered; what is forgotten is asked for again.
const mostThreads = 4096

// threads remembers in which threads the bot takes part. A reply there speaks to
// it without a mention: everybody's in a thread in which it has posted, and in
// one in which it was only mentioned so far, those of who did that.
type threads struct {
	mu  sync.Mutex
	all map[thread]*part
}

type thread struct{ channel, ts string }

// part is what the bot has to do with a thread.
type part struct {
	posted bool
	asked  map[string]bool // by whom it was mentioned
	whole  bool            // Slack was asked, so that what is not here is not so
	latest speaker         // who spoke to it last
}

// speaker is somebody with the team that they are of, which is not the bot's when
// they are of another workspace.
type speaker struct{ team, user string }

func (t *threads) of(a sessionkeys.Address, f func(p *part)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := thread{a.Peer, a.Thread}
	p := t.all[k]
	if p == nil {
		if t.all == nil || len(t.all) >= mostThreads {
			t.all = map[thread]*part{}
		}
		p = &part{asked: map[string]bool{}}
		t.all[k] = p
	}
	f(p)
}

// posted notes that the bot has posted there.
func (t *threads) posted(a sessionkeys.Address) {
	if a.Thread != "" {
		t.of(a, func(p *part) { p.posted = true })
	}
}

// asked notes that somebody spoke to the bot there.
func (t *threads) asked(a sessionkeys.Address, by speaker) {
	if a.Thread != "" && by.user != "" {
		t.of(a, func(p *part) { p.asked[by.user], p.latest = true, by })
	}
}

// latest is who spoke to the bot there last, as far as this process knows.
func (t *threads) latest(a sessionkeys.Address) (by speaker) {
	t.of(a, func(p *part) { by = p.latest })
	return by
}

// inThread says of a reply in a thread whether it speaks to the bot although it
// does not mention it. Its error means that Slack could not say so now.
func (r *receiver) inThread(ctx context.Context, m *channels.Message, p *post) error {
	if m.Mentioned || m.Sender.Bot || p.ThreadTS == "" || p.ThreadTS == p.TS {
		return nil
	}
	user := m.Sender.ID[strings.LastIndexByte(m.Sender.ID, '/')+1:]
	known := false
	look := func(p *part) {
		known = p.posted || p.asked[user] || p.whole
		m.Mentioned = p.posted || p.asked[user]
	}
	r.threads.of(m.Address, look)
	if known {
		return nil
	}
	if err := r.readThread(ctx, m.Address); err != nil {
		return err
	}
	r.threads.of(m.Address, look)
	return nil
}

// threadPages bounds how far a thread is read back, by pages.
const threadPages = 5

// readThread asks Slack what the bot has to do with a thread that was begun
// before this process, or beside it. Where the app may not read the thread
// mentions are all that counts.
func (r *receiver) readThread(ctx context.Context, a sessionkeys.Address) error {
	const method = "conversations.replies"
	var found part
	found.asked = map[string]bool{}
	cursor := ""
	for range threadPages {
		result, err := r.call(ctx, method, a.Peer, func(ctx context.Context) error {
			_, _, _, err := r.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
				ChannelID: a.Peer, Timestamp: a.Thread, Cursor: cursor, Limit: 200,
			})
			return err
		})
		var e *channels.Error
		if errors.As(err, &e) && (e.Kind == channels.Unauthorized || e.Kind == channels.Refused || e.Kind == channels.Gone) {
			r.o.Log.Debug("a thread cannot be read: only mentions count in it", "error", err)
			break
		}
		if err != nil {
			return err
		}
		var page struct {
			Messages []authored `json:"messages"`
			Metadata struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return &channels.Error{Kind: channels.Unsent, Op: method, Message: "the answer cannot be read", Err: err}
		}
		for i := range page.Messages {
			switch p := &page.Messages[i]; {
			case r.ours(string(p.User), &p.post):
				found.posted = true
			case r.plain(p.Text).mentioned:
				found.asked[string(p.User)] = true
			}
		}
		if cursor = page.Metadata.Next; cursor == "" || found.posted {
			break
		}
	}
	r.threads.of(a, func(p *part) {
		p.whole, p.posted = true, p.posted || found.posted
		for u := range found.asked {
			p.asked[u] = true
		}
	})
	return nil
}
