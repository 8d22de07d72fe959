package signal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"parley/channels"
)

// What an operator asks of the account. It goes by way of the signal-cli that runs:
// another one for the same account would wait for its lock for ever
// (SignalAccount.openFileChannel).

var _ channels.LinkedAccount = (*Channel)(nil)

// Groups lists the groups of the account.
func (c *Channel) Groups(ctx context.Context) ([]channels.Group, error) {
	rows, err := c.queryGroups(ctx)
	if err != nil {
		return nil, err
	}
	me := c.self()
	out := make([]channels.Group, 0, len(rows))
	for _, g := range rows {
		out = append(out, channels.Group{ID: g.ID, Name: displayName(g.Name), Member: g.Member, Invited: g.isInvited(me), Members: len(g.Members)})
	}
	return out, nil
}

// Keys lists the keys of people that signal-cli has seen.
func (c *Channel) Keys(ctx context.Context) ([]channels.PeerKey, error) {
	var rows []struct {
		Number       string `json:"number"`
		UUID         string `json:"uuid"`
		SafetyNumber string `json:"safetyNumber"`
		Level        string `json:"trustLevel"`
	}
	if err := c.query(ctx, "listIdentities", nil, &rows); err != nil {
		return nil, err
	}
	me := c.self()
	out := []channels.PeerKey{}
	for _, r := range rows {
		if !me.matches(r.UUID, r.Number) {
			out = append(out, channels.PeerKey{Person: strings.ToLower(aciOf(r.UUID)), Number: numberOf(r.Number), SafetyNumber: brief(r.SafetyNumber), Trust: brief(r.Level)})
		}
	}
	return out, nil
}

var errSafetyNumber = errors.New("a safety number is 60 digits, as it stands in Signal and in the list of keys")

// Trust trusts the key that a person has now, whose safety number somebody compared
// with them: 60 digits, spaces between them do not matter. What was kept back of them
// comes then.
func (c *Channel) Trust(ctx context.Context, person, safetyNumber string) error {
	const op = "trust"
	if err := CheckPerson(strings.ToLower(person)); err != nil {
		return err
	}
	digits := strings.Join(strings.Fields(safetyNumber), "")
	if len(digits) != 60 || strings.Trim(digits, "0123456789") != "" {
		return errSafetyNumber
	}
	if _, err := c.call(ctx, op, c.params(map[string]any{"recipient": strings.ToLower(person), "verifiedSafetyNumber": digits})); err != nil {
		return c.channelError(op, err)
	}
	return nil
}

var (
	errLinked  = errors.New("the account is on this machine already, and its signal-cli runs")
	errNoURI   = errors.New("signal-cli ended before it was linked")
	errNoLink  = errors.New("this signal-cli holds a single account and cannot link another; run signal-cli link where it runs, or start it without -a")
	linkPrefix = "sgnl://linkdevice?"
)

// Link makes this machine a further device of an account that is on a telephone. show
// is called with an address, which the telephone has to scan as a QR code within a
// minute or two; then Link gives the account as signal-cli names it. It waits as long
// as ctx. device is how the telephone lists us.
func (c *Channel) Link(ctx context.Context, device string, show func(uri string) error) (account string, err error) {
	if c.daemon == nil {
		return c.linkRemote(ctx, device, show)
	}
	if _, err := c.queryVersion(ctx); err == nil {
		return "", errLinked
	}
	said := &tail{log: c.o.Log}
	cmd := exec.CommandContext(ctx, c.o.Command[0], append(slices.Clone(c.o.Command[1:]), "link", "-n", device)...) //nolint:gosec // the operator's own
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env, cmd.Stderr, cmd.WaitDelay = childEnv(), said, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("link: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", startError(c.o.Command[0], err)
	}
	var shown error
	for in := bufio.NewScanner(out); shown == nil && in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if strings.HasPrefix(line, linkPrefix) {
			if shown = show(line); shown != nil {
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
		} else if id, ok := strings.CutPrefix(line, "Associated with: "); ok {
			account = brief(id)
		}
	}
	err = cmd.Wait()
	switch {
	case shown != nil:
		return "", shown
	case ctx.Err() != nil:
		return "", ctx.Err() //nolint:wrapcheck // the caller's own
	case err != nil:
		return "", fmt.Errorf("%w: %w%s", errNoURI, err, said.lastLines())
	case account == "":
		return "", fmt.Errorf("%w%s", errNoURI, said.lastLines())
	}
	return account, nil
}

// linkRemote has a signal-cli that somebody else runs link another account.
func (c *Channel) linkRemote(ctx context.Context, device string, show func(uri string) error) (string, error) {
	raw, err := c.rpc.call(ctx, "startLink", nil)
	var said *rpcError
	if errors.As(err, &said) && said.Code == codeNoMethod {
		return "", errNoLink
	}
	if err != nil {
		return "", c.channelError("startLink", err)
	}
	var begun struct {
		URI string `json:"deviceLinkUri"`
	}
	if json.Unmarshal(raw, &begun) != nil || !strings.HasPrefix(begun.URI, linkPrefix) {
		return "", errNoURI
	}
	if err := show(begun.URI); err != nil {
		return "", err
	}
	if raw, err = c.rpc.call(ctx, "finishLink", map[string]any{"deviceLinkUri": begun.URI, "deviceName": device}); err != nil {
		return "", c.channelError("finishLink", err)
	}
	var done struct {
		Number string `json:"number"`
		ACI    string `json:"aci"`
	}
	if err := json.Unmarshal(raw, &done); err != nil {
		return "", fmt.Errorf("finishLink: read the answer: %w", err)
	}
	if numberOf(done.Number) != "" {
		return done.Number, nil
	}
	return strings.ToLower(aciOf(done.ACI)), nil
}
