package outlet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"parley/tools/web/guard"
)

var errAddress = errors.New("it asks for no host and port")

// errOver ends what begins when the program has ended.
var errOver = errors.New("the program has ended")

// refusal is a destination that a program asked for and was not given.
type refusal struct {
	to  string // as host:port
	why string // a sentence for whoever runs the program
}

func (r *refusal) Error() string { return r.why }

// maxShown is how many hosts of a list a sentence names.
const maxShown = 12

// display returns the hosts of a list, as a sentence names them.
func display(hosts []string) string {
	text := strings.Join(hosts[:min(len(hosts), maxShown)], ", ")
	if more := len(hosts) - maxShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// dial connects to a destination of the list, as the DialContext of an http.Transport.
func (o *Outlet) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := split(address)
	if err != nil {
		return nil, err
	}
	to := net.JoinHostPort(host, strconv.Itoa(int(port)))
	if !slices.ContainsFunc(o.hosts, func(d guard.Destination) bool { return d.Matches(host, port) }) {
		return nil, o.refuse(to, fmt.Sprintf("%s is out of reach: this program may connect to %s only. Do without, or tell the person that parley's operator would have to add the host under network", to, display(o.listed)))
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	c, err := o.guard.Dial(ctx, "tcp", to)
	if errors.Is(err, guard.ErrRefused) {
		return nil, o.refuse(to, to+" is out of reach: its address is not one of the public internet. Do without, or tell the person that parley's operator would have to open its network under allow_private")
	}
	if err != nil {
		return nil, err // explain says it
	}
	b := newBounded(c, o.forget)
	if !o.keep(b) {
		_ = b.Close()
		return nil, errOver
	}
	return b, nil
}

// refuse remembers a refusal, if there is room, and says it in the log once.
func (o *Outlet) refuse(to, why string) *refusal {
	r := refusal{to, why}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.refusals) < maxRefusals && !slices.Contains(o.refusals, r) {
		o.refusals = append(o.refusals, r)
		o.log.Info("host refused to a program", "host", to)
	}
	return &r
}

// Report says which destinations the program was refused, each on a line; empty: none. Many
// programs do not show what a proxy answers.
func (o *Outlet) Report() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var b strings.Builder
	for _, r := range o.refusals {
		b.WriteString("parley: " + r.why + ".\n")
	}
	return b.String()
}

// explain returns the status and the sentence with which a request for a host is answered.
func explain(address string, err error) (status int, text string) {
	to := "what was asked for"
	if host, port, bad := split(withPort(address)); bad == nil {
		to = net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return http.StatusForbidden, r.why
	}
	if errors.Is(err, errAddress) {
		return http.StatusBadRequest, "a host and its port belong behind CONNECT, as example.org:443"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return http.StatusGatewayTimeout, to + " does not answer in time"
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		if unknown.IsNotFound {
			return http.StatusBadGateway, to + " cannot be reached: there is no host of that name"
		}
		return http.StatusBadGateway, to + " cannot be reached: its name cannot be looked up now"
	}
	return http.StatusBadGateway, to + " cannot be reached: it does not take the connection, or breaks it off"
}

// withPort returns the address of a URL's host, which may have no port.
func withPort(host string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), "80")
}
