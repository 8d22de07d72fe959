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

	"parley/channels"
)

// Group is a group that an account is in or invited to.
type Group struct {
	channels.Group

	Listed bool `json:"listed"` // it is in access.groups
}

// Groups are those of one account.
type Groups struct {
	Channel string  `json:"channel"`
	Groups  []Group `json:"groups"`
}

// PeerKeys are those that one account has seen.
type PeerKeys struct {
	Channel string             `json:"channel"`
	Keys    []channels.PeerKey `json:"keys"`
}

// TrustedKey describes whose key is trusted now.
type TrustedKey struct {
	Channel string `json:"channel"`
	Person  string `json:"person"`
}

// LinkStep is a line of the answer while a device is linked: first the address, then
// the account, or what went wrong.
type LinkStep struct {
	Channel string `json:"channel,omitempty"`
	URI     string `json:"uri,omitempty"`
	Account string `json:"account,omitempty"`
	// Configured is the account of the channel's configuration.
	Configured string `json:"configured,omitempty"`
	Problem    string `json:"problem,omitempty"`
}

// NamedAccount is a LinkedAccount and what is configured of it.
type NamedAccount struct {
	channels.LinkedAccount

	Network string
	Account string
	Listed  []string // access.groups
}

// findLinked finds the account that a question is about: the one on the network that is
// named, or the only one there.
func (l linkedDesk) findLinked(r *http.Request) (string, NamedAccount, error) {
	network, name := r.PathValue("network"), r.URL.Query().Get("channel")
	linked := map[string]NamedAccount{}
	if l.o.Linked != nil {
		linked = l.o.Linked()
	}
	var names []string
	for _, n := range slices.Sorted(maps.Keys(linked)) {
		if linked[n].Network == network {
			names = append(names, n)
		}
	}
	switch {
	case slices.Contains(names, name):
		return name, linked[name], nil
	case len(names) == 0:
		return "", NamedAccount{}, newError(NotFound, "no account in channels.%s of this gateway's configuration", network)
	case name != "":
		return "", NamedAccount{}, newError(NotFound, "no account %q in channels.%s; there are: %s", name, network, strings.Join(names, ", "))
	case len(names) > 1:
		return "", NamedAccount{}, newError(Ambiguous, "several accounts in channels.%s; name one with --channel: %s", network, strings.Join(names, ", "))
	}
	return names[0], linked[names[0]], nil
}

func (l linkedDesk) groups(r *http.Request) (any, error) {
	name, a, err := l.findLinked(r)
	if err != nil {
		return nil, err
	}
	groups, err := a.Groups(r.Context())
	all := make([]Group, len(groups))
	for i, g := range groups {
		all[i] = Group{Group: g, Listed: slices.Contains(a.Listed, g.ID)}
	}
	return Groups{Channel: name, Groups: all}, err
}

func (l linkedDesk) peerKeys(r *http.Request) (any, error) {
	name, a, err := l.findLinked(r)
	if err != nil {
		return nil, err
	}
	keys, err := a.Keys(r.Context())
	return PeerKeys{Channel: name, Keys: keys}, err
}

func (l linkedDesk) trust(r *http.Request) (any, error) {
	name, a, err := l.findLinked(r)
	if err != nil {
		return nil, err
	}
	person := r.URL.Query().Get("person")
	if err := a.Trust(r.Context(), person, r.URL.Query().Get("safety_number")); err != nil {
		return nil, newError(Refused, "the key of %s is not trusted: %v", person, err)
	}
	l.o.Logger.Info("identity key trusted by operator", "channel", name, "person", person)
	return TrustedKey{Channel: name, Person: person}, nil
}

// link answers line by line, since a telephone must scan the first before there is
// a second.
func (s *Server) link(w http.ResponseWriter, r *http.Request) {
	name, a, err := linkedDesk{s.o}.findLinked(r)
	if err != nil {
		s.respond(w, r, nil, err)
		return
	}
	out := &untimedWriter{w: w, control: http.NewResponseController(w)}
	say := func(l LinkStep) error {
		l.Channel, l.Configured = name, a.Account
		if err := json.NewEncoder(out).Encode(l); err != nil {
			return fmt.Errorf("answer the operator: %w", err)
		}
		return out.control.Flush() // the operator has gone
	}
	// The request is read; a telephone takes longer than that may.
	if err := out.control.SetReadDeadline(time.Time{}); err != nil {
		s.respond(w, r, nil, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
	defer cancel()
	account, err := a.Link(ctx, r.URL.Query().Get("device"), func(uri string) error { return say(LinkStep{URI: uri}) })
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = say(LinkStep{Problem: "the code was not scanned in time"})
	case err != nil && !out.begun:
		s.respond(w, r, nil, newError(Refused, "%v", err))
		return
	case err != nil:
		err = say(LinkStep{Problem: s.o.Redact(err.Error())})
	default:
		s.o.Logger.Info("device linked to account", "network", a.Network, "channel", name, "account", account)
		err = say(LinkStep{Account: account})
	}
	if err != nil {
		s.o.Logger.Debug("device linking failed", "network", a.Network, "error", err)
	}
}

// Groups lists the groups that the account is in or invited to.
func (c LinkedClient) Groups(ctx context.Context) (Groups, error) {
	return askFor[Groups](ctx, c.connection, http.MethodGet, linkedPath(c.network, "groups"), c.query())
}

// PeerKeys lists the keys that the account has seen.
func (c LinkedClient) PeerKeys(ctx context.Context) (PeerKeys, error) {
	return askFor[PeerKeys](ctx, c.connection, http.MethodGet, linkedPath(c.network, "keys"), c.query())
}

// Trust trusts the key that a person has now, by the safety number that was compared
// with them.
func (c LinkedClient) Trust(ctx context.Context, person, safetyNumber string) (TrustedKey, error) {
	ask := c.query()
	ask.Set("person", person)
	ask.Set("safety_number", safetyNumber)
	return askFor[TrustedKey](ctx, c.connection, http.MethodPost, linkedPath(c.network, "trust"), ask)
}

// linkedPath returns where something is asked of the linked accounts on a network.
func linkedPath(network, what string) string { return "/v1/networks/" + network + "/" + what }

func (c LinkedClient) query() url.Values { return dropEmpty(url.Values{"channel": {c.channel}}) }

var errNoLinkAnswer = errors.New("the gateway ended before the account was linked")

// Link makes the machine of the gateway a further device of an account. show gets the
// line with the address that the telephone has to scan; the last line names the account.
func (c LinkedClient) Link(ctx context.Context, device string, show func(LinkStep) error) (LinkStep, error) {
	ask := c.query()
	ask.Set("device", device)
	resp, err := c.open(ctx, http.MethodPost, linkedPath(c.network, "link"), ask, nil)
	if err != nil {
		return LinkStep{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	for in := bufio.NewReader(io.LimitReader(resp.Body, maxBody)); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return LinkStep{}, fmt.Errorf("%w: %w", errNoLinkAnswer, err)
		}
		var l LinkStep
		switch err := json.Unmarshal(line, &l); {
		case err != nil:
			return LinkStep{}, fmt.Errorf("read the gateway's answer: %w", err)
		case l.Problem != "":
			return l, &Error{Status: http.StatusUnprocessableEntity, Kind: Refused, Message: l.Problem}
		case l.URI == "":
			return l, nil
		}
		if err := show(l); err != nil {
			return LinkStep{}, err
		}
	}
}
