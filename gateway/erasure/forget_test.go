package erasure_test

import (
	"slices"
	"testing"

	"parley/broker"
	"parley/gateway/erasure"
	"parley/gateway/errands"
	"parley/gateway/messages"
	"parley/gateway/schedule"
	"parley/sessionkeys"
)

var ann = erasure.Person{Channel: "tg", ID: "1001"}

func (o *office) find(p erasure.Person) erasure.Traces {
	o.t.Helper()
	found, err := o.Find(o.t.Context(), p)
	o.ok(err)
	return found
}

func (o *office) forget(p erasure.Person) erasure.Forgotten {
	o.t.Helper()
	f, err := o.Forget(o.t.Context(), p, false, erasure.Mark{By: "uid 7"})
	o.ok(err)
	return f
}

// runOf has a job run once, with its answer going to an address, and returns the session of the run.
func (o *office) runOf(job string, to sessionkeys.Address) (sessionkeys.SessionID, sessionkeys.Key) {
	o.t.Helper()
	key, err := schedule.KeyFor("helper", job, to)
	o.ok(err)
	turn, end := o.beginIn(key, to, messages.JobSender(job), "plain")
	end()
	return turn.Session, key
}

// What ran for an errand of somebody holds their words alone, wherever its answers went. What ran for an
// errand of somebody else in the same chat, or for a job of the configuration, is not theirs.
func TestForgetDeletesWhatRanForAnErrand(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	errand := func(person string) string {
		e, err := o.Errands.(*errands.Book).Add(t.Context(), errands.Errand{Channel: "tg", Person: person, To: group("kitchen"), Task: "a secret", Schedule: "0 9 * * *", Zone: "UTC", Made: o.now}, "x", 5)
		o.ok(err)
		return e.Name
	}
	own, key := o.runOf(errand("1001"), group("kitchen"))
	others, othersKey := o.runOf(errand("1002"), group("kitchen"))
	_, job := o.runOf("report", direct("1001"))
	for i, k := range []sessionkeys.Key{key, othersKey, job} {
		o.letters.kept = append(o.letters.kept, broker.DeadLetter{Seq: uint64(i + 1), Channel: "tg", Key: k.String()})
	}
	if found := o.find(ann); !slices.Contains(found.Direct, own) || slices.Contains(found.Direct, others) || found.Letters != 1 {
		t.Errorf("found %+v, which is not session %s alone and one letter", found, own)
	}
	o.forget(ann)
	if o.messages(own) != 0 || o.messages(others) == 0 || len(o.letters.kept) != 2 || o.letters.kept[0].Seq != 2 {
		t.Errorf("of the run %d messages are left, of another's %d, of letters %+v", o.messages(own), o.messages(others), o.letters.kept)
	}
	if found := o.find(ann); found.IsUnknown() || len(found.Direct) > 0 {
		t.Errorf("afterwards it found %+v", found)
	}
}
