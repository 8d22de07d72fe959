package slack

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// events are what apps are told, on their way over a socket or to an URL, until
// they are acknowledged or given up.
type events struct {
	*world
	*sockets
	client *http.Client // for what is posted to apps
}

// delivery is one event on its way to one app.
type delivery struct {
	app      *app
	entry    *EventEntry
	envelope string // events_api, slash_commands or interactive
	payload  json.RawMessage
	tries    int
	reason   string // of the retry
	done     bool   // acknowledged or given up
	fault    *Fault
}

// attempt is one envelope of a delivery.
type attempt struct {
	delivery *delivery
	index    int // in the entry's attempts
	failed   bool
	lose     bool // the next acknowledgement is lost
}

func (t *attempt) entry() *AttemptEntry { return &t.delivery.entry.Attempts[t.index] }

// publish makes an event for an app and begins to deliver it. The caller holds
// the lock.
func (s *events) publish(a *app, r *room, inner any, e EventEntry) *EventEntry {
	e.App, e.EventID, e.Created = a.Name, s.makeID("Ev"), s.opts.Now()
	d := &delivery{app: a, envelope: "events_api", payload: s.callback(a, r, inner, e.EventID, e.Created)}
	s.record(d, e)
	s.send(d)
	return d.entry
}

// record books a delivery.
func (s *events) record(d *delivery, e EventEntry) {
	d.entry = s.books.events.Add(e)
	s.books.totals.Events++
	d.app.owed++
	s.books.Notify()
}

// callback is the outer event around inner.
func (s *events) callback(a *app, r *room, inner any, id string, at time.Time) json.RawMessage {
	t := s.opts.Team
	out := struct {
		Token               string           `json:"token"`
		TeamID              string           `json:"team_id"`
		EnterpriseID        string           `json:"enterprise_id,omitempty"`
		ContextTeamID       string           `json:"context_team_id"`
		ContextEnterpriseID *string          `json:"context_enterprise_id"`
		AppID               string           `json:"api_app_id"`
		Event               any              `json:"event"`
		Type                string           `json:"type"`
		EventID             string           `json:"event_id"`
		EventTime           int64            `json:"event_time"`
		Authorizations      []map[string]any `json:"authorizations"`
		External            bool             `json:"is_ext_shared_channel"`
		EventContext        string           `json:"event_context"`
	}{
		Token: "verification", TeamID: t.ID, EnterpriseID: t.EnterpriseID, ContextTeamID: t.ID, AppID: a.ID, Event: inner,
		Type: "event_callback", EventID: id, EventTime: at.Unix(), EventContext: "4-" + id,
	}
	authorization := map[string]any{
		"enterprise_id": nil, "team_id": t.ID, "user_id": a.UserID, "is_bot": true, "is_enterprise_install": a.OrgWide,
	}
	if t.EnterpriseID != "" {
		out.ContextEnterpriseID = &t.EnterpriseID
		authorization["enterprise_id"] = t.EnterpriseID
	}
	if a.OrgWide {
		authorization["team_id"] = nil
	}
	if r != nil {
		out.External = r.channel.External
		if r.channel.ContextTeam != "" {
			out.ContextTeamID = r.channel.ContextTeam
			out.TeamID = r.channel.ContextTeam
		}
	}
	out.Authorizations = []map[string]any{authorization}
	return mustJSON(out)
}

// send makes the next attempt to deliver d. The caller holds the lock.
func (s *events) send(d *delivery) {
	f := s.draw(faultSubject{app: d.app.Name, method: deliveries, channel: d.entry.Channel, kind: d.entry.Kind})
	switch f.trouble() {
	case Slow:
		s.agenda.after(f.Delay, s.locked(func() { s.dispatch(d, f) }))
	case Reordered:
		d.fault = f
		d.app.late = append(d.app.late, d)
		s.agenda.after(cmp.Or(f.Delay, 100*time.Millisecond), s.locked(func() { s.release(d.app) }))
	default:
		s.dispatch(d, f)
		s.release(d.app)
	}
}

// release delivers what was held back.
func (s *events) release(a *app) {
	late := a.late
	a.late = nil
	for _, d := range late {
		s.dispatch(d, d.fault)
	}
}

// dispatch hands d to a connection or posts it.
func (s *events) dispatch(d *delivery, f *Fault) {
	if d.done || s.stop.Err() != nil {
		return
	}
	copies := 1
	if f.trouble() == Duplicated {
		copies += max(f.Copies, 1)
	}
	for i := range copies {
		if i > 0 {
			d.reason = "timeout"
		}
		t := s.try(d, f)
		if d.app.RequestURL != "" {
			s.post(t, f)
		} else {
			s.push(t, f)
		}
	}
}

// try books an attempt.
func (s *events) try(d *delivery, f *Fault) *attempt {
	e := AttemptEntry{Retry: d.tries, Reason: d.reason, At: s.opts.Now(), Fault: f.trouble()}
	if d.tries > 0 {
		s.books.totals.Retried++
	}
	d.tries++
	d.entry.Attempts = append(d.entry.Attempts, e)
	s.books.Notify()
	return &attempt{delivery: d, index: len(d.entry.Attempts) - 1}
}

// push sends an attempt over one of the app's connections.
func (s *events) push(t *attempt, f *Fault) {
	d, e := t.delivery, t.entry()
	c := s.choose(d.app)
	if c == nil {
		e.Problem = "no connection"
		s.failAttempt(t, "timeout")
		return
	}
	e.EnvelopeID, e.Connection = s.uuid(), c.entry.ID
	trouble := f.trouble()
	if trouble == Dropped {
		e.Problem = "connection cut"
		c.cut()
		s.failAttempt(t, "timeout")
		return
	}
	t.lose = trouble == LostAck
	frame := map[string]any{
		"envelope_id": e.EnvelopeID, "payload": d.payload, "type": d.envelope, "accepts_response_payload": d.envelope != "events_api",
	}
	if d.envelope == "events_api" {
		frame["retry_attempt"], frame["retry_reason"] = e.Retry, e.Reason
	}
	d.app.pending[e.EnvelopeID] = t
	c.write(mustJSON(frame))
	c.entry.Envelopes++
	s.books.totals.Delivered++
	switch trouble {
	case Ambiguous:
		c.cutAfterwards()
	case Disconnect:
		s.warn(c, f.Reason)
	}
	if s.opts.AckTimeout > 0 {
		s.agenda.after(s.opts.AckTimeout, s.locked(func() { s.failAttempt(t, "timeout") }))
	}
}

// failAttempt is an attempt that failed: the event comes again, or is given up. The
// caller holds the lock.
func (s *events) failAttempt(t *attempt, reason string) {
	d := t.delivery
	if t.failed || d.done || !t.entry().Acknowledged.IsZero() {
		return
	}
	t.failed = true
	// Only of the newest attempt: a copy has no retries of its own.
	if t.index != len(d.entry.Attempts)-1 {
		return
	}
	if n := d.tries - 1; d.envelope == "events_api" && n < len(s.opts.Retries) {
		d.reason = reason
		s.agenda.after(s.opts.Retries[n], s.locked(func() {
			if !d.done && d.tries == n+1 {
				s.send(d)
			}
		}))
		return
	}
	for _, e := range d.entry.Attempts {
		delete(d.app.pending, e.EnvelopeID)
	}
	d.entry.GivenUp = true
	s.books.totals.GivenUp++
	s.close(d)
}

// close ends a delivery.
func (s *events) close(d *delivery) {
	d.done = true
	d.app.owed--
	s.books.Notify()
}

// acknowledge takes an acknowledgement that came on c.
func (s *events) acknowledge(c *conn, envelopeID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := c.app
	t := a.pending[envelopeID]
	c.entry.Acks++
	s.books.Notify()
	if t == nil {
		s.books.totals.Unsolicited++
		return
	}
	if t.lose {
		return
	}
	delete(a.pending, envelopeID)
	e, d := t.entry(), t.delivery
	e.Acknowledged, e.By = s.opts.Now(), c.entry.ID
	// What comes late does not undo the retry that is on its way.
	if !t.failed {
		s.noteAcknowledged(d)
	}
}

func (s *events) noteAcknowledged(d *delivery) {
	if d.done {
		return
	}
	d.entry.Acknowledged = s.opts.Now()
	s.books.totals.Acknowledged++
	s.close(d)
}

// Lapse treats every delivery that is not acknowledged as if AckTimeout had
// passed, and says how many there were.
func (s *events) Lapse() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.apps {
		var waiting []*attempt
		for _, t := range a.pending {
			if !t.failed && !t.delivery.done {
				waiting = append(waiting, t)
			}
		}
		slices.SortFunc(waiting, func(x, y *attempt) int { return x.entry().At.Compare(y.entry().At) })
		for _, t := range waiting {
			s.failAttempt(t, "timeout")
		}
		n += len(waiting)
	}
	return n
}
