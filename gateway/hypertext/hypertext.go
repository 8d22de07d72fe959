// Package hypertext builds HTML of elements, attributes and texts. Every text and every value is escaped,
// and links lead to the own site: there is nothing that writes a text as it stands, that makes an address
// of one, or a style or an event of an attribute.
//
// Nodes are plain values, and nothing is found by its name at run time: html/template, which does that, has
// the linker keep every method of every type of a program.
package hypertext

import (
	"fmt"
	"html"
	"strings"
)

// Node is an element, an attribute, a text or a group of those. None: nil is written as nothing.
type Node interface {
	// write writes the attributes, or what is no attribute.
	write(b *writer, attributes bool)
}

// Document returns a document: an element with the doctype in front. Its addresses lead below a path,
// which has no slash at its end; empty: the whole site is the document's.
func Document(root Node, below string) string {
	b := writer{below: below}
	b.WriteString("<!doctype html>")
	root.write(&b, false)
	return b.String()
}

// writer takes what is written of a document.
type writer struct {
	strings.Builder

	below string // see [Document]
}

// Text is a text of any content.
func Text(t string) Node { return text(t) }

// Textf is a text by a format of package fmt.
func Textf(format string, values ...any) Node { return text(fmt.Sprintf(format, values...)) }

type text string

func (t text) write(b *writer, attributes bool) {
	if !attributes {
		b.WriteString(html.EscapeString(string(t)))
	}
}

// Group is several nodes in the place of one: attributes of what the group stands in, and what that contains.
type Group []Node

func (g Group) write(b *writer, attributes bool) {
	for _, n := range g {
		if n != nil {
			n.write(b, attributes)
		}
	}
}

// Map returns what show makes of each.
func Map[T any](all []T, show func(T) Node) Group {
	g := make(Group, 0, len(all))
	for _, one := range all {
		g = append(g, show(one))
	}
	return g
}

// If is that node, or nothing.
func If(holds bool, n Node) Node {
	if !holds {
		return nil
	}
	return n
}

// attribute is one of the element that it stands in.
type attribute struct {
	name, value string
	bare        bool // it has no value
	leads       bool // the value is an address
}

func (a attribute) write(b *writer, attributes bool) {
	if !attributes {
		return
	}
	b.WriteByte(' ')
	b.WriteString(a.name)
	if !a.bare {
		b.WriteString(`="`)
		if a.leads && strings.HasPrefix(a.value, "/") {
			b.WriteString(html.EscapeString(b.below))
		}
		b.WriteString(html.EscapeString(a.value))
		b.WriteByte('"')
	}
}

// element is a tag with what stands in it.
type element struct {
	name string
	in   Group
	void bool // it contains nothing and has no end
}

func (e element) write(b *writer, attributes bool) {
	if attributes {
		return
	}
	b.WriteByte('<')
	b.WriteString(e.name)
	e.in.write(b, true)
	b.WriteByte('>')
	if e.void {
		return
	}
	e.in.write(b, false)
	b.WriteString("</")
	b.WriteString(e.name)
	b.WriteByte('>')
}
