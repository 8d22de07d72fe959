package admin_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/channels"
	"parley/gateway/admin"
	"parley/runtest"
)

// linkedAs is a linked account that is in one group.
type linkedAs struct {
	channels.LinkedAccount
	group string
}

func (l linkedAs) Groups(context.Context) ([]channels.Group, error) {
	return []channels.Group{{ID: l.group}}, nil
}

// Link shows an address and fails.
func (l linkedAs) Link(_ context.Context, _ string, show func(uri string) error) (string, error) {
	if err := show("sgnl://linkdevice?uuid=1"); err != nil {
		return "", err
	}
	return "", errLink
}

var errLink = errors.New("dial with canary-secret")

// An operator asks of one network, and accounts of another are none of it.
func TestLinkedAccountsAreThoseOfTheirNetwork(t *testing.T) {
	t.Parallel()
	account := func(network, group string) admin.NamedAccount {
		return admin.NamedAccount{LinkedAccount: linkedAs{group: group}, Network: network}
	}
	socket := filepath.Join(t.TempDir(), "admin.sock")
	s, err := admin.New(t.Context(), admin.Options{
		Redact: strings.NewReplacer("canary-secret", "[redacted]").Replace,
		Socket: socket, Now: time.Now, Log: noLog{}, Channels: admin.NewChannels(channels.NopObserver{}, nil, time.Now),
		Linked: func() map[string]admin.NamedAccount {
			return map[string]admin.NamedAccount{"a": account("one", "of a"), "b": account("two", "of b"), "c": account("two", "of c")}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	runtest.Start(t, "the server", func(ctx context.Context) error { return errors.Join(s.Run(ctx), s.Close()) })
	client := admin.NewClient(socket)
	for _, c := range []struct {
		network, channel, group string
		refused                 admin.Kind
		text                    string
	}{
		{"one", "", "of a", "", ""},
		{"two", "c", "of c", "", ""},
		{"two", "", "", admin.Ambiguous, "several accounts in channels.two; name one with --channel: b, c"},
		{"one", "b", "", admin.NotFound, `no account "b" in channels.one; there are: a`},
		{"three", "", "", admin.NotFound, "no account in channels.three of this gateway's configuration"},
	} {
		got, err := client.Linked(c.network, c.channel).Groups(t.Context())
		if e, ok := errors.AsType[*admin.Error](err); (c.refused != "") != ok || ok && (e.Kind != c.refused || e.Message != c.text) || !ok && err != nil {
			t.Errorf("%s, %q: %v", c.network, c.channel, err)
		}
		if c.refused == "" && (len(got.Groups) != 1 || got.Groups[0].ID != c.group) {
			t.Errorf("%s, %q: %+v", c.network, c.channel, got)
		}
	}
	var shown []string
	_, err = client.Linked("one", "a").Link(t.Context(), "laptop", func(l admin.LinkStep) error { shown = append(shown, l.URI); return nil })
	if err == nil || err.Error() != "dial with [redacted]" || len(shown) != 1 {
		t.Errorf("linking shows %q and ends with %v", shown, err)
	}
}
