package signal

import (
	"encoding/json"
	"net/http"

	"parley/simulators/internal/stage"
)

// maxRequest bounds what another process may send: a file of 100 MB in base64.
const maxRequest = 160 << 20

// sayRequest is the body of POST /sim/say and, with a target, of /sim/edit. The
// fields of SayOptions may stand beside them; an attachment's data is base64.
type sayRequest struct {
	Chat   Chat   `json:"chat"`
	From   Person `json:"from"`
	Target int64  `json:"target,omitempty"`
	Text   string `json:"text"`
	SayOptions
}

// control is the interface for a harness in another process:
//
//	GET  /sim/books   the Book
//	GET  /sim/totals  the Totals, cheap enough to poll
//	POST /sim/say     a message; answers Said
//	POST /sim/edit    a changed message; answers Said
//	POST /sim/delete  a deleted message; answers Said
//	POST /sim/react, type, receipt, timer, rename, invite, remove, story, call,
//	     sync, echo, unreadable   what Server's methods of that name do, with the
//	     fields of doRequest; each answers Said
//	POST /sim/inject  a raw line for an account; answers Ref
//	POST /sim/meet, reinstall, registered   somebody's standing; answers true
//	POST /sim/limit   begins a rate limit; answers the token of its challenge
//	POST /sim/scan    the account's telephone scans the address text of a new device
//	POST /sim/version what daemons are from now on; text is the version
//	POST /sim/kill, hang, resume   the account's daemons; answers how many
//	POST /sim/faults  an array of Fault; DELETE ends all of them
//	POST /sim/reset   a fresh world
//
// What cannot be done is answered 400 with {"error": …}.
func (s *Server) control() http.Handler {
	c := stage.NewControl[Fault, Book, Totals](s, maxRequest)
	stage.Take(c, "say", func(q sayRequest) (any, error) {
		return s.Say(q.Chat, q.From, q.Text, q.SayOptions)
	})
	stage.Take(c, "edit", func(q sayRequest) (any, error) {
		return s.Edit(q.Chat, q.From, q.Target, q.Text, q.SayOptions)
	})
	stage.Take(c, "delete", func(q sayRequest) (any, error) { return s.Delete(q.Chat, q.From, q.Target) })
	for name, do := range s.doings() {
		stage.Take(c, name, do)
	}
	return c
}

// doRequest is the body of everything that is no message; each takes the fields it
// needs.
type doRequest struct {
	Chat       Chat            `json:"chat"`
	From       Person          `json:"from"`
	Account    string          `json:"account,omitempty"`
	Target     Quote           `json:"target"` // react
	Emoji      string          `json:"emoji,omitempty"`
	Remove     bool            `json:"remove,omitempty"`  // react: take it back
	Stopped    bool            `json:"stopped,omitempty"` // type
	Kind       string          `json:"kind,omitempty"`    // receipt; unreadable: the exception's type
	Of         []int64         `json:"of,omitempty"`      // receipt
	Seconds    int             `json:"seconds,omitempty"` // timer, limit
	Who        string          `json:"who,omitempty"`     // invite, remove
	Text       string          `json:"text,omitempty"`    // story, echo, unreadable
	Sync       Sync            `json:"sync"`
	Registered bool            `json:"registered,omitempty"`
	Entry      json.RawMessage `json:"entry,omitempty"` // inject
}

func (s *Server) doings() map[string]func(doRequest) (any, error) {
	return map[string]func(doRequest) (any, error){
		"react":      func(q doRequest) (any, error) { return s.React(q.Chat, q.From, q.Target, q.Emoji, q.Remove) },
		"type":       func(q doRequest) (any, error) { return s.Type(q.Chat, q.From, q.Stopped) },
		"receipt":    func(q doRequest) (any, error) { return s.Receipt(q.Chat, q.From, q.Kind, q.Of...) },
		"timer":      func(q doRequest) (any, error) { return s.SetTimer(q.Chat, q.From, q.Seconds) },
		"rename":     func(q doRequest) (any, error) { return s.Rename(q.Chat, q.From) },
		"invite":     func(q doRequest) (any, error) { return s.Invite(q.Chat, q.From, q.Who) },
		"remove":     func(q doRequest) (any, error) { return s.Remove(q.Chat, q.From, q.Who) },
		"story":      func(q doRequest) (any, error) { return s.Story(q.Chat, q.From, q.Text) },
		"call":       func(q doRequest) (any, error) { return s.Call(q.Chat, q.From) },
		"sync":       func(q doRequest) (any, error) { return s.Synced(q.Account, q.Sync) },
		"echo":       func(q doRequest) (any, error) { return s.Echo(q.Account, q.Text) },
		"unreadable": func(q doRequest) (any, error) { return s.Unreadable(q.Chat, q.From, q.Kind, q.Text) },
		"inject":     func(q doRequest) (any, error) { return s.Inject(q.Account, q.Entry) },
		"meet":       func(q doRequest) (any, error) { return true, s.Meet(q.From) },
		"reinstall":  func(q doRequest) (any, error) { return true, s.Reinstall(q.From) },
		"registered": func(q doRequest) (any, error) { return true, s.SetRegistered(q.From, q.Registered) },
		"limit":      func(q doRequest) (any, error) { return s.Limit(q.Account, q.Seconds) },
		"kill":       func(q doRequest) (any, error) { return s.Kill(q.Account) },
		"hang":       func(q doRequest) (any, error) { return s.Hang(q.Account) },
		"scan":       func(q doRequest) (any, error) { return true, s.Scan(q.Text, q.Account) },
		"version":    func(q doRequest) (any, error) { return true, s.SetVersion(q.Text) },
		"resume":     func(q doRequest) (any, error) { return s.Resume(q.Account) },
	}
}
