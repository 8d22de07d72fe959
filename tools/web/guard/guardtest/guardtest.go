// Package guardtest has what tests of the guard need in place of the internet: names.
package guardtest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// names is a DNS server in memory.
type names struct {
	mu    sync.Mutex // guards all
	all   map[string][]string
	asked map[string]int
}

// Resolver returns a resolver that knows these names and no others: of each, with a dot at its
// end, the address that it has at the first look-up, at the second, and so on.
func Resolver(all map[string][]string) *net.Resolver {
	n := &names{all: all, asked: map[string]int{}}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe() // no packets, so messages have a length in front
		go n.serve(server)
		return client, nil
	}}
}

func (n *names) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	var size [2]byte
	for {
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, query); err != nil {
			return
		}
		answer, err := n.answer(query)
		if err != nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

func (n *names) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	n.mu.Lock()
	defer n.mu.Unlock()
	name := q.Name.String()
	list, ok := n.all[name]
	if !ok {
		m.RCode = dnsmessage.RCodeNameError
	} else if q.Type == dnsmessage.TypeA {
		a := netip.MustParseAddr(list[min(n.asked[name], len(list)-1)])
		n.asked[name]++
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
			Body:   &dnsmessage.AResource{A: a.As4()},
		}}
	}
	return m.Pack()
}
