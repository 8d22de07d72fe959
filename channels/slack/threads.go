package slack

import (
	"strings"
	"sync"

	"parley/channels"
	"parley/sessionkeys"
)

// maxThreads bounds what is remembered; of what is forgotten the conversation tells.
const maxThreads = 4096

// threads remembers in which threads the bot takes part. A reply there speaks to
// it without a mention: everybody's in a thread in which it has posted, and in
// one in which it was only mentioned so far, those of who did that.
type threads struct {
	mu  sync.Mutex
	all map[thread]*participation
}

type thread struct{ channel, ts string }

// participation is what the bot has to do with a thread.
type participation struct {
	posted   bool
	askers   map[string]bool // by whom it was mentioned
	sawStart bool            // it began before our eyes, so that what is not here is not so
	latest   speaker         // who spoke to it last
	lastTS   string          // the ts of what it was told last
}

// speaker is somebody with the team that they are of, which is not the bot's when
// they are of another workspace.
type speaker struct{ team, user string }

func (t *threads) update(a sessionkeys.Address, f func(p *participation)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := thread{a.Peer, a.Thread}
	p := t.all[k]
	if p == nil {
		if t.all == nil || len(t.all) >= maxThreads {
			t.all = map[thread]*participation{}
		}
		p = &participation{askers: map[string]bool{}}
		t.all[k] = p
	}
	f(p)
}

// notePosted notes that the bot has posted there.
func (t *threads) notePosted(a sessionkeys.Address) {
	if a.Thread != "" {
		t.update(a, func(p *participation) { p.posted = true })
	}
}

// noteMention notes that somebody spoke to the bot there, by the message ts.
func (t *threads) noteMention(a sessionkeys.Address, by speaker, ts string) {
	if a.Thread != "" && by.user != "" {
		t.update(a, func(p *participation) {
			p.askers[by.user], p.latest = true, by
			p.sawStart, p.lastTS = p.sawStart || ts == a.Thread, max(p.lastTS, ts)
		})
	}
}

// latestSpeaker returns who spoke to the bot there last, as far as this process knows.
func (t *threads) latestSpeaker(a sessionkeys.Address) (by speaker) {
	t.update(a, func(p *participation) { by = p.latest })
	return by
}

// fillThread says of a reply in a thread whether it speaks to the bot although it does
// not mention it; or that whoever knows the conversations is to say so. Slack is not
// asked: it waits for an acknowledgement.
func (r *receiver) fillThread(m *channels.Message, p *post) {
	if m.Mentioned || m.Sender.Bot || r.o.MentionsOnly || p.ThreadTS == "" || p.ThreadTS == p.TS {
		return
	}
	user := m.Sender.ID[strings.LastIndexByte(m.Sender.ID, '/')+1:]
	r.threads.update(m.Address, func(p *participation) {
		m.Mentioned = p.posted || p.askers[user]
		m.Follows = !m.Mentioned && !p.sawStart
	})
}
