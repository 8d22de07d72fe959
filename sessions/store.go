package sessions

import (
	"context"
	"time"

	"parley/costs"
	"parley/sessionkeys"
	"parley/transcript"
)

// Store keeps everything that must survive. Each method is one transaction;
// when it returns nil the change is as durable as the driver promises. Every
// method may be repeated after an error or a lost answer: repeating it changes
// nothing and answers the same. Many goroutines may call at once. When ctx
// ends a method returns early, and the change may or may not have been made.
//
// Times come from the caller, so that a test may own the clock; they are kept
// with at least millisecond precision, in UTC.
type Store interface {
	Dispatch
	Turns
	Outbox
	Chats
	Money
	Survey
	Queries
	Recordings
	Records
	Eraser

	// Check reads through the store's own integrity checks, as opening does.
	Check(ctx context.Context) error
	// Probe writes something of no meaning, as durably as all else: nil says that
	// the store takes writes. A disk without room is disks.ErrFull where the
	// driver can tell.
	Probe(ctx context.Context) error
	// Clock returns the store's own time, by which workers judge each other's leases:
	// the machine of one of them may have another time.
	Clock(ctx context.Context) (time.Time, error)
	Close() error
}

// Dispatch is who works on which mailbox.
type Dispatch interface {
	// Generation returns the name of the log whose sequences the mailboxes count,
	// and the highest sequence touched in it; "" when none was set.
	Generation(ctx context.Context) (name string, highest uint64, err error)
	// StartGeneration begins another log: sequences start again from zero.
	// Mailboxes that were owed messages of the old one are counted in lost.
	// Open turns stay open.
	StartGeneration(ctx context.Context, name string) (lost int, err error)

	// Heartbeat reports that w lives until then; before its first a worker does not
	// live. A worker of the same name and another nonce is dead from now on. It
	// returns ErrFenced to a worker that left or was followed by another of its
	// name: the dead stay dead.
	Heartbeat(ctx context.Context, w Worker, until time.Time) error
	// Leave reports that w is gone: what it owns may be taken at once.
	Leave(ctx context.Context, w Worker) error
	// Lease returns until when w lives, or ErrNotFound for one that never lived or is
	// gone.
	Lease(ctx context.Context, w Worker) (until time.Time, err error)
	// EndLease ends the lease of a worker whose process has ended, at now, which is
	// before until: what it owns may be taken at once. It does so only if the lease is
	// still the one until until; ended is false when w has renewed it, or another has
	// ended it. owed is how many mailboxes that are owed work w owns then. Whether
	// its process has ended is the caller's judgement: a worker that lives all the same
	// begins another lease by its next heartbeat, and of what was taken meanwhile its
	// writes are refused.
	EndLease(ctx context.Context, w Worker, until, now time.Time) (owed int, ended bool, err error)

	// Touch notes that the mailbox has a message seq, creating it with a new
	// session when it is the first. With take, a mailbox that is owed work and
	// has no living owner becomes w's under a higher epoch; got says so. Who takes
	// must live: a worker whose own lease does not hold at Now gets nothing, since
	// others could take it from that worker at once. When got is false and Owner
	// is w, the caller either runs it already or lost an earlier answer: see
	// Reacquire; it is never taken from itself. seq 0 notes nothing and may take
	// all the same.
	//
	// The mailbox of a child (its token is the MailboxToken of the child's id)
	// feeds the session that Spawn made; before that it is ErrNotFound.
	Touch(ctx context.Context, t Touch) (m Mailbox, got bool, err error)
	// Reacquire gives a mailbox that w owns under f a new epoch and counts an
	// attempt: the way to go on after a lost answer or a panic. Repeated with
	// the same f it answers the same epoch. Like every write under a fence it
	// does not ask whether the owner's lease holds: the fence holds until another
	// takes the mailbox, and ErrFenced says that it never will again.
	Reacquire(ctx context.Context, f Fence, now time.Time) (Mailbox, error)
	// Recover takes up to limit mailboxes that are owed work and have no living
	// owner: first what dead ones left, then what waited longest, counted from
	// when the work came or, when it was yielded since, from then. What begins to wait
	// while it looks may be left to the next look. As in Touch, a
	// worker whose own lease does not hold at now gets nothing; one that is gone
	// gets ErrFenced.
	Recover(ctx context.Context, w Worker, now time.Time, limit int) ([]Mailbox, error)
	// Held lists what w owns.
	Held(ctx context.Context, w Worker) ([]Mailbox, error)
	// Release gives the mailbox up if nothing is owed, in one conditional
	// write; otherwise released is false and m says what is owed.
	Release(ctx context.Context, f Fence) (m Mailbox, released bool, err error)
	// Handover gives it up with whatever is owed; the attempt does not count.
	Handover(ctx context.Context, f Fence) error
	// Yield returns a Handover that lets others go first: when a mailbox that is not the
	// same worker's is owed work and has no living owner, the mailbox is given up,
	// and Recover finds it after all that wait now, but for those that begin to
	// meanwhile. When none waits, yielded is false and nothing changes.
	Yield(ctx context.Context, f Fence, now time.Time) (yielded bool, err error)

	// Mailbox looks one up, or returns ErrNotFound. Mailboxes calls yield for
	// each until it returns false.
	Mailbox(ctx context.Context, token string) (Mailbox, error)
	Mailboxes(ctx context.Context, yield func(Mailbox) bool) error

	// Request stores a control request together with its event's inbox row.
	// added is false when the event was known, also from an earlier try of the
	// same call: nothing is asked twice. The mailbox is made when it is missing.
	Request(ctx context.Context, c Control) (added bool, err error)
	// Controls lists the pending ones of a mailbox, oldest first.
	Controls(ctx context.Context, token string) ([]Control, error)
	// ApplyControls ends control requests: they are done, Read moves up to read when
	// that is higher, and the replies are queued.
	ApplyControls(ctx context.Context, f Fence, ids []string, read uint64, replies []Outgoing) error
}

// Touch is the argument of Dispatch.Touch.
type Touch struct {
	Token string
	Key   sessionkeys.Key
	Seq   uint64
	By    Worker
	Take  bool
	Now   time.Time

	// Taken, if set, may be called before Touch returns, once, with the mailbox that was
	// taken: it is By's, but not durably yet. What is written under its fence is durable only
	// together with it, and readers may not see yet that it was taken. When Touch returns
	// an error after that, the mailbox may not have been taken. Taken must not block.
	Taken func(Mailbox)
}

// OpenTurn opens a turn.
//
// Turn.Session is empty, or a descendant of the session that the mailbox works
// on: a child that runs inside its ancestor's owner. Its turn is nested: it
// stands beside the mailbox's own, moves neither Read nor attempts, and its end
// releases nothing; all writes to it carry the mailbox's fence.
type OpenTurn struct {
	Turn Turn // ID, Session, Seq, Channel, From, ReplyTo, Sender, ReceivedAt, OpenedAt are used
	// Events are what the message was made of: mostly one, several for an album
	// or a message that came in pieces. None: there is nothing to know again.
	Events     []InboxID
	Through    uint64     // messages up to this one are read with it; 0: Turn.Seq
	TextHashes []TextHash // what the network's messages said, see Said
	Message    transcript.Message
	Call       *OpeningCall // reserved by the same commit; nil: none is
}

// OpeningCall is the first call of a turn, as [Turns].Reserve takes it.
type OpeningCall struct {
	Charge      Charge
	Reservation costs.Reservation
}

// JoinTurn adds what a person said to the mailbox's open turn.
type JoinTurn struct {
	Turn       string // the mailbox's own open turn
	Seq        uint64 // of the message, in the mailbox
	Events     []InboxID
	Through    uint64 // messages up to this one are read with it; 0: Seq
	TextHashes []TextHash
	Message    transcript.Message
}

// FinishTurn closes a turn.
type FinishTurn struct {
	Turn       string
	Settlement *costs.Settlement
	Messages   []transcript.Message
	Outcome    transcript.FinishReason
	Replies    []Outgoing
	Records    []Record // ErrChanged of one of them refuses all
	At         time.Time
	// Refused is why the budgets did not let the turn go on; nil: they did.
	Refused *costs.BudgetError
	// Nested closes the nested turns of the mailbox that are still open, as
	// canceled and with their open calls interrupted: nobody will go on with
	// them. It is for the mailbox's own turn only.
	Nested bool
	// Sending begins the delivery of the one reply: its parts, and the mark of the first,
	// which the caller sends as soon as this is durable. It is left out when another answer
	// waits for the chat; Finished.Sending says so. nil: the reply is only queued.
	Sending *Progress
}

// Finished is what became of a mailbox whose turn was closed.
type Finished struct {
	Mailbox  Mailbox
	Released bool // nothing more is owed, and it has no owner any more
	Sending  bool // the reply stands as FinishTurn.Sending says: its caller is to send it now
}

// Command is a queued message that was answered without a model.
type Command struct {
	Seq     uint64
	Event   InboxID
	With    []InboxID             // others that were answered with it, and are known from then on
	Fresh   sessionkeys.SessionID // not empty: the mailbox feeds this new session from now on
	Resume  sessionkeys.SessionID // not empty: it feeds this session of its own again; see Answer
	Replies []Outgoing
	Records []Record // ErrChanged of one of them refuses all
	At      time.Time
}

// Restored is a part of a history that was kept elsewhere.
type Restored struct {
	Session  sessionkeys.SessionID // a new one
	Token    string                // of the mailbox whose conversation it is to be one of
	Messages []transcript.Message  // the next of its history
	Records  []Record              // ErrChanged of one of them refuses all
	At       time.Time
}

// Charge describes where a reservation counts.
type Charge struct {
	Session sessionkeys.SessionID
	Turn    string
	Scopes  []Scope
	// Request is kept by the commit that reserves; see [Recordings]. nil: nothing
	// is.
	Request *transcript.RequestRecord
}

// Turns is the history of sessions and the turns that make it. Writes carry a
// fence and return ErrFenced when it does not hold.
type Turns interface {
	// Open commits the user's message, the inbox rows of its events, its wordings
	// and Read = Through. opened is false when all events were known: then only
	// Read moves. When some were known and others not, nothing is written and the
	// error is a *KnownError that names the known ones: a message made of the
	// others loses nothing and says nothing twice. Repeated while the turn is open
	// it answers the same; a second open turn is an error. Call is reserved as by
	// Reserve, unless the events were known; when a budget refuses it
	// (*costs.BudgetError), nothing is written.
	Open(ctx context.Context, f Fence, o OpenTurn) (t Turn, opened bool, err error)
	// Join commits a message that joins the open turn: the message behind the
	// turn's history, the inbox rows of its events, its wordings,
	// Read = Through, and Seq in the turn's Joined; the attempts stay what they are. As in Open, joined is false
	// when all events were known, and then only Read moves; and when some were
	// known and others not, nothing is written and the error is a *KnownError.
	// Repeated under the same fence it answers the same. A turn that is not the
	// mailbox's own open one is ErrFenced.
	Join(ctx context.Context, f Fence, j JoinTurn) (joined bool, err error)
	// Resume makes the open turn of a mailbox ready to go on: reservations
	// that nobody settled, for whichever turn of the mailbox, become interrupted
	// entries of nothing, because nobody knows whether their requests left; what
	// they may have cost stays held. Steps and Tries say where to go on.
	// Nothing of the mailbox may be under way. ErrNotFound when none is open.
	Resume(ctx context.Context, f Fence, now time.Time) (Turn, error)
	// LastTextHash returns the Sum of the wording that was opened last for the message, and
	// false when none ever was.
	LastTextHash(ctx context.Context, w TextHash) (sum string, found bool, err error)
	// Known says of each event whether it has an inbox row.
	Known(ctx context.Context, events ...InboxID) ([]bool, error)
	// Skip moves Read to seq without a turn.
	Skip(ctx context.Context, f Fence, seq uint64) error
	// Answer commits a command: the inbox rows of its events, Read, and its
	// replies. done is false when Event was known: then only Read moves. Resume is
	// ErrNotFound, and nothing is written, when it is no root session of the mailbox's
	// own key: nobody goes on with what was said elsewhere.
	Answer(ctx context.Context, f Fence, c Command) (done bool, err error)

	// Messages returns a session's history, oldest first.
	Messages(ctx context.Context, id sessionkeys.SessionID) ([]transcript.Message, error)
	// MessagesAfter is up to limit messages of a session's history from number
	// after+1 on; the first is number 1. None are left: an empty slice.
	MessagesAfter(ctx context.Context, id sessionkeys.SessionID, after, limit int) ([]transcript.Message, error)
	// Append adds messages to the turn's session. A message whose ID is there
	// already is not added again.
	Append(ctx context.Context, f Fence, turn string, ms ...transcript.Message) error
	// AppendWith is Append with records in the same commit. ErrChanged of one of them
	// refuses all.
	AppendWith(ctx context.Context, f Fence, turn string, rs []Record, ms ...transcript.Message) error
	// Begin notes that a tool with side effects is about to run; again says
	// that it was noted by an earlier take of the turn.
	Begin(ctx context.Context, f Fence, turn string, step int, callID string) (again bool, err error)

	// Post queues answers of the open turn before its end, in front of all that is
	// queued later.
	Post(ctx context.Context, f Fence, turn string, replies ...Outgoing) error

	// Reserve holds the estimate against the session, its ancestors and the
	// scopes. Reserving the same ID again changes nothing. The first scope whose
	// Limit it would pass refuses it with a *costs.BudgetError, and then nothing
	// is held anywhere. An estimate without a price has no bound: any scope with
	// a Limit refuses it.
	Reserve(ctx context.Context, f Fence, c Charge, r costs.Reservation) error
	// Settle books the entry: its ledger row, the release of its reservation,
	// own and subtree totals of the session and all ancestors, scopes and
	// label totals. The money is booked even when the fence does not hold,
	// because a cost is a fact; the messages are then not added and ErrFenced
	// is returned. A second entry of the same ID changes nothing. Messages of
	// an answered call move the turn's Steps on (not those of a title or a
	// summary). An interrupted entry keeps Upper - Amount held. ErrNotFound when
	// nothing was reserved under its ID.
	Settle(ctx context.Context, f Fence, s costs.Settlement, ms ...transcript.Message) error

	// Finish closes the turn: settlement, messages, state and replies in one
	// commit. When nothing more is owed the mailbox is released by the same
	// commit, and Released says so; otherwise the owner goes on to the next.
	// As in Settle, the settlement is booked even when the fence does not hold.
	// Calls of the turn's loop that were not settled become interrupted entries.
	// Repeated under its fence it answers the same; but ErrFenced when the mailbox
	// was not released and the fence ended since: it would carry another owner's.
	Finish(ctx context.Context, f Fence, e FinishTurn) (Finished, error)

	// Notice queues replies that no turn stands behind, together with the
	// inbox row of the event that asked for them. added is false when the
	// event was known, also from an earlier try of the same call.
	Notice(ctx context.Context, e InboxID, replies []Outgoing, at time.Time) (added bool, err error)

	// Spawn makes a child session; made is false when it was there already.
	// Only ID, Key, Parent, ToolCallID, Role, Policy, Title and CreatedAt of s
	// are used. ErrNotFound when the parent is not there.
	Spawn(ctx context.Context, f Fence, s Session) (child Session, made bool, err error)
	// Restore makes a root session under the key of a mailbox that is there, which does
	// not feed it, and adds messages to its history; what stands there already is not
	// added again, so a long history is restored by several calls, in order. A command's
	// Resume goes on with it. ErrNotFound when there is no such mailbox; an error when
	// the session is another's, or one that the mailbox feeds.
	Restore(ctx context.Context, r Restored) error
	// Session looks one up, or returns ErrNotFound. Tree is it and all its
	// descendants, parents before children, oldest first.
	Session(ctx context.Context, id sessionkeys.SessionID) (Session, error)
	Tree(ctx context.Context, id sessionkeys.SessionID) ([]Session, error)
	// Turn looks one up by its id, or returns ErrNotFound. TurnsOf lists a session's,
	// oldest first; none when the session is not there.
	Turn(ctx context.Context, id string) (Turn, error)
	TurnsOf(ctx context.Context, id sessionkeys.SessionID) ([]Turn, error)
}

// Outbox is answers on their way out.
type Outbox interface {
	// Pending lists what is not finished for one channel instance and comes
	// after the given order, in order, up to limit. What is queued later has a
	// higher order than all that could be seen before.
	Pending(ctx context.Context, channel string, after uint64, limit int) ([]Delivery, error)
	// Advance makes one step of a delivery durable. A delivery all of whose
	// parts are sent or failed is finished. Which states follow which:
	//
	//	pending   → sending, failed
	//	sending   → sent, failed, ambiguous, pending
	//	ambiguous → sending, sent, failed, pending
	//
	// Anything else is ErrFenced; also when another than who made a part sending moves it
	// back to pending, or to ambiguous with fewer Repeats: only the sender knows that
	// nothing was sent. A mark that was made already, by an earlier
	// try of the same step, changes nothing: To, MessageID, Repeats, Reason,
	// Problem, At and By are equal to what stands there. Attempts counts the marks to sending.
	Advance(ctx context.Context, id string, p Progress) error
	// Preview notes the message that shows a turn's answer so far, so that the
	// final text goes into it, also after a crash; PreviewBegun before that
	// message is sent, and none when it surely did not arrive. The last note
	// counts, and is known to every Pending after it.
	Preview(ctx context.Context, turn string, p Preview) error
	// Previewed returns the last note of Preview. ErrNotFound: no such turn.
	Previewed(ctx context.Context, turn string) (Preview, error)
	// Delivery looks one up, or returns ErrNotFound.
	Delivery(ctx context.Context, id string) (Delivery, error)
}

// Money is what was spent.
type Money interface {
	// Ledger calls yield for each entry of a session, or of all when id is
	// empty, in the order they were booked, until it returns false.
	Ledger(ctx context.Context, id sessionkeys.SessionID, yield func(sessionkeys.SessionID, costs.Entry) bool) error
	// Totals are the sums by labels over the whole ledger.
	Totals(ctx context.Context) ([]Total, error)
	// Spent returns what a scope settled and still holds in the window of at.
	Spent(ctx context.Context, s Scope, at time.Time) (settled, held costs.Amount, err error)
}
