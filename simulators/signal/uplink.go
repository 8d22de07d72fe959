package signal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// uplink is a daemon's side of the link.
type uplink struct {
	base   string
	client *http.Client
}

func newUplink(base string) *uplink {
	// Nothing of a call stays behind it.
	return &uplink{base: strings.TrimSuffix(base, "/"), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

func (u *uplink) close() { u.client.CloseIdleConnections() }

// life is the connection that says that a daemon lives.
type life struct {
	conn  *lines
	hello welcome
}

// open asks for a connection on which lines go both ways; it is closed when ctx
// ends.
func (u *uplink) open(ctx context.Context, path string, q url.Values) (*lines, error) {
	at, err := url.Parse(u.base)
	if err != nil {
		return nil, fmt.Errorf("connect to the simulated service: %w", err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return nil, fmt.Errorf("connect to the simulated service: %w", err)
	}
	_, err = fmt.Fprintf(conn, "GET %s?%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: lines\r\n\r\n", path, q.Encode(), at.Host)
	r := bufio.NewReader(conn)
	if err == nil {
		err = readUpgrade(r)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return newLines(conn, r), nil
}

func (u *uplink) live(ctx context.Context, o DaemonOptions) (*life, error) {
	c, err := u.open(ctx, "/link/process", url.Values{
		"pid": {strconv.Itoa(os.Getpid())}, "account": {o.Account}, "mode": {o.ReceiveMode}, "trust": {o.Trust},
	})
	if err != nil {
		return nil, err
	}
	l := &life{conn: c}
	if err := c.in.Decode(&l.hello); err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", errLost, err), c.Close())
	}
	return l, nil
}

// call posts a method call. The answer's result is raw JSON.
func (u *uplink) call(ctx context.Context, q callRequest) (result json.RawMessage, refused *rpcError, t Trouble, err error) {
	a := callAnswer{Result: &result}
	res, err := u.ask(ctx, http.MethodPost, "/link/call", bytes.NewReader(mustJSON(q)))
	if err != nil {
		return nil, nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return nil, nil, "", fmt.Errorf("%w: %s: %w", errLink, res.Status, err)
	}
	return result, a.Error, a.Trouble, nil
}

// ask sends a request, whose answer the caller closes.
func (u *uplink) ask(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, u.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the simulated service: %w", err)
	}
	res, err := u.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the simulated service: %w", err)
	}
	return res, nil
}

// trusts asks whether a cached envelope's sender is trusted by now.
func (u *uplink) trusts(ctx context.Context, process int, account, source string) (yes bool, err error) {
	q := url.Values{"process": {strconv.Itoa(process)}, "account": {account}, "source": {source}}
	err = u.get(ctx, "/link/trusts?"+q.Encode(), &yes)
	return yes, err
}

// version asks what the daemons speak.
func (u *uplink) version(ctx context.Context) (v string, err error) {
	err = u.get(ctx, "/link/version", &v)
	return v, err
}

func (u *uplink) get(ctx context.Context, path string, into any) error {
	res, err := u.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s: %w", errLink, res.Status, err)
	}
	return nil
}

// fetch writes an attachment to a new file; a file that exists is left alone.
func (u *uplink) fetch(ctx context.Context, id, path string) (err error) {
	res, err := u.ask(ctx, http.MethodGet, "/link/file/"+url.PathEscape(id), nil)
	if err != nil {
		return fmt.Errorf("download %s: %w", id, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("download %s: %w: %s", id, errLink, res.Status)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("download %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, res.Body); err != nil {
		return fmt.Errorf("download %s: %w", id, err)
	}
	return nil
}
