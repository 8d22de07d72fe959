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
	"parley/channels/internal/markup"
)

// What an operator asks of the account. It goes by way of the signal-cli that runs:
// another one for the same account would wait for its lock for ever
// (SignalAccount.openFileChannel).

var _ channels.LinkedAccount = (*Channel)(nil)

// operator answers what an operator asks of the account.
type operator struct{ *client }

// Groups lists the groups of the account.
func (o *operator) Groups(ctx context.Context) ([]channels.Group, error) {
	rows, err := o.queryGroups(ctx)
	if err != nil {
		return nil, err
	}
	me := o.self()
	out := make([]channels.Group, 0, len(rows))
	for _, g := range rows {
		out = append(out, channels.Group{ID: g.ID, Name: markup.Name(g.Name), Member: g.Member, Invited: g.isInvited(me), Members: len(g.Members)})
	}
	return out, nil
}

// Keys lists the keys of people that signal-cli has seen.
func (o *operator) Keys(ctx context.Context) ([]channels.PeerKey, error) {
	var rows []struct {
		Number       string `json:"number"`
		UUID         string `json:"uuid"`
		SafetyNumber string `json:"safetyNumber"`
		Level        string `json:"trustLevel"`
	}
	if err := o.query(ctx, "listIdentities", nil, &rows); err != nil {
		return nil, err
	}
	me := o.self()
	out := []channels.PeerKey{}
	for _, r := range rows {
		if !me.matches(r.UUID, r.Number) {
			out = append(out, channels.PeerKey{Person: strings.ToLower(aciOf(r.UUID)), Number: numberOf(r.Number), SafetyNumber: markup.Brief(r.SafetyNumber), Trust: markup.Brief(r.Level)})
		}
	}
	return out, nil
}

var errSafetyNumber = errors.New("a safety number is 60 digits, as it stands in Signal and in the list of keys")

// Trust marks the key that a person has now as verified. The operator has compared the safety
// number with that person: 60 digits, spaces between them do not matter. Messages that signal-cli
// kept back because the key was not trusted arrive afterwards.
func (o *operator) Trust(ctx context.Context, person, safetyNumber string) error {
	const op = "trust"
	if err := CheckPerson(strings.ToLower(person)); err != nil {
		return err
	}
	digits := strings.Join(strings.Fields(safetyNumber), "")
	if len(digits) != 60 || strings.Trim(digits, "0123456789") != "" {
		return errSafetyNumber
	}
	if _, err := o.call(ctx, op, o.params(map[string]any{"recipient": strings.ToLower(person), "verifiedSafetyNumber": digits})); err != nil {
		return o.channelError(op, err)
	}
	return nil
}

var (
	errLinked  = errors.New("the account is on this machine already, and its signal-cli runs")
	errNoURI   = errors.New("signal-cli ended before it was linked")
	errNoLink  = errors.New("signal-cli serves a single account and cannot link another; run signal-cli link where it runs, or start it without -a")
	linkPrefix = "sgnl://linkdevice?"
)

// Link makes this machine a further device of an account that is on a telephone. show
// is called with an address, which the telephone has to scan as a QR code within a
// minute or two; then Link gives the account as signal-cli names it. It waits as long
// as ctx. device is how the telephone lists us.
func (o *operator) Link(ctx context.Context, device string, show func(uri string) error) (account string, err error) {
	if o.daemon == nil {
		return o.linkRemote(ctx, device, show)
	}
	if _, err := o.queryVersion(ctx); err == nil {
		return "", errLinked
	}
	said := &tail{log: o.o.Log}
	cmd := exec.CommandContext(ctx, o.o.Command[0], append(slices.Clone(o.o.Command[1:]), "link", "-n", device)...) // the operator's own
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env, cmd.Stderr, cmd.WaitDelay = childEnv(), said, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", fmt.Errorf("link: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", startError(o.o.Command[0], err)
	}
	var shown error
	for in := bufio.NewScanner(out); shown == nil && in.Scan(); {
		line := strings.TrimSpace(in.Text())
		if strings.HasPrefix(line, linkPrefix) {
			if shown = show(line); shown != nil {
				_ = cmd.Process.Signal(syscall.SIGTERM)
			}
		} else if id, ok := strings.CutPrefix(line, "Associated with: "); ok {
			account = markup.Brief(id)
		}
	}
	err = cmd.Wait()
	switch {
	case shown != nil:
		return "", shown
	case ctx.Err() != nil:
		return "", ctx.Err() // the caller's own
	case err != nil:
		return "", fmt.Errorf("%w: %w%s", errNoURI, err, said.lastLines())
	case account == "":
		return "", fmt.Errorf("%w%s", errNoURI, said.lastLines())
	}
	return account, nil
}

// linkRemote has a signal-cli that somebody else runs link another account.
func (o *operator) linkRemote(ctx context.Context, device string, show func(uri string) error) (string, error) {
	raw, err := o.rpc.call(ctx, "startLink", nil)
	var said *rpcError
	if errors.As(err, &said) && said.Code == codeNoMethod {
		return "", errNoLink
	}
	if err != nil {
		return "", o.channelError("startLink", err)
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
	if raw, err = o.rpc.call(ctx, "finishLink", map[string]any{"deviceLinkUri": begun.URI, "deviceName": device}); err != nil {
		return "", o.channelError("finishLink", err)
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
