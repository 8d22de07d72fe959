package signal

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley/channels"
	"parley/channels/internal/receive"
	"parley/wake"
)

// receiver is one run of Receive. One goroutine owns it.
type receiver struct {
	*Channel
	receive.Loop // connected: attached only, else the daemon is
	accept       channels.Accept
	me           self

	lastEvent   *lastEvent // attached by HTTP
	lookups     lookups
	receipts    chan channels.Message
	invitations wake.Signal // holds one
}

// Run keeps the daemon running. See channels.Runner. An attached one is not
// ours.
func (c *Channel) Run(ctx context.Context) {
	defer c.holdConnection()()
	if c.daemon != nil {
		_, release := c.daemon.hold()
		defer release()
	}
	<-ctx.Done()
}

// holdConnection is for who needs the connection to signal-cli; the last one that leaves
// closes it. Receive ends before everything is sent: if it closed what others send
// on, each of those messages would be in doubt, and be sent again. Of HTTP each leaves none
// behind that is not in use: Receive may end between a call and the events, which take the
// connection of that call.
func (c *Channel) holdConnection() (leave func()) {
	c.users.Add(1)
	return func() {
		if c.users.Add(-1) == 0 {
			_ = c.Close()
			return
		}
		c.rpc.closeIdle()
	}
}

// Receive brings what people write until ctx ends. See channels.Channel.
func (c *Channel) Receive(ctx context.Context, accept channels.Accept) error {
	end, err := c.Begin()
	if err != nil {
		return err
	}
	defer end()
	r := &receiver{
		Channel: c, accept: accept, me: configuredSelf(c.o.Account, c.o.ACI), receipts: make(chan channels.Message, 64), invitations: wake.New(),
		Loop: receive.NewLoop(receive.Config{
			Common: c.o.Common, Network: Network, Peer: "signal-cli", Identity: c.identity,
		}),
	}
	// It is let go of after all that runs beside has ended: a late call would make another.
	defer c.holdConnection()()
	inner, stop := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { r.sendReceipts(inner) })
	if c.daemon == nil {
		defer r.MarkDisconnected()
		return r.runAttached(inner, &beside)
	}
	mine, release := c.daemon.hold()
	defer release()
	select {
	case <-mine:
		return r.runSupervised(inner, &beside)
	case <-ctx.Done():
		return nil
	}
}

// runSupervised takes what the journal has.
func (r *receiver) runSupervised(ctx context.Context, beside *sync.WaitGroup) error {
	if err := r.RetryUntilFatal(ctx, func(context.Context) error { return r.loadState() }); err != nil || ctx.Err() != nil {
		return err
	}
	defer r.daemon.journal.close()
	if err := r.awaitIdentity(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	defer r.daemon.subscription.acquire()()
	beside.Go(func() { r.acceptInvitations(ctx) })
	beside.Go(func() { r.lookUp(ctx, r.o.Numbers) }) // perhaps before somebody has to wait for it
	l := newLanes(receive.NewQueue(ctx, 0, r.offer))
	for ctx.Err() == nil {
		if err := r.storeProgress(ctx, l); err != nil {
			return err
		}
		var lines []journalLine
		if l.hasRoom() {
			var err error
			if lines, err = r.daemon.journal.next(); err != nil {
				r.BackOff(ctx, err)
				continue
			}
		}
		for _, line := range lines {
			e := r.translate(line.text, line.problem)
			if e.skipReason != "" {
				r.o.Log.Debug("event skipped", "reason", e.skipReason)
				r.deleteUnusedFiles(e, false)
			} else {
				r.fileClaims.claim(e.message.Event, e.files)
			}
			l.add(line, e)
		}
		if len(lines) == 0 {
			look := time.NewTimer(r.o.Look)
			select {
			case <-l.progress:
			case <-look.C:
			case <-ctx.Done():
			}
			look.Stop()
		}
	}
	l.queue.Wait()
	return r.storeProgress(ctx, l)
}

// storeProgress stores the position behind what was taken.
func (r *receiver) storeProgress(ctx context.Context, l *lanes) error {
	line, ok := l.takeFinished()
	if !ok {
		return nil
	}
	return r.RetryUntilFatal(ctx, func(context.Context) error { return r.store(line) })
}

// storedPeople is what is known of the account and of people, in a file.
type storedPeople struct {
	Account string            `json:"account"`
	ACI     string            `json:"aci"`
	Numbers map[string]string `json:"numbers"` // ACI by number
}

const peopleFile = "people.json"

// loadState reads what an earlier process stored.
func (r *receiver) loadState() error {
	if err := r.daemon.journal.open(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	r.messages.restoreEdits(r.daemon.journal.committed.Edits)
	var was storedPeople
	err := readJSON(filepath.Join(r.o.Dir, peopleFile), &was)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		r.o.Log.Error("stored contacts unreadable, requesting them again", "error", err)
		return nil
	}
	for number, aci := range was.Numbers {
		r.people.note(aci, number)
	}
	if was.Account == r.o.Account && r.me.aci == "" && CheckACI(was.ACI) == nil {
		r.me.aci = was.ACI
	}
	r.people.takeSnapshot() // it is stored
	return nil
}

// store makes durable that all up to and with line was taken.
func (r *receiver) store(line journalLine) error {
	if err := r.storePeople(); err != nil {
		return err
	}
	return r.daemon.journal.commit(line, r.messages.listEdits())
}

func (r *receiver) storePeople() error {
	numbers, changed := r.people.takeSnapshot()
	if !changed {
		return nil
	}
	err := writeJSON(filepath.Join(r.o.Dir, peopleFile), storedPeople{r.o.Account, r.me.aci, numbers})
	if err != nil {
		r.people.markChanged()
		return fmt.Errorf("store what is known of people: %w", err)
	}
	return nil
}

// sendReceipts tells people that what they wrote was read. It is courtesy.
func (r *receiver) sendReceipts(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-r.receipts:
			_, err := r.call(ctx, "sendReceipt", r.params(map[string]any{
				"recipient": m.Address.Peer, "targetTimestamp": []int64{m.SentAt.UnixMilli()}, "type": "read",
			}))
			if err != nil && ctx.Err() == nil {
				r.o.Log.Debug("read receipt not sent", "error", err)
			}
		}
	}
}

// maxLongText is the longest text in a file that is read, in bytes.
const maxLongText = 1 << 20

var errLongText = errors.New("the file of the text is too long or is none")

// fetchLongText fetches the whole text of a message.
func (r *receiver) fetchLongText(ctx context.Context, e event) (string, error) {
	const op = "getAttachment"
	p := map[string]any{"id": e.longText}
	to, err := recipientParams(op, e.message.Address)
	if err != nil {
		return "", err
	}
	for k, v := range to {
		p[k] = v
	}
	if list, ok := p["recipient"].([]string); ok {
		p["recipient"] = list[0]
	}
	raw, err := r.call(ctx, op, r.params(p))
	if err != nil {
		return "", err
	}
	var answer struct {
		Data string `json:"data"`
	}
	if json.Unmarshal(raw, &answer) != nil || answer.Data == "" {
		return "", errLongText
	}
	text, err := base64.StdEncoding.DecodeString(answer.Data)
	if err != nil || len(text) > maxLongText {
		return "", errLongText
	}
	return strings.ToValidUTF8(string(text), "\uFFFD"), nil
}
