package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/admin"
	"parley/gateway/listeners"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessions"
	"parley/sessions/memtest"
)

// door is an operator's server over a book of people, and no gateway.
type door struct {
	t    *testing.T
	book *people.Book
	s    *admin.Server
}

func newDoor(t *testing.T, accounts map[string]admin.Account) *door {
	t.Helper()
	book := &people.Book{Store: memtest.New(memtest.Every), Now: time.Now}
	s, err := admin.New(t.Context(), admin.Options{Socket: listeners.Off, People: book, Accounts: func() map[string]admin.Account { return accounts }, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return &door{t, book, s}
}

// ask returns what is answered, or the error that is.
func ask[T any](d *door, method, path string, query ...string) (answer T, failed admin.Error) {
	d.t.Helper()
	q := url.Values{}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	w := httptest.NewRecorder()
	d.s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(d.t.Context(), method, path+"?"+q.Encode(), nil))
	into := any(&answer)
	if w.Code != 200 {
		into = &failed
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		d.t.Fatalf("%s: %v", w.Body, err)
	}
	return answer, failed
}

func (d *door) code(channel, id string) string {
	d.t.Helper()
	code, _, err := d.book.Ask(d.t.Context(), channel, channels.Sender{ID: id})
	if err != nil {
		d.t.Fatal(err)
	}
	return code
}

// (security 5.1) What an operator may name, and what it means where the configuration speaks of the
// same person.
func TestOperatorsLetPeopleInAndShutThemOut(t *testing.T) {
	t.Parallel()
	d := newDoor(t, map[string]admin.Account{
		"a": {Access: policy.Access{People: []string{"1", "2"}, Approvers: []string{"1"}}},
		"b": {Access: policy.Access{Everyone: true}, CheckPerson: func(id string) error {
			if id == "odd" {
				return errors.New("that is odd")
			}
			return nil
		}},
	})
	for _, c := range []struct{ channel, person, why string }{
		{"c", "1", `no bot account "c" in the configuration; there are: a, b`},
		{"a", "", "is not the id of a person"},
		{"a", "@ann", "is a name, which can change hands"},
		{"a", strings.Repeat("x", 300), "1 to 255 bytes"},
		{"b", "odd", "that is odd"},
	} {
		for _, verb := range []string{"allow", "deny"} {
			if _, failed := ask[admin.AccessEntry](d, "POST", "/v1/access/"+verb, "channel", c.channel, "person", c.person); !strings.Contains(failed.Message, c.why) {
				t.Errorf("%s %.10s on %s: %+v", verb, c.person, c.channel, failed)
			}
		}
	}
	for _, c := range []struct {
		verb, channel, person string
		ruling                policy.Ruling
		source                admin.Source
		then                  policy.Ruling // in the book
	}{
		{"allow", "a", "3", policy.LetIn, admin.FromRecord, policy.LetIn},
		{"allow", "a", "2", policy.LetIn, admin.FromConfiguration, policy.NoRuling},
		{"deny", "a", "2", policy.ShutOut, admin.FromRecord, policy.ShutOut},
		{"allow", "a", "2", policy.LetIn, admin.FromConfiguration, policy.NoRuling},
		{"deny", "b", "9", policy.ShutOut, admin.FromRecord, policy.ShutOut},
		{"deny", "a", "2", policy.ShutOut, admin.FromRecord, policy.ShutOut},
	} {
		e, failed := ask[admin.AccessEntry](d, "POST", "/v1/access/"+c.verb, "channel", c.channel, "person", c.person)
		if e.Ruling != c.ruling || e.Source != c.source || e.Channel != c.channel || e.Person != c.person {
			t.Errorf("%+v: %+v, %+v", c, e, failed)
		}
		if r, err := d.book.Standing(t.Context(), c.channel, channels.Sender{ID: c.person}); r.Ruling != c.then || err != nil {
			t.Errorf("%+v: then is decided %+v, %v", c, r, err)
		}
	}
	page, _ := ask[admin.AccessPage](d, "GET", "/v1/access")
	var all []string
	for _, e := range page.Entries {
		all = append(all, strings.Join([]string{e.Channel, e.Person, string(e.Ruling), string(e.Source), map[bool]string{true: "overruled"}[e.Overruled], string(e.Role)}, " "))
	}
	want := "a 1 allowed configuration  admin\na 2 allowed configuration overruled user\na 2 denied record  \na 3 allowed record  user\nb  allowed configuration  user\nb 9 denied record  "
	if got := strings.Join(all, "\n"); got != want || page.Problem != "" {
		t.Errorf("listed\n%s\nwant\n%s\n%s", got, want, page.Problem)
	}
	if _, err := d.book.Store.WriteRecord(t.Context(), sessions.Record{ID: sessions.RecordID{Kind: "person", Key: "a/7"}, Body: []byte("7"), At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if page, failed := ask[admin.AccessPage](d, "GET", "/v1/access"); len(page.Entries) != 6 || !strings.Contains(page.Problem, "the record person of a/7") {
		t.Errorf("with a record that cannot be read: %+v, %+v", page, failed)
	}
}

// An operator gives a role, to who is listed too; allowing without one and denying take it away.
func TestOperatorsGiveRoles(t *testing.T) {
	t.Parallel()
	a := policy.Access{People: []string{"1", "2"}, Roles: policy.RoleLists{Owner: []string{"1"}}}
	d := newDoor(t, map[string]admin.Account{"a": {Access: a}})
	for _, c := range []struct {
		verb, person, role string
		said, then         roles.Role
	}{
		{"allow", "3", "guest", roles.Guest, roles.Guest},
		{"allow", "3", "", roles.None, roles.User},
		{"allow", "2", "admin", roles.Admin, roles.Admin},
		{"deny", "2", "", roles.None, roles.None},
		{"allow", "2", "", roles.User, roles.User},
		{"allow", "1", "guest", roles.Guest, roles.Guest},
		{"allow", "1", "", roles.Owner, roles.Owner},
	} {
		q := []string{"channel", "a", "person", c.person}
		if c.role != "" {
			q = append(q, "role", c.role)
		}
		e, failed := ask[admin.AccessEntry](d, "POST", "/v1/access/"+c.verb, q...)
		is := channels.Sender{ID: c.person}
		if d, err := d.book.Standing(t.Context(), "a", is); e.Role != c.said || a.RoleOf(is, d) != c.then || err != nil {
			t.Errorf("%+v: %+v, %+v; then %+v, %v", c, e, failed, d, err)
		}
	}
	if _, failed := ask[admin.AccessEntry](d, "POST", "/v1/access/allow", "channel", "a", "person", "3", "role", "root"); !strings.Contains(failed.Message, `"root" is none of guest, user, admin, owner`) {
		t.Errorf("a role that is none: %+v", failed)
	}
}

func TestOperatorsApproveAndRevokeCodes(t *testing.T) {
	t.Parallel()
	d := newDoor(t, map[string]admin.Account{"a": {}, "b": {}})
	ctx := context.Background()
	revoke := func(id, channel string) (admin.RevokedPairing, admin.Error) {
		q := []string{"id", id}
		if channel != "" {
			q = append(q, "channel", channel)
		}
		return ask[admin.RevokedPairing](d, "POST", "/v1/pairing/revoke", q...)
	}
	one, two := d.code("a", "1"), d.code("b", "1")
	if page, _ := ask[admin.PairingPage](d, "GET", "/v1/pairing"); len(page.Requests) != 2 || page.Requests[0].Code != one || page.Requests[0].Channel != "a" {
		t.Errorf("waiting: %+v", page)
	}
	if _, failed := revoke("1", ""); failed.Kind != admin.Ambiguous {
		t.Errorf("an id on two accounts: %+v", failed)
	}
	if done, failed := revoke(two, ""); done != (admin.RevokedPairing{Channel: "b", Person: "1", Code: true}) {
		t.Errorf("by the code: %+v, %+v", done, failed)
	}
	if _, failed := ask[admin.AccessEntry](d, "POST", "/v1/pairing/approve", "code", two); failed.Kind != admin.NotFound {
		t.Errorf("approve what was revoked: %+v", failed)
	}
	if e, failed := ask[admin.AccessEntry](d, "POST", "/v1/pairing/approve", "code", one); e.Person != "1" || e.By != "the operator" || e.Code != one {
		t.Errorf("approve: %+v, %+v", e, failed)
	}
	if done, failed := revoke("1", "a"); done != (admin.RevokedPairing{Channel: "a", Person: "1", Allowed: true}) {
		t.Errorf("who was let in: %+v, %+v", done, failed)
	}
	if r, err := d.book.Standing(ctx, "a", channels.Sender{ID: "1"}); r != (policy.Standing{}) || err != nil {
		t.Errorf("then is decided %+v, %v", r, err)
	}
	if _, failed := revoke("1", ""); failed.Kind != admin.NotFound {
		t.Errorf("nothing is left: %+v", failed)
	}
	three := d.code("a", "3")
	if _, err := d.book.Deny(ctx, "a", "3", people.By{}); err != nil {
		t.Fatal(err)
	}
	if _, failed := ask[admin.AccessEntry](d, "POST", "/v1/pairing/approve", "code", three); failed.Kind != admin.NotFound {
		t.Errorf("the code of who is shut out: %+v", failed)
	}
	if _, failed := revoke("3", ""); failed.Kind != admin.NotFound {
		t.Errorf("revoking undoes that somebody is shut out: %+v", failed)
	}
}
