package slack

import (
	"strings"
	"sync"

	"parley/channels"
	"parley/sessionkeys"
)

// mostThreads bounds what is remembered; of what is forgotten the conversation tells.
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
	whole  bool            // it began before our eyes, so that what is not here is not so
	latest speaker         // who spoke to it last
	read   string          // the ts of what it was told last
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

// asked notes that somebody spoke to the bot there, by the message ts.
func (t *threads) asked(a sessionkeys.Address, by speaker, ts string) {
	if a.Thread != "" && by.user != "" {
		t.of(a, func(p *part) {
			p.asked[by.user], p.latest = true, by
			p.whole, p.read = p.whole || ts == a.Thread, max(p.read, ts)
		})
	}
}

// latest is who spoke to the bot there last, as far as this process knows.
func (t *threads) latest(a sessionkeys.Address) (by speaker) {
	t.of(a, func(p *part) { by = p.latest })
	return by
}

// inThread says of a reply in a thread whether it speaks to the bot although it does
// not mention it; or that whoever knows the conversations is to say so. Slack is not
// asked: it waits for an acknowledgement.
func (r *receiver) inThread(m *channels.Message, p *post) {
	if m.Mentioned || m.Sender.Bot || r.o.MentionsOnly || p.ThreadTS == "" || p.ThreadTS == p.TS {
		return
	}
	user := m.Sender.ID[strings.LastIndexByte(m.Sender.ID, '/')+1:]
	r.threads.of(m.Address, func(p *part) {
		m.Mentioned = p.posted || p.asked[user]
		m.Follows = !m.Mentioned && !p.whole
	})
}
