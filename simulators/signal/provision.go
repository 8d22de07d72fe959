package signal

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"parley/simulators/internal/stage"
)

// provision is a device that wants to be linked: its address is shown as a QR code,
// and the telephone that scans it says of which account it becomes a device.
type provision struct {
	device  string
	account *Account      // set before scanned is closed
	scanned chan struct{} // closed when somebody has
}

var (
	errNoProvision = errors.New("nobody wants to be linked under that address, or they are already")
	errNotLinked   = errors.New("link request error: it was given up")
)

// beginLink gives the address of a new device.
func (s *daemons) beginLink(device string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	uri := fmt.Sprintf("sgnl://linkdevice?uuid=%s&pub_key=Bf%032x", url.QueryEscape(MadeUpACI(int(s.id()))), s.rng.Uint64())
	s.provisions[uri] = &provision{device: device, scanned: make(chan struct{})}
	s.books.Notify()
	return uri
}

// awaitLink waits until the address was scanned.
func (s *daemons) awaitLink(ctx context.Context, uri string) (Account, error) {
	s.mu.Lock()
	p := s.provisions[uri]
	s.mu.Unlock()
	if p == nil {
		return Account{}, errNoProvision
	}
	select {
	case <-p.scanned:
		return *p.account, nil
	case <-ctx.Done():
	case <-s.stop.Done():
	}
	return Account{}, errNotLinked
}

// Linking lists the addresses that wait to be scanned.
func (s *daemons) Linking() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for uri, p := range s.provisions {
		select {
		case <-p.scanned:
		default:
			out = append(out, uri)
		}
	}
	return out
}

// Scan lets the telephone of an account scan the address of a device, which can hold
// the account from then on.
func (s *daemons) Scan(uri, account string) (err error) {
	defer stage.Act(&s.mu, &err, "scan")()
	a, p := s.registered(account), s.provisions[uri]
	if p == nil || p.account != nil {
		panic(stage.Forbid("%w", errNoProvision))
	}
	a.Unlinked = false
	p.account = &a.Account
	close(p.scanned)
	s.books.Notify()
	return nil
}

// startLink and finishLink are the same for a daemon of several accounts; one that
// holds a single account does not know them (man/signal-cli-jsonrpc.5).
func (c *call) startLink() any {
	if !c.process.multi {
		panic(&rpcError{Code: codeNoMethod, Message: textNoMethod})
	}
	return map[string]string{"deviceLinkUri": c.beginLink("")}
}

func (c *call) finishLink() any {
	if !c.process.multi {
		panic(&rpcError{Code: codeNoMethod, Message: textNoMethod})
	}
	a, err := c.awaitLink(c.stop, c.args.text("deviceLinkUri"))
	if err != nil {
		panic(userError("Link request error: " + err.Error()))
	}
	return map[string]any{"number": orNull(a.Number), "aci": a.ACI}
}
