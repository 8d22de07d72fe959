package intake

import (
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/gateway/outcomes"
	"parley/sessionkeys"
)

// refusalEvery is how often the log says of one person that they were refused, by one rule.
const refusalEvery = time.Minute

// refusals remembers whose refusal the log has said lately, so that nobody fills it by writing.
// What is forgotten, by a restart or when there are too many people, costs a line.
type refusals struct {
	mu     sync.Mutex
	people map[string]*refusedPerson
}

type refusedPerson struct {
	logged time.Time // when the log said so
	since  int       // refused messages that it did not say
}

// record counts a refused message of the person k. log is true when the log is to say so, and
// unsaid is how many it did not say since it said so last.
func (r *refusals) record(k string, now time.Time) (unsaid int, log bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.people[k]
	if p != nil {
		if ago := now.Sub(p.logged); ago >= 0 && ago < refusalEvery {
			p.since++
			return 0, false
		}
		unsaid, p.logged, p.since = p.since, now, 0
		return unsaid, true
	}
	if len(r.people) >= maxBuckets {
		maps.DeleteFunc(r.people, func(_ string, p *refusedPerson) bool { return now.Sub(p.logged) >= refusalEvery })
	}
	if r.people == nil || len(r.people) >= maxBuckets {
		r.people = map[string]*refusedPerson{}
	}
	r.people[k] = &refusedPerson{logged: now}
	return 0, true
}

// PassOver counts that nothing is done with m, which is a reason of outcomes, and why: in words
// for the operator. The log says so of refused people, of each and by each rule once in a while. The
// worker calls it for messages that were accepted, and may not be answered when their turn comes.
func (i *Intake) PassOver(m channels.Message, reason, why string) {
	i.endings().passOver(m, reason, why)
}

// passOver is PassOver, for the stages.
func (n *endings) passOver(m channels.Message, reason, why string) {
	n.observer.CountIgnored(m.Channel, reason)
	n.remember(m, reason, why)
	about := []any{
		"channel", m.Channel, "sender", truncate(m.Sender.ID, maxLogged), "name", truncate(m.Sender.Name, maxLogged),
		"chat", truncate(m.Address.Peer, maxLogged), "message", truncate(m.MessageID, maxLogged), "reason", why,
	}
	switch reason {
	case outcomes.NotAllowed, outcomes.Limited, outcomes.TooLarge:
		rule := reason
		if reason == outcomes.NotAllowed { // of which there are a few, and a change is the operator's
			rule = why
		}
		unsaid, log := n.refusals.record(refusedKey(m, rule), n.now())
		if !log {
			return
		}
		if unsaid > 0 {
			about = append(about, slog.Int("more", unsaid))
		}
		n.logger.Info("message refused", about...)
	case outcomes.Closed:
		n.logger.Info("message in a closed chat ignored", about...)
	default:
		n.logger.Debug("message passed over", about...)
	}
}

// remember has it remembered that no turn is made of m.
func (n *endings) remember(m channels.Message, reason, why string) {
	if n.passed != nil {
		n.passed.Note(m, reason, why)
	}
}

// refusedKey names the person whose message is refused, and by which rule; of whom the network does
// not name, the chat.
func refusedKey(m channels.Message, rule string) string {
	who := m.Sender.ID
	if who == "" && m.Address.Kind != sessionkeys.DM {
		who = "chat " + m.Address.Peer
	}
	return strings.Join([]string{m.Channel, who, rule}, "\x00")
}
