package commands_test

import (
	"bytes"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/commands"
	"parley/gateway/messages"
	"parley/gateway/people"
	"parley/gateway/policy"
	"parley/gateway/roles"
	"parley/sessionkeys"
	"parley/sessions"
)

// (security 5.1) An owner lets people in and shuts them out in their direct messages, makes nobody
// more than a user, and decides neither about owners nor over the operator.
func TestOwnersDecideWhoMayTalkToTheBot(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	access := policy.Access{People: []string{"1", "2", "3"}, Approvers: []string{"2"}, Roles: policy.RoleLists{Owner: []string{"1", "3"}}}
	book := &people.Book{Store: s, Now: func() time.Time { return now }}
	d.People, d.Accounts = book, accountOf(access)
	by := asker(k)
	by.Channel, by.Role, by.Name = "tg", roles.Owner, "Ann"
	if _, err := book.Deny(t.Context(), "tg", "66", people.By{}); err != nil {
		t.Fatal(err)
	}
	says := func(args, want string) {
		t.Helper()
		text, err := d.Answer(t.Context(), by, messages.Command{Name: "access", Args: args})
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("/access %s: %q, %v, want %q", args, text, err, want)
		}
	}
	is := func(id string, want roles.Role) {
		t.Helper()
		who := channels.Sender{ID: id}
		if standing, err := book.Standing(t.Context(), "tg", who); err != nil || access.RoleOf(who, standing) != want {
			t.Errorf("%s is decided %+v, %v, want %q", id, standing, err, want)
		}
	}
	for _, r := range []roles.Role{roles.None, roles.Guest, roles.User, roles.Admin} {
		by.Role = r
		says("allow 9", "You may not decide here")
		says("", "You may not decide here")
	}
	by.Role = roles.Owner
	is("9", roles.None)
	for args, want := range map[string]string{
		"allow": "/access allow ID", "list them all please": "/access allow ID", "raise 9": "/access allow ID", "deny 9 guest": "/access allow ID",
		"allow @ben": "is not the id of a person", "allow 9 admin": "guests or users only", "allow 9 owner": "guests or users only",
		"deny 3": "is an owner, about whom only the operator decides", "allow 3 guest": "only the operator decides", "deny 1": "only the operator decides",
		"allow 66": "The operator has shut out `66`", "allow 66 guest": "The operator has shut out `66`",
	} {
		says(args, want)
	}
	for id, want := range map[string]roles.Role{"1": roles.Owner, "3": roles.Owner, "9": roles.None, "66": roles.None} {
		is(id, want)
	}
	says("allow 9 guest", "Done: I answer `9`, who is a guest here.")
	is("9", roles.Guest)
	says("allow 9", "who is a user here.")
	is("9", roles.User)
	says("deny 2", "Done: I do not answer `2` any more.")
	is("2", roles.None)
	says("", "`1`: owner\n`2`: shut out\n`3`: owner\n`66`: shut out\n`9`: user")
	says("allow 2", "who is a user here.") // an admin again makes only the operator
	is("2", roles.User)
	by.From = sessionkeys.Address{Channel: "telegram", Account: "42", Kind: sessionkeys.Group, Peer: "-1"}
	says("deny 9", "in a direct message")
	is("9", roles.User)
}

// A word of an owner does not take the place of the operator's, by which somebody is shut out for
// good: neither under the same id nor under the person's other one.
func TestAnOwnerDoesNotReplaceTheOperatorsDenial(t *testing.T) {
	t.Parallel()
	d, s, k := desk(t)
	book := &people.Book{Store: s, Now: func() time.Time { return now }}
	d.People, d.Accounts = book, map[string]commands.Account{"tg": {Access: policy.Access{People: []string{"1"}, Roles: policy.RoleLists{Owner: []string{"1"}}}}}
	by := asker(k)
	by.Channel, by.Role, by.Sender = "tg", roles.Owner, "1"
	asked, _, err := book.Ask(t.Context(), "tg", channels.Sender{ID: "66", Alias: "+66"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.Approve(t.Context(), "tg", asked, people.By{}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := book.Deny(t.Context(), "tg", "66", people.By{}); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"deny 66", "deny +66", "allow 66", "allow 66 user"} {
		if _, err := d.Answer(t.Context(), by, messages.Command{Name: "access", Args: args}); err != nil {
			t.Fatalf("/access %s: %v", args, err)
		}
	}
	who := channels.Sender{ID: "66"}
	if standing, err := book.Standing(t.Context(), "tg", who); err != nil || standing.Ruling != policy.ShutOut {
		t.Errorf("whom the operator shut out is decided %+v, %v", standing, err)
	}
	all, err := book.Decisions(t.Context(), "tg")
	for _, p := range all {
		if p.ID == "66" && p.By.ID != "" {
			t.Errorf("66 is shut out by %s, %v, want the operator", p.By, err)
		}
	}
}

// Whom the configuration calls an owner or admin and the operator has made less is no more again by an
// owner's word, whichever way: not by taking the operator's back, nor by shutting them out before.
func TestAnOwnerDoesNotUndoThatTheOperatorLoweredSomebody(t *testing.T) {
	t.Parallel()
	for _, commands := range [][]string{{"allow 3"}, {"deny 3", "allow 3"}, {"allow 2"}, {"deny 2", "allow 2"}} {
		d, s, k := desk(t)
		access := policy.Access{People: []string{"1", "2", "3"}, Approvers: []string{"2"}, Roles: policy.RoleLists{Owner: []string{"1", "3"}}}
		book := &people.Book{Store: s, Now: func() time.Time { return now }}
		d.People, d.Accounts = book, accountOf(access)
		by := asker(k)
		by.Channel, by.Role, by.Sender = "tg", roles.Owner, "1"
		for _, id := range []string{"2", "3"} {
			if _, err := book.Allow(t.Context(), "tg", id, roles.Guest, people.By{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range commands {
			if _, err := d.Answer(t.Context(), by, messages.Command{Name: "access", Args: args}); err != nil {
				t.Fatalf("/access %s: %v", args, err)
			}
		}
		for _, id := range []string{"2", "3"} {
			who := channels.Sender{ID: id}
			if standing, err := book.Standing(t.Context(), "tg", who); err != nil || roles.User.IsBelow(access.RoleOf(who, standing)) {
				t.Errorf("after /access %q %s is %+v, %v: %s", commands, id, standing, err, access.RoleOf(who, standing))
			}
		}
	}
}

func accountOf(a policy.Access) map[string]commands.Account {
	return map[string]commands.Account{"tg": {Access: a}}
}

// Who is an owner stays one whatever an owner says of their other id, of which nothing tells that it is
// theirs: they neither shut them out nor make them less, whether the configuration or the operator's
// record calls them one. For whom the operator lowered it holds.
func TestAnOwnerIsNoneTheLessByTheirOtherID(t *testing.T) {
	t.Parallel()
	access := policy.Access{Everyone: true, Roles: policy.RoleLists{Owner: []string{"1", "+3"}}}
	book, says := ownersBook(t, access)
	who := channels.Sender{ID: "3", Alias: "+3"}
	is := func(s channels.Sender, after string, want roles.Role) {
		t.Helper()
		if standing, err := book.Standing(t.Context(), "tg", s); err != nil || access.RoleOf(s, standing) != want {
			t.Errorf("after %s %+v is %+v, %v: %q, want %q", after, s, standing, err, access.RoleOf(s, standing), want)
		}
	}
	for _, args := range []string{"deny 3", "allow 3 guest", "allow 3"} {
		says(args)
		is(who, args, roles.Owner)
	}
	says("deny 3")
	is(channels.Sender{ID: "3"}, "deny 3", roles.None)
	is(channels.Sender{ID: "3", Alias: "+8"}, "deny 3", roles.None)
	if _, err := book.Allow(t.Context(), "tg", "4", roles.Owner, people.By{}); err != nil {
		t.Fatal(err)
	}
	says("deny +4")
	is(channels.Sender{ID: "4", Alias: "+4"}, "deny +4", roles.Owner)
	if _, err := book.Allow(t.Context(), "tg", "3", roles.Guest, people.By{}); err != nil {
		t.Fatal(err)
	}
	is(who, "the operator's guest", roles.Guest)
	says("deny +3") // which is an owner's by the configuration
	is(who, "deny +3", roles.Guest)
	says("deny 3")
	is(who, "a last deny 3", roles.None)
	says("allow 3")
	is(who, "a last allow 3", roles.User)
}

// An owner who is known by two ids is left to the operator by either of them, also where the record that
// calls them an owner stands under one.
func TestAnOwnerWhoseOtherIDIsKnownIsLeftToTheOperator(t *testing.T) {
	t.Parallel()
	access := policy.Access{Everyone: true, Roles: policy.RoleLists{Owner: []string{"1"}}}
	for _, args := range []string{"deny +49", "allow +49 guest", "deny aci"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			o := newOwner(t, access)
			o.known("aci", "+49")
			if _, err := o.book.Allow(t.Context(), "tg", "aci", roles.Owner, people.By{}); err != nil {
				t.Fatal(err)
			}
			_, id, _ := strings.Cut(args, " ")
			id, _, _ = strings.Cut(id, " ")
			o.says(args, "`"+id+"` is an owner, about whom only the operator decides.")
			who := channels.Sender{ID: "aci", Alias: "+49"}
			if standing, err := o.book.Standing(t.Context(), "tg", who); err != nil || access.RoleOf(who, standing) != roles.Owner {
				t.Errorf("they are %+v, %v", standing, err)
			}
		})
	}
}

// ownersBook returns a book, and what has owner 1 say /access with words behind it.
func ownersBook(t *testing.T, access policy.Access) (*people.Book, func(args string)) {
	t.Helper()
	d, s, k := desk(t)
	book := &people.Book{Store: s, Now: func() time.Time { return now }}
	d.People, d.Accounts = book, accountOf(access)
	by := asker(k)
	by.Channel, by.Role, by.Sender = "tg", roles.Owner, "1"
	return book, func(args string) {
		t.Helper()
		if _, err := d.Answer(t.Context(), by, messages.Command{Name: "access", Args: args}); err != nil {
			t.Fatalf("/access %s: %v", args, err)
		}
	}
}

// (security 5.1) What is in the way of a decision is said, and then nothing is decided.
func TestAccess(t *testing.T) {
	t.Parallel()
	access := policy.Access{People: []string{"1", "5", "6"}, Roles: policy.RoleLists{Guest: []string{"6"}, Owner: []string{"1"}}}
	t.Run("who is listed is what they were again when a denial is taken back", func(t *testing.T) {
		t.Parallel()
		o := newOwner(t, access)
		for id, role := range map[string]string{"5": "user", "6": "guest"} {
			o.says("deny "+id, "Done: I do not answer `"+id+"` any more.")
			o.says("allow "+id, "Done: I answer `"+id+"`, who is a "+role+" here.")
		}
		if all, err := o.book.Decisions(t.Context(), "tg"); err != nil || len(all) != 0 {
			t.Errorf("there are still %+v, %v", all, err)
		}
		if got := o.logged.String(); strings.Count(got, "person shut out by an owner") != 2 || strings.Count(got, "person let in by an owner") != 2 {
			t.Errorf("the log says %q", got)
		}
	})
	for args, want := range map[string]policy.Ruling{"allow 9": policy.ShutOut, "deny 9": policy.LetIn} {
		t.Run("who decides while "+args+" is written goes before", func(t *testing.T) {
			t.Parallel()
			o := newOwner(t, access)
			o.book.Store = &meanwhile{Store: o.store, reads: -1, kind: "person", does: func(s people.Store) {
				if want == policy.ShutOut {
					denies(t, "9")(s)
				} else if _, err := (&people.Book{Store: s, Now: o.book.Now}).Allow(t.Context(), "tg", "9", roles.User, people.By{}); err != nil {
					t.Error(err)
				}
			}}
			o.says(args, "Somebody else decided about that person just now, so I did nothing.")
			o.is("9", want)
		})
	}
	t.Run("whom the operator shuts out in the same moment stays out", func(t *testing.T) {
		t.Parallel()
		o := newOwner(t, access)
		o.book.Store = &meanwhile{Store: o.store, reads: 1, writes: -1, kind: "person", does: denies(t, "9")}
		o.says("allow 9", "The operator has shut out that person, and only the operator lets them in again.")
		o.is("9", policy.ShutOut)
	})
	t.Run("whom the operator shuts out in the same moment stays out, also if they are listed", func(t *testing.T) {
		t.Parallel()
		o := newOwner(t, access)
		o.book.Store = &meanwhile{Store: o.store, reads: 1, writes: -1, kind: "person", does: denies(t, "5")}
		o.says("allow 5", "The operator has shut out that person, and only the operator lets them in again.")
		o.is("5", policy.ShutOut)
	})
	t.Run("whose decision cannot be read stays out, and the list says so", func(t *testing.T) {
		t.Parallel()
		o := newOwner(t, access)
		o.damage("9")
		o.says("allow 9", "The operator has shut out `9`, and only the operator lets them in again.")
		o.is("9", policy.ShutOut)
		o.says("", "`1`: owner\n`5`: user\n`6`: guest\nSome decisions cannot be read, so their people are shut out: parley access ls names them.")
	})
	t.Run("of many fifty lines are shown", func(t *testing.T) {
		t.Parallel()
		many := policy.Access{Everyone: true, Roles: policy.RoleLists{Owner: []string{"1"}}}
		want := []string{"Everybody may talk to me."}
		for i := range 60 {
			many.People = append(many.People, strconv.Itoa(100+i))
			want = append(want, "`"+strconv.Itoa(100+i)+"`: user")
		}
		o := newOwner(t, many)
		shown := strings.Join(want[:50], "\n") + "\nand 11 more: parley access ls names them"
		o.says("", shown)
		o.damage("9")
		o.says("", shown+"\nSome decisions cannot be read, so their people are shut out: parley access ls names them.")
	})
}

// newOwner returns owner 1 of an account before a desk and its book.
func newOwner(t *testing.T, a policy.Access) *owner {
	t.Helper()
	d, s, k := desk(t)
	o := &owner{t: t, store: s, book: &people.Book{Store: s, Now: func() time.Time { return now }}}
	d.People, d.Accounts, d.Log = o.book, accountOf(a), slog.New(slog.NewTextHandler(&o.logged, nil))
	by := asker(k)
	by.Channel, by.Role = "tg", roles.Owner
	o.answer = func(args string) (string, error) {
		return d.Answer(t.Context(), by, messages.Command{Name: "access", Args: args})
	}
	return o
}

type owner struct {
	t      *testing.T
	store  sessions.Store
	book   *people.Book
	logged bytes.Buffer
	answer func(args string) (string, error)
}

// says checks the whole answer to /access with words behind it.
func (o *owner) says(args, want string) {
	o.t.Helper()
	if text, err := o.answer(args); err != nil || text != want {
		o.t.Errorf("/access %s: %q, %v, want %q", args, text, err, want)
	}
}

// known has the operator let in somebody by a code, so that both of their ids are known.
func (o *owner) known(id, alias string) {
	o.t.Helper()
	code, _, err := o.book.Ask(o.t.Context(), "tg", channels.Sender{ID: id, Alias: alias})
	if err != nil {
		o.t.Fatal(err)
	}
	if _, err := o.book.Approve(o.t.Context(), "tg", code, people.By{}, ""); err != nil {
		o.t.Fatal(err)
	}
}

func (o *owner) is(id string, want policy.Ruling) {
	o.t.Helper()
	if standing, err := o.book.Standing(o.t.Context(), "tg", channels.Sender{ID: id}); err != nil || standing.Ruling != want {
		o.t.Errorf("%s is decided %+v, %v, want %q", id, standing, err, want)
	}
}

// damage makes the record about a person unreadable.
func (o *owner) damage(id string) {
	o.t.Helper()
	r := sessions.Record{ID: sessions.RecordID{Kind: "person", Key: "tg/" + id}, Owner: "worker", Body: []byte("{"), At: now}
	if _, err := o.store.WriteRecord(o.t.Context(), r); err != nil {
		o.t.Fatal(err)
	}
}
