package redis

import (
	"fmt"
	"strconv"

	"parley/sessions"
	"parley/sessions/rules"

	goredis "github.com/redis/go-redis/v9"
)

// plan is what the commit script is to do; see commit.lua.
type plan struct {
	db      *database
	r       *reading
	steps   []string
	mailbox *factOf // the mailbox whose fence it depends on; nil: none
	hold    *hold   // of who takes the database over, and may apply a fact again; nil: nobody does

	learned []learnedRow
	sets    []member
	frames  []string
}

// member is of a set that the process that writes it may know.
type member struct {
	set, name string
	in        bool
}

// keep adds the command that puts a member into such a set, or takes it out.
func (p *plan) keep(set, name string, in bool) {
	command := "SREM"
	if in {
		command = "SADD"
	}
	p.do(command, set, name)
	p.sets = append(p.sets, member{set, name, in})
}

// learnedRow is a row as it stands after the commit.
type learnedRow struct {
	key    rules.Key
	stored *storedRow
	number bool // the next number of a counter is its no
	base   bool // the next base is its base
}

// step adds one step.
func (p *plan) step(name string, args ...string) {
	p.steps = append(append(p.steps, name, strconv.Itoa(len(args))), args...)
}

// do adds a command.
func (p *plan) do(command ...string) { p.step("c", command...) }

// numbered adds a command with the number that was given last at a position.
func (p *plan) numbered(position int, command ...string) {
	p.step("n", append([]string{strconv.Itoa(position)}, command...)...)
}

// hset adds a command that writes the fields that are other than they were, a version,
// and more names and values.
func (p *plan) hset(key string, was, is row, version string, more ...string) {
	begin := len(p.steps)
	p.do("HSET", key, "v", version)
	for name, value := range is {
		if before, there := was[name]; !there || before != value {
			p.steps = append(p.steps, name, value)
		}
	}
	p.steps = append(p.steps, more...)
	p.steps[begin+1] = strconv.Itoa(len(p.steps) - begin - 2)
}

// request returns the call of the commit script. fact is the number of the fact that it
// is; 0: it is none.
func (p *plan) request(fact uint64) []any {
	era, number, mode := p.r.era, "", live
	steps := p.steps
	if h := p.hold; h != nil {
		era, mode = "", replay // whoever takes over has the database alone
		steps = append([]string{"t", "3", p.db.key("takeover"), h.me, h.server}, steps...)
	}
	if fact > 0 {
		number = strconv.FormatUint(fact, 10)
	}
	args := make([]any, 0, 4+len(steps))
	args = append(args, era, p.r.gen, number, mode)
	for i := range steps {
		args = append(args, &steps[i]) // a string in an interface is one more allocation
	}
	return args
}

// commit carries the plan out, as what is no fact.
func (p *plan) commit(c *goredis.Client) error {
	a, err := p.db.evaluate(p.r.ctx, c, p.request(0))
	if err != nil {
		return err
	}
	return p.db.conclude(p.r, p, a)
}

// stepsMostly is how many words most plans have.
const stepsMostly = 128

// plan returns the commit of changes by an operation that read r, under the fence f; the
// zero fence: under none.
func (db *database) plan(r *reading, f sessions.Fence, c *changes) (*plan, error) {
	p := &plan{db: db, r: r, steps: make([]string, 0, stepsMostly)}
	p.expectRead(f, c)
	return p, p.write(c)
}

// expectRead has the commit look whether all that was read is as it was.
func (p *plan) expectRead(f sessions.Fence, c *changes) {
	s, r := p.db, p.r
	put := map[rules.Key]bool{}
	for _, one := range c.Rows {
		k := one.row.Key()
		put[k] = true
		if _, seen := r.seen[k]; !seen {
			p.expectNew(k)
		}
	}
	for k, st := range r.seen {
		p.expect(k, st, f, put[k])
	}
	for _, l := range r.lists {
		p.step("l", append(append([]string{strconv.Itoa(len(l.command))}, l.command...), l.members...)...)
	}
	for _, m := range r.absent {
		p.step("m", s.key("msgids:"+m.session), m.message)
	}
	for _, c := range r.changed {
		p.step("f", s.key("sess:"+c.id), "updated", c.at)
	}
}

// expectNew has the commit look whether there is no such row.
func (p *plan) expectNew(k rules.Key) {
	switch k := k.(type) {
	case rules.SessionKey:
		p.step("x", p.db.hashOf(k))
	case rules.ChildKey:
		p.step("x", p.db.key("child:"+string(k)))
	}
}

// expect has the commit look whether a row is as it was read.
func (p *plan) expect(k rules.Key, st *storedRow, f sessions.Fence, put bool) {
	hash := p.db.hashOf(k)
	switch k := k.(type) {
	case rules.MailboxKey:
		m, there := st.row.(rules.Mailbox)
		if there && string(k) == f.Token && m.Owner.Nonce == f.Nonce && m.Epoch == f.Epoch {
			p.mailbox = &factOf{fence: fence(f), Base: uint64(max(st.fields.int("base"), 0))}
			if !put && p.r.onlyFence { // who only touches it changes nothing for its owner
				p.step("o", hash, strconv.FormatInt(f.Epoch, 10), f.Nonce)
				return
			}
		}
	case rules.SessionKey:
		if st.row != nil {
			return // it never changes
		}
	case rules.CallKey:
		if st.row == nil {
			p.step("f", p.db.key("booked"), string(k), "")
		} else if len(st.fields["at"]) == 0 {
			return // it is booked, and stays so
		}
	case rules.ChildKey:
		if st.row == nil {
			p.step("x", p.db.key("child:"+string(k)))
		}
		return
	case rules.EventKey:
		p.step("f", p.db.inboxKey(k), k.Event, st.fields["became"])
		return
	case rules.TextHashKey:
		p.step("f", p.db.textHashKey(k), k.Message, st.fields["sum"])
		return
	case rules.BegunKey:
		p.step("f", p.db.key("begun:"+k.Turn), id(strconv.Itoa(k.Step), k.Call), st.fields["by"])
		return
	case rules.WorkerKey:
		w := id(k.Name, k.Nonce)
		p.step("f", p.db.key("until"), w, st.fields["until"])
		if st.fields["gone"] != "1" {
			p.step("m", p.db.key("gone"), w)
		}
		return
	case rules.ChatKey:
		p.expectChat(k, st.fields)
		return
	}
	if st.row == nil {
		p.step("x", hash)
		return
	}
	p.step("v", hash, st.version())
}

func (p *plan) expectChat(k rules.ChatKey, f row) {
	bot, shut := id(k.Channel, k.Account), p.db.key("shut:"+id(k.Channel, k.Account, k.Peer))
	p.step("f", p.db.key("prev:"+bot), k.Peer, f["before"])
	p.step("f", p.db.key("next:"+bot), k.Peer, f["after"])
	for _, field := range []string{"cause", "dropped", "open", "opened_at"} {
		p.step("f", shut, field, f[field])
	}
}

// write adds what changes.
func (p *plan) write(c *changes) error {
	for _, one := range c.Rows {
		if err := p.put(one); err != nil {
			return err
		}
	}
	for _, a := range c.Appended {
		id := string(a.Session)
		for _, m := range a.Messages {
			p.do("SADD", p.db.key("msgids:"+id), m.ID)
			p.do("RPUSH", p.db.key("msgs:"+id), m.Body)
		}
		p.do("HINCRBY", p.db.key("sess:"+id), "messages", strconv.Itoa(len(a.Messages)))
		p.step("u", id, strconv.FormatInt(a.At, 10))
	}
	for _, a := range c.Sums {
		p.step("S", string(a.Session), amountText(a.Own), amountText(a.Subtree), amountText(a.Held), strconv.Itoa(a.Unpriced), strconv.FormatInt(a.At, 10))
	}
	for i, n := range c.Counts {
		root, of := "", ""
		if n.Kind == rules.TreeScope {
			root, of = n.ID, n.Window
		}
		p.step("N", id(n.Kind, n.ID, n.Window), amountText(n.Settled), amountText(n.Held), amountText(n.Doubt), n.Day, amountText(n.Limit), strconv.Itoa(i), root, of)
	}
	for _, b := range c.Booked {
		p.step("T", b.Labels, amountText(b.Amount), strconv.Itoa(b.Unknown))
		p.step("B", b.ID, string(b.Session), b.Turn, strconv.FormatInt(b.At, 10), b.Price, b.Entry, b.Order, b.Columns)
	}
	for _, a := range c.Asked {
		if a.Body != nil {
			p.do("HSETNX", p.db.key("frames"), a.Frame, *a.Body)
			p.frames = append(p.frames, a.Frame)
		} else if p.hold == nil {
			p.step("h", p.db.key("frames"), a.Frame)
		}
		p.do("RPUSH", p.db.key("asked:"+string(a.Session)), a.Attempt)
	}
	for _, e := range c.Erased {
		p.erase(e)
	}
	if c.Generation != "" {
		if err := p.startGeneration(c.Generation); err != nil {
			return err
		}
	}
	if p.mailbox != nil {
		p.step("d", p.mailbox.Token)
	}
	return nil
}

// learn notes what stands after the commit.
func (p *plan) learn(a answer) error {
	bases, numbers := a.texts(1), a.texts(2)
	for _, l := range p.learned {
		if l.base {
			if len(bases) == 0 {
				return fmt.Errorf("the commit answered too few bases")
			}
			l.stored.fields["base"], bases = bases[0], bases[1:]
		}
		if l.number {
			if len(numbers) == 0 {
				return fmt.Errorf("the commit answered too few numbers")
			}
			l.stored.fields["no"], numbers = numbers[0], numbers[1:]
			if answer, ok := l.stored.row.(rules.Answer); ok {
				n, err := strconv.ParseUint(l.stored.fields["no"], 10, 64)
				if err != nil {
					return fmt.Errorf("order of answer %s: %w", answer.ID, err)
				}
				answer.Order = n
				l.stored.row = answer
			}
		}
		p.db.known.learnWritten(p.r.era, l.key, l.stored)
	}
	for _, m := range p.sets {
		p.db.known.keep(p.r.era, m)
	}
	for _, a := range p.frames {
		p.db.frames.add(a)
	}
	return nil
}
