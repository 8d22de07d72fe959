package erasure

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/broker"
	"parley/channels"
	"parley/gateway/approvals"
	"parley/gateway/conversations"
	"parley/gateway/goals"
	"parley/gateway/messages"
	"parley/gateway/records"
	"parley/sessionkeys"
	"parley/sessions"
)

// Errands are what people have agents do at set times.
type Errands interface {
	NamesOf(ctx context.Context, channel, person string) ([]string, error)
	IsOf(job, channel, person string) bool
	Drop(ctx context.Context, name string) error
}

// People is what was decided about people, and the codes of strangers.
type People interface {
	IDs(ctx context.Context, channel, id string) ([]string, error)
	Traces(ctx context.Context, channel string, ids []string) (letIn, shutOut, code bool, err error)
	DropTraces(ctx context.Context, channel string, ids []string) error
}

// Inquiries are what programs ask people.
type Inquiries interface {
	RecordsOf(ctx context.Context, channel string, ids []string) ([]sessions.RecordID, error)
	RecordsOfSession(ctx context.Context, id sessionkeys.SessionID) ([]sessions.RecordID, error)
}

// Passed remembers messages that were passed over.
type Passed interface {
	Forget(channel string, ids ...string)
}

// Letters are the dead letters.
type Letters interface {
	DeadLetters(ctx context.Context, after uint64, limit int) ([]broker.DeadLetter, error)
	DeleteDeadLetter(ctx context.Context, seq uint64) error
}

// Person is somebody on a bot account.
type Person struct {
	Channel string `json:"channel"` // the instance
	ID      string `json:"person"`  // the network's stable id
}

// Traces is what is kept of a person that can be deleted.
type Traces struct {
	Person
	// Direct are the sessions of their direct messages and of their schedules, and Groups those of groups in which they
	// spoke to the bot, whose words cannot be told from those of others.
	Direct []sessionkeys.SessionID `json:"direct"`
	Groups []sessionkeys.SessionID `json:"groups"`
	// What else is kept, by how many there are.
	Schedules   int  `json:"schedules"`
	Permissions int  `json:"permissions"` // calls for which permission was asked in their name
	Questions   int  `json:"questions"`   // that programs asked them
	Letters     int  `json:"letters"`     // dead letters of their direct messages and schedules
	Code        bool `json:"code"`        // by which they asked to be let in
	LetIn       bool `json:"let_in"`      // by a record
	ShutOut     bool `json:"shut_out"`    // by a record, which stays: else they could come in again

	ids       []string // of them: as they are named, and another one
	schedules []string
	drop      []sessions.RecordID
	letters   []uint64
	erased    []sessionkeys.SessionID // whose content was deleted before, and perhaps not their files
	spoke     bool                    // a turn was theirs
	begun     bool                    // to be forgotten, and something was left
}

// IsUnknown reports whether nothing is known of the person: perhaps the id was mistyped.
func (t Traces) IsUnknown() bool {
	return !t.spoke && !t.begun && len(t.Direct)+len(t.Groups)+t.Schedules+t.Permissions+t.Questions+t.Letters == 0 && !t.Code && !t.LetIn && !t.ShutOut
}

// manyRoots is how many sessions the store is asked for at first.
const manyRoots = 100_000

// Find returns what is kept of a person.
func (d *Desk) Find(ctx context.Context, p Person) (Traces, error) {
	t := Traces{Person: p, Direct: []sessionkeys.SessionID{}, Groups: []sessionkeys.SessionID{}}
	for _, find := range []func(context.Context, *Traces) error{d.findDecisions, d.findSchedules, d.findRecords, d.findSessions} {
		if err := find(ctx, &t); err != nil {
			return t, fmt.Errorf("look what is kept of %s on %s: %w", p.ID, p.Channel, err)
		}
	}
	t.Schedules, t.Letters = len(t.schedules), len(t.letters)
	return t, nil
}

// findDecisions comes first: it finds the other id.
func (d *Desk) findDecisions(ctx context.Context, t *Traces) (err error) {
	if t.ids, err = d.People.IDs(ctx, t.Channel, t.ID); err == nil {
		err = d.addKeptIDs(ctx, t)
	}
	if err == nil {
		t.LetIn, t.ShutOut, t.Code, err = d.People.Traces(ctx, t.Channel, t.ids)
	}
	return err // it says what was read
}

func (d *Desk) findSchedules(ctx context.Context, t *Traces) error {
	for _, id := range t.ids {
		own, err := d.Errands.NamesOf(ctx, t.Channel, id)
		if err != nil && !errors.Is(err, records.ErrUnreadable) {
			return err // it says what was read
		}
		t.schedules = append(t.schedules, own...)
	}
	return nil
}

// findRecords finds questions: for permission, and of programs.
func (d *Desk) findRecords(ctx context.Context, t *Traces) error {
	now := d.Now()
	asked, err := approvals.List(ctx, d.Store, "", now)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return err // it says what was read
	}
	for _, r := range asked {
		if r.Raise == nil && r.Channel == t.Channel && slices.Contains(t.ids, r.Asker.ID) && !r.Waits(now) {
			t.Permissions, t.drop = t.Permissions+1, append(t.drop, r.RecordID())
		}
	}
	of, err := d.Inquiries.RecordsOf(ctx, t.Channel, t.ids)
	if err != nil && !errors.Is(err, records.ErrUnreadable) {
		return err // it says what was read
	}
	t.Questions, t.drop = len(of), append(t.drop, of...)
	return nil
}

// findSessions finds the sessions whose content was not deleted yet, and the dead letters of direct
// messages and schedules.
func (d *Desk) findSessions(ctx context.Context, t *Traces) error {
	roots, err := d.allRoots(ctx)
	if err != nil {
		return err
	}
	own, groups, err := d.findPlaces(ctx, t, roots)
	if err != nil {
		return err
	}
	t.spoke = len(own)+len(groups) > 0
	for _, root := range roots {
		if !own[root.Key] && !groups[root.ID] {
			continue
		}
		_, erased, err := Read(ctx, d.Store, root.ID, d.Now())
		if erased {
			t.erased = append(t.erased, root.ID)
			continue
		}
		if err != nil {
			return err
		}
		holds, err := d.holdsWords(ctx, root)
		switch {
		case err != nil:
			return err
		case !holds:
		case own[root.Key]: // also those that were restored, which have no turns
			t.Direct = append(t.Direct, root.ID)
		default:
			t.Groups = append(t.Groups, root.ID)
		}
	}
	return d.findLetters(ctx, t, own)
}

// allRoots returns all root sessions. The store has no pages of them, which would pass over one that changes
// meanwhile: it is asked for more until there are no more.
func (d *Desk) allRoots(ctx context.Context) ([]sessions.Session, error) {
	for limit := cmp.Or(d.roots, manyRoots); ; limit *= 4 {
		roots, err := d.Store.Sessions(ctx, sessions.SessionQuery{Limit: limit})
		if err != nil || len(roots) < limit {
			return roots, err // it says what was read
		}
	}
}

// findPlaces finds the conversations whose words are the person's alone, and the sessions of groups in
// which they spoke.
func (d *Desk) findPlaces(ctx context.Context, t *Traces, roots []sessions.Session) (own map[sessionkeys.Key]bool, groups map[sessionkeys.SessionID]bool, err error) {
	own, groups = map[sessionkeys.Key]bool{}, map[sessionkeys.SessionID]bool{}
	type account struct{ network, id string }
	accounts := map[account]bool{} // that the channel is, or was
	for _, root := range roots {
		if d.isErrandOf(t, root.Key) {
			own[root.Key] = true
			continue
		}
		turns, err := d.Store.TurnsOf(ctx, root.ID)
		if err != nil {
			return nil, nil, err // it names the session
		}
		for _, turn := range turns {
			if turn.Channel != t.Channel {
				continue
			}
			accounts[account{turn.From.Channel, turn.From.Account}] = true
			switch {
			case turn.From.Kind == sessionkeys.DM && (slices.Contains(t.ids, turn.Sender) || slices.Contains(t.ids, turn.From.Peer)):
				own[root.Key] = true
			case slices.Contains(t.ids, turn.Sender):
				groups[root.ID] = true
			}
		}
	}
	for _, root := range roots { // where a message waits, or only commands came, there is no turn
		at := root.Key.Address()
		if at.Kind == sessionkeys.DM && accounts[account{at.Channel, at.Account}] && slices.Contains(t.ids, at.Peer) {
			own[root.Key] = true
		}
	}
	return own, groups, nil
}

// holdsWords reports whether anything of a session can be deleted: it has messages, a goal or a title, or
// something waits for it.
func (d *Desk) holdsWords(ctx context.Context, root sessions.Session) (bool, error) {
	if root.Messages > 0 {
		return true, nil
	}
	now := d.Now()
	goal, err := goals.Read(ctx, d.Store, root.ID, now)
	if goal != (goals.Goal{}) || err != nil {
		return true, unlessUnreadable(err)
	}
	title, err := conversations.ReadTitle(ctx, d.Store, root.ID, now)
	if title.Text != "" || err != nil {
		return true, unlessUnreadable(err)
	}
	m, err := d.Store.Mailbox(ctx, root.Key.Token())
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	return m.Session == root.ID && m.HasWork(), err // it names the mailbox
}

// unlessUnreadable returns nil of a record that is there and cannot be read.
func unlessUnreadable(err error) error {
	if errors.Is(err, records.ErrUnreadable) {
		return nil
	}
	return err
}

// isErrandOf reports whether key is of the conversation of a schedule of the person, whose words alone
// stand there, wherever its answers go.
func (d *Desk) isErrandOf(t *Traces, key sessionkeys.Key) bool {
	job := messages.JobOfKey(key)
	return slices.ContainsFunc(t.ids, func(id string) bool { return d.Errands.IsOf(job, t.Channel, id) })
}

const lettersPage = 200

func (d *Desk) findLetters(ctx context.Context, t *Traces, own map[sessionkeys.Key]bool) error {
	names := map[string]bool{}
	for k := range own {
		if messages.JobOfKey(k) == "" || d.isErrandOf(t, k) { // the words of other jobs are the operator's
			names[k.String()] = true
		}
	}
	for after := uint64(0); ; {
		page, err := d.Letters.DeadLetters(ctx, after, lettersPage)
		if err != nil {
			return err // it says what was read
		}
		for _, l := range page {
			if after = l.Seq; names[l.Key] || t.isDirect(l) {
				t.letters = append(t.letters, l.Seq)
			}
		}
		if len(page) < lettersPage {
			return nil
		}
	}
}

// isDirect reports whether a letter holds a direct message of the person: of one that was given up before
// it opened a turn nothing else says whose it is.
func (t *Traces) isDirect(l broker.DeadLetter) bool {
	var m channels.Message
	if json.Unmarshal(l.Body, &m) != nil || m.Channel != t.Channel || m.Address.Kind != sessionkeys.DM {
		return false
	}
	return slices.Contains(t.ids, m.Sender.ID) || slices.Contains(t.ids, m.Sender.Alias)
}

// Forgotten is what was deleted of a person: Traces are as they were before.
type Forgotten struct {
	Traces
	Sessions int `json:"sessions"` // whose content was deleted
	// Busy says which sessions were not, because something of them is under way or waits.
	Busy []string `json:"busy"`
}

// Forget deletes what Find finds; the sessions of groups only with groups. What is under way is not
// disturbed: Busy says what is left, and doing it again goes on with that. What cannot be deleted, such as
// files, is in the error, all else is deleted, and doing it again tries that again. By whom m says.
func (d *Desk) Forget(ctx context.Context, p Person, groups bool, m Mark) (Forgotten, error) {
	t, err := d.Find(ctx, p)
	f := Forgotten{Traces: t, Busy: []string{}}
	if err != nil {
		return f, err
	}
	if err := d.keepIDs(ctx, t); err != nil {
		return f, err
	}
	if err := d.dropTraces(ctx, t); err != nil {
		return f, fmt.Errorf("forget %s on %s: %w; do it again, and it goes on", p.ID, p.Channel, err)
	}
	ids := t.Direct
	if groups {
		ids = append(slices.Clip(ids), t.Groups...)
	}
	m.Why = ByPerson
	if err := d.deleteAll(ctx, ids, m, &f); err != nil {
		return f, fmt.Errorf("forget %s on %s: %w; do it again when that is mended, and it goes on", p.ID, p.Channel, err)
	}
	for _, id := range t.ids {
		if err := d.markForgotten(ctx, Person{p.Channel, id}, m); err != nil {
			return f, err
		}
	}
	if len(f.Busy) > 0 || !groups && len(t.Groups) > 0 {
		return f, nil
	}
	return f, d.dropIDs(ctx, t)
}

// deleteAll deletes the sessions of these ids, and files that were left of others of the person: what
// fails is in the way of nothing else.
func (d *Desk) deleteAll(ctx context.Context, ids []sessionkeys.SessionID, m Mark, f *Forgotten) error {
	var failed []error
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		_, err := d.Delete(ctx, id, m)
		switch {
		case errors.Is(err, sessions.ErrBusy):
			f.Busy = append(f.Busy, err.Error())
		case err != nil:
			failed = append(failed, err)
		default:
			f.Sessions++
		}
	}
	for _, id := range f.erased {
		if tree, err := d.treeOf(ctx, id); err != nil {
			failed = append(failed, err)
		} else if err := d.removeFiles(tree); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(append(failed, ctx.Err())...)
}

// begunKind is the kind of the record that parley keeps while it forgets a person: it lists all ids of
// that person. The access decision, which links the ids, is deleted first, and what is left may stand
// under the other id alone. parley deletes the record with the last of it.
const begunKind = "forgetting"

// knownBy is the body of such a record.
type knownBy struct {
	IDs []string `json:"ids"`
}

func begunRecord(channel, id string) sessions.RecordID {
	return sessions.RecordID{Kind: begunKind, Key: forgottenRecord(Person{channel, id}).Key}
}

// addKeptIDs adds to t the ids that the person had when an operator first asked to forget them.
func (d *Desk) addKeptIDs(ctx context.Context, t *Traces) error {
	for _, id := range slices.Clone(t.ids) {
		kept, revision, err := records.Read[knownBy](ctx, d.Store, begunRecord(t.Channel, id), d.Now())
		if err != nil && !errors.Is(err, records.ErrUnreadable) {
			return err // it says which record
		}
		t.begun = t.begun || revision > 0
		for _, other := range kept.IDs {
			if !slices.Contains(t.ids, other) {
				t.ids = append(t.ids, other)
			}
		}
	}
	return nil
}

// keepIDs keeps all ids of somebody who has several, by each of them.
func (d *Desk) keepIDs(ctx context.Context, t Traces) error {
	if len(t.ids) < 2 {
		return nil
	}
	for _, id := range t.ids {
		r := sessions.Record{ID: begunRecord(t.Channel, id), Revision: sessions.AnyRevision, At: d.Now().UTC()}
		if _, err := records.Write(ctx, d.Store, r, knownBy{t.ids}); err != nil {
			return fmt.Errorf("keep the ids of %s on %s: %w", t.ID, t.Channel, err)
		}
	}
	return nil
}

// dropIDs drops what keepIDs kept.
func (d *Desk) dropIDs(ctx context.Context, t Traces) error {
	for _, id := range t.ids {
		if err := d.Store.DropRecord(ctx, begunRecord(t.Channel, id), sessions.AnyRevision); err != nil {
			return fmt.Errorf("drop the ids of %s on %s: %w", t.ID, t.Channel, err)
		}
	}
	return nil
}

// dropTraces takes away all but the sessions: first what would make new ones.
func (d *Desk) dropTraces(ctx context.Context, t Traces) error {
	for _, name := range t.schedules {
		if err := d.Errands.Drop(ctx, name); err != nil {
			return err // it says which
		}
	}
	if err := d.People.DropTraces(ctx, t.Channel, t.ids); err != nil {
		return err // it says whose
	}
	for _, id := range t.drop {
		if err := d.Store.DropRecord(ctx, id, sessions.AnyRevision); err != nil {
			return err // it says which
		}
	}
	for _, seq := range t.letters {
		if err := d.Letters.DeleteDeadLetter(ctx, seq); err != nil {
			return err // it says which
		}
	}
	d.Passed.Forget(t.Channel, t.ids...)
	return nil
}

// forgottenKind is the kind of the record that says that a person was forgotten. Its key is a digest
// of the channel and their id.
const forgottenKind = "forgotten"

func forgottenRecord(p Person) sessions.RecordID {
	sum := sha256.Sum256(fmt.Appendf(nil, "forgotten/%d/%s/%s", len(p.Channel), p.Channel, p.ID))
	return sessions.RecordID{Kind: forgottenKind, Key: hex.EncodeToString(sum[:16])}
}

func (d *Desk) markForgotten(ctx context.Context, p Person, m Mark) error {
	m.At = d.Now().UTC()
	r := sessions.Record{ID: forgottenRecord(p), Revision: sessions.AnyRevision, At: m.At}
	if _, err := records.Write(ctx, d.Store, r, m); err != nil {
		return fmt.Errorf("note that %s on %s is forgotten: %w", p.ID, p.Channel, err)
	}
	return nil
}

// IsForgotten reports whether somebody was forgotten after that time: what they did until then is
// shown without their id.
func IsForgotten(ctx context.Context, s records.Store, p Person, at, now time.Time) (bool, error) {
	m, revision, err := records.Read[Mark](ctx, s, forgottenRecord(p), now)
	if errors.Is(err, records.ErrUnreadable) {
		return true, nil
	}
	return revision > 0 && !at.After(m.At), err // it says which record
}
