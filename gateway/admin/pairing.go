package admin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"parley/gateway/people"
	"parley/gateway/policy"
)

// PairingRequest is a stranger who was given a code.
type PairingRequest struct {
	Channel string    `json:"channel"`
	Person  string    `json:"person"` // the network's stable id
	Code    string    `json:"code"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires"`
}

// PairingPage is all codes that wait, oldest first.
type PairingPage struct {
	Now      time.Time        `json:"now"`
	Requests []PairingRequest `json:"requests"`
	Problem  string           `json:"problem,omitempty"`
}

// RevokedPairing is what was taken back from whom.
type RevokedPairing struct {
	Channel string `json:"channel"`
	Person  string `json:"person"`
	Code    bool   `json:"code"`    // they had a code, which holds no more
	Allowed bool   `json:"allowed"` // they were let in, and are not any more
}

func (desk peopleDesk) pairing(r *http.Request) (any, error) {
	asking, err := desk.o.People.Requests(r.Context(), "")
	page := PairingPage{Now: desk.o.Now().UTC(), Requests: []PairingRequest{}}
	if page.Problem, err = passUnreadable(err); err != nil {
		return nil, err
	}
	for _, q := range asking {
		page.Requests = append(page.Requests, PairingRequest{Channel: q.Channel, Person: q.ID, Code: q.Code, At: q.At, Expires: q.Expires})
	}
	slices.SortStableFunc(page.Requests, func(a, b PairingRequest) int { return a.At.Compare(b.At) })
	return page, nil
}

func (desk peopleDesk) approvePairing(r *http.Request) (any, error) {
	code := people.ReadCode(r.URL.Query().Get("code"))
	if code == "" {
		return nil, newError(Invalid, "a code has %d letters and digits", people.CodeLength)
	}
	p, err := desk.o.People.Approve(r.Context(), "", code, people.By{}, "")
	if err != nil {
		return nil, describeDecisionError(err)
	}
	desk.logDecision(r, "person let in by the operator, by their code", p.Channel, p.ID)
	return describePerson(p), nil
}

// revokePairing takes back what a code has given or can give: the code, and that its person was
// let in.
func (desk peopleDesk) revokePairing(r *http.Request) (any, error) {
	ctx, id, channel := r.Context(), r.URL.Query().Get("id"), r.URL.Query().Get("channel")
	asking, err := desk.o.People.Requests(ctx, channel)
	if _, err = passUnreadable(err); err != nil {
		return nil, err
	}
	decided, err := desk.o.People.Decisions(ctx, channel)
	if _, err = passUnreadable(err); err != nil {
		return nil, err
	}
	asking = slices.DeleteFunc(asking, func(q people.Request) bool { return q.ID != id && q.Alias != id && q.Code != people.ReadCode(id) })
	decided = slices.DeleteFunc(decided, func(p people.Person) bool { return p.ID != id && p.Alias != id || p.Ruling != policy.LetIn })
	found := map[RevokedPairing]bool{}
	for _, q := range asking {
		found[RevokedPairing{Channel: q.Channel, Person: q.ID}] = true
	}
	for _, p := range decided {
		found[RevokedPairing{Channel: p.Channel, Person: p.ID}] = true
	}
	switch {
	case id == "" || len(found) == 0:
		return nil, newError(NotFound, "nobody of the id or the code %.40q has a code or was let in; see parley pair ls and parley access ls", id)
	case len(found) > 1:
		return nil, newError(Ambiguous, "%.40q is somebody on several bot accounts; name one with --channel", id)
	}
	var done RevokedPairing
	for _, q := range asking {
		if err := desk.o.People.Withdraw(ctx, q); err != nil {
			return nil, err
		}
		done = RevokedPairing{Channel: q.Channel, Person: q.ID, Code: true}
	}
	for _, p := range decided {
		was, err := desk.o.People.Forget(ctx, p.Channel, p.ID, policy.LetIn)
		if err != nil {
			return nil, describeDecisionError(err)
		}
		done.Channel, done.Person, done.Allowed = p.Channel, p.ID, was
	}
	desk.logDecision(r, "pairing revoked by the operator", done.Channel, done.Person)
	return done, nil
}

// Pairing returns the codes that wait, oldest first.
func (c AccessClient) Pairing(ctx context.Context) (PairingPage, error) {
	return askFor[PairingPage](ctx, c.connection, http.MethodGet, "/v1/pairing", nil)
}

// ApprovePairing lets in who was given that code.
func (c AccessClient) ApprovePairing(ctx context.Context, code string) (AccessEntry, error) {
	return askFor[AccessEntry](ctx, c.connection, http.MethodPost, "/v1/pairing/approve", url.Values{"code": {code}})
}

// RevokePairing takes back the code of somebody, named by it or by their id, and that they were let
// in; channel is needed where the id is somebody's on several.
func (c AccessClient) RevokePairing(ctx context.Context, id, channel string) (RevokedPairing, error) {
	return askFor[RevokedPairing](ctx, c.connection, http.MethodPost, "/v1/pairing/revoke", dropEmpty(url.Values{"id": {id}, "channel": {channel}}))
}

// String describes what was taken back.
func (p RevokedPairing) String() string {
	if p.Allowed {
		return fmt.Sprintf("%s on %s was let in, and is not any more", p.Person, p.Channel)
	}
	return fmt.Sprintf("the code of %s on %s holds no more", p.Person, p.Channel)
}
