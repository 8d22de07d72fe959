package sqlite_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"parley/sessions"
)

// An answer without an id is found out after the event and the mailbox were
// written.
func TestAWriteThatFailsHalfWayTakesNobodyWithItAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "parley.db"))
	var wg sync.WaitGroup
	for g := range 16 {
		d := deskAt(t, s, "ann", fmt.Sprint("chat-", g))
		wg.Go(func() {
			for i := range 10 {
				halfWay(d, g, uint64(i)+1)
			}
		})
	}
	wg.Wait()
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, highest, err := s.Generation(t.Context()); err != nil || highest != 10 {
		t.Errorf("the highest sequence is %d, %v", highest, err)
	}
}

// halfWay touches message seq, fails to answer it, and then does.
func halfWay(d *desk, g int, seq uint64) {
	ctx := d.tb.Context()
	m, _, err := d.s.Touch(ctx, sessions.Touch{Token: d.key.Token(), Key: d.key, Seq: seq, By: d.w, Take: true, Now: noon})
	if err != nil {
		d.tb.Error(err)
		return
	}
	id := fmt.Sprintf("%d-%d", g, seq)
	c := sessions.Command{
		Seq: seq, Event: sessions.InboxID{Channel: "telegram", Account: "bot", Chat: "c", Event: id}, At: noon,
		Replies: []sessions.Outgoing{{ID: id + "-first", Channel: "tg", At: noon}, {Channel: "tg", At: noon}},
	}
	c.Seq = seq + 1000
	if _, err := d.s.Answer(ctx, m.Fence(), c); err == nil {
		d.tb.Error("a reply without an id was taken")
	}
	after, err := d.s.Mailbox(ctx, m.Token)
	if err != nil || after.LastRead != m.LastRead || after.LastSeen != seq {
		d.tb.Errorf("read %d of %d after a failure, before it %d: %v", after.LastRead, after.LastSeen, m.LastRead, err)
	}
	if _, err := d.s.Delivery(ctx, id+"-first"); !errors.Is(err, sessions.ErrNotFound) {
		d.tb.Errorf("a reply of the failure is there: %v", err)
	}
	c.Seq, c.Replies[1].ID = seq, id+"-second"
	if done, err := d.s.Answer(ctx, m.Fence(), c); err != nil || !done {
		d.tb.Errorf("answered again: %v, %v", done, err)
	}
	for _, reply := range c.Replies {
		if _, err := d.s.Delivery(ctx, reply.ID); err != nil {
			d.tb.Errorf("%s: %v", reply.ID, err)
		}
	}
	if after, err = d.s.Mailbox(ctx, m.Token); err != nil || after.LastRead != seq {
		d.tb.Errorf("read %d, should be %d: %v", after.LastRead, seq, err)
	}
}

// An answer that was taken back waits for nobody: the next one is begun with the end of its turn.
func TestAnAnswerThatWasTakenBackWaitsForNobody(t *testing.T) {
	t.Parallel()
	s := openAt(t, filepath.Join(t.TempDir(), "parley.db"))
	d := newDesk(t, s, "ann")
	d.turn(0)
	if err := s.QueueInVain(t.Context(), sessions.Outgoing{ID: "in vain", Channel: "tg", To: d.key.Address(), At: noon}); err == nil {
		t.Fatal("it was queued")
	}
	d.turn(1)
}
