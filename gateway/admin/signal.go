package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// SignalAccount is a Signal account of this process's, by way of the signal-cli that
// runs for it. Another signal-cli would wait for the account's lock for ever.
type SignalAccount interface {
	Groups(ctx context.Context) ([]SignalGroup, error)
	Keys(ctx context.Context) ([]SignalKey, error)
	// Trust trusts the key that a person has now, by its safety number.
	Trust(ctx context.Context, person, safetyNumber string) error
	// Link makes this machine a device of an account: show gets the address that the
	// telephone scans; the result names the account.
	Link(ctx context.Context, device string, show func(uri string) error) (account string, err error)
}

// SignalGroup is a group that an account is in or invited to.
type SignalGroup struct {
	ID      string `json:"id"` // for access.groups
	Name    string `json:"name"`
	Member  bool   `json:"member"`
	Invited bool   `json:"invited"`
	Listed  bool   `json:"listed"` // it is in access.groups
	Members int    `json:"members"`
}

// SignalGroups are those of one account.
type SignalGroups struct {
	Channel string        `json:"channel"`
	Groups  []SignalGroup `json:"groups"`
}

// SignalKey is the key of somebody who wrote to an account or was written to.
type SignalKey struct {
	ACI          string `json:"aci"`
	Number       string `json:"number,omitempty"`
	SafetyNumber string `json:"safety_number"`
	Trust        string `json:"trust"` // in signal-cli's words
}

// SignalKeys are those that one account has seen.
type SignalKeys struct {
	Channel string      `json:"channel"`
	Keys    []SignalKey `json:"keys"`
}

// SignalTrusted says whose key is trusted now.
type SignalTrusted struct {
	Channel string `json:"channel"`
	Person  string `json:"person"`
}

// SignalLink is a line of the answer while a device is linked: first the address, then
// the account, or what went wrong.
type SignalLink struct {
	Channel string `json:"channel,omitempty"`
	URI     string `json:"uri,omitempty"`
	Account string `json:"account,omitempty"`
	// Configured is the account of the channel's configuration.
	Configured string `json:"configured,omitempty"`
	Problem    string `json:"problem,omitempty"`
}

// NamedSignal is a SignalAccount and what it is called.
type NamedSignal struct {
	SignalAccount
	Account string // in the configuration
}

// signalOf finds the account that a question is about: the one that is named, or the
// only one.
func (s *Server) signalOf(r *http.Request) (string, NamedSignal, error) {
	names := slices.Sorted(maps.Keys(s.o.Signal))
	name := r.URL.Query().Get("channel")
	switch a, ok := s.o.Signal[name]; {
	case ok:
		return name, a, nil
	case len(names) == 0:
		return "", NamedSignal{}, problem(NotFound, "this gateway has no Signal account in its configuration (channels.signal)")
	case name != "":
		return "", NamedSignal{}, problem(NotFound, "there is no Signal account %q; there are: %s", name, strings.Join(names, ", "))
	case len(names) > 1:
		return "", NamedSignal{}, problem(Ambiguous, "there are several Signal accounts; name one with --channel: %s", strings.Join(names, ", "))
	}
	return names[0], s.o.Signal[names[0]], nil
}

func (s *Server) signalGroups(r *http.Request) (any, error) {
	name, a, err := s.signalOf(r)
	if err != nil {
		return nil, err
	}
	groups, err := a.Groups(r.Context())
	return SignalGroups{Channel: name, Groups: groups}, err
}

func (s *Server) signalKeys(r *http.Request) (any, error) {
	name, a, err := s.signalOf(r)
	if err != nil {
		return nil, err
	}
	keys, err := a.Keys(r.Context())
	return SignalKeys{Channel: name, Keys: keys}, err
}

func (s *Server) signalTrust(r *http.Request) (any, error) {
	name, a, err := s.signalOf(r)
	if err != nil {
		return nil, err
	}
	person := r.URL.Query().Get("person")
	if err := a.Trust(r.Context(), person, r.URL.Query().Get("safety_number")); err != nil {
		return nil, problem(Refused, "the key of %s is not trusted: %v", person, err)
	}
	s.o.Logger.Info("an operator trusts a key", "channel", name, "person", person)
	return SignalTrusted{Channel: name, Person: person}, nil
}

// signalLink answers line by line, since a telephone must scan the first before there is
// a second.
func (s *Server) signalLink(w http.ResponseWriter, r *http.Request) {
	name, a, err := s.signalOf(r)
	if err != nil {
		s.write(w, r, nil, err)
		return
	}
	out := &exporting{w: w, control: http.NewResponseController(w)}
	say := func(l SignalLink) error {
		l.Channel, l.Configured = name, a.Account
		if err := json.NewEncoder(out).Encode(l); err != nil {
			return fmt.Errorf("answer the operator: %w", err)
		}
		return out.control.Flush() //nolint:wrapcheck // the operator has gone
	}
	// The request is read; a telephone takes longer than that may.
	if err := out.control.SetReadDeadline(time.Time{}); err != nil {
		s.write(w, r, nil, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	account, err := a.Link(ctx, r.URL.Query().Get("device"), func(uri string) error { return say(SignalLink{URI: uri}) })
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = say(SignalLink{Problem: "nobody scanned the code in time"})
	case err != nil && !out.begun:
		s.write(w, r, nil, problem(Refused, "%v", err))
		return
	case err != nil:
		err = say(SignalLink{Problem: err.Error()})
	default:
		s.o.Logger.Info("this machine is linked to a Signal account", "channel", name, "account", account)
		err = say(SignalLink{Account: account})
	}
	if err != nil {
		s.o.Logger.Debug("linking a Signal account", "error", err)
	}
}

// SignalGroups lists the groups of a Signal account: of that channel, or, with "", of the
// only one.
func (c *Client) SignalGroups(ctx context.Context, channel string) (g SignalGroups, err error) {
	err = c.ask(ctx, http.MethodGet, "/v1/signal/groups", named(channel), &g)
	return g, err
}

// SignalKeys lists the keys that a Signal account has seen.
func (c *Client) SignalKeys(ctx context.Context, channel string) (k SignalKeys, err error) {
	err = c.ask(ctx, http.MethodGet, "/v1/signal/keys", named(channel), &k)
	return k, err
}

// SignalTrust trusts the key that a person has now, by the safety number that was
// compared with them.
func (c *Client) SignalTrust(ctx context.Context, channel, person, safetyNumber string) (t SignalTrusted, err error) {
	ask := named(channel)
	ask.Set("person", person)
	ask.Set("safety_number", safetyNumber)
	err = c.ask(ctx, http.MethodPost, "/v1/signal/trust", ask, &t)
	return t, err
}

func named(channel string) url.Values {
	ask := url.Values{}
	set(ask, "channel", channel)
	return ask
}

var errNoLinkAnswer = errors.New("the gateway ended before the account was linked")

// SignalLink makes the machine of the gateway a further device of a Signal account. show
// gets the line with the address that the telephone has to scan; the last line names the
// account.
func (c *Client) SignalLink(ctx context.Context, channel, device string, show func(SignalLink) error) (SignalLink, error) {
	ask := named(channel)
	ask.Set("device", device)
	u := url.URL{Scheme: "http", Host: "gateway", Path: "/v1/signal/link", RawQuery: ask.Encode()}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return SignalLink{}, fmt.Errorf("ask the gateway: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return SignalLink{}, c.unreachable(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return SignalLink{}, refusal(resp)
	}
	for in := bufio.NewReader(io.LimitReader(resp.Body, mostBody)); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return SignalLink{}, fmt.Errorf("%w: %w", errNoLinkAnswer, err)
		}
		var l SignalLink
		switch err := json.Unmarshal(line, &l); {
		case err != nil:
			return SignalLink{}, fmt.Errorf("read the gateway's answer: %w", err)
		case l.Problem != "":
			return l, &Error{Status: http.StatusUnprocessableEntity, Kind: Refused, Message: l.Problem}
		case l.URI == "":
			return l, nil
		}
		if err := show(l); err != nil {
			return SignalLink{}, err
		}
	}
}
