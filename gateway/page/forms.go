package page

import (
	"crypto/rand"

	h "parley/gateway/hypertext"
)

// Form is a form that sends its fields by POST, with the token of the log-in.
func (f Frame) Form(to h.Address, class string, children ...h.Node) h.Node {
	return h.Form(h.Method("post"), h.Action(to), h.If(class != "", h.Class(class)), Hidden("token", f.Token), h.Group(children))
}

// Act is a form that acts: one that is sent twice acts once.
func (f Frame) Act(to h.Address, class string, children ...h.Node) h.Node {
	return f.Form(to, class, Hidden("once", rand.Text()), h.Group(children))
}

// Ask is a form that shows another page, and changes nothing.
func Ask(to h.Address, class string, children ...h.Node) h.Node {
	return h.Form(h.Method("get"), h.Action(to), h.Class(class), h.Group(children))
}

// Hidden is a field of a form that nobody sees.
func Hidden(name, value string) h.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}
