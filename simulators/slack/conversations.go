package slack

import (
	"slices"
	"strings"
)

// history is conversations.history: what is not only in a thread, newest first.
func (c *call) history() any {
	r := c.readableRoom()
	var out []*wireMessage
	for _, ts := range slices.Backward(r.order) {
		m := r.messages[ts].message
		if m.ThreadTS == "" || m.ThreadTS == m.TS || m.Subtype == "thread_broadcast" {
			out = append(out, m)
		}
	}
	return page(c.args, out, 100)
}

// replies is conversations.replies: a thread, oldest first.
func (c *call) replies() any {
	r := c.readableRoom()
	root := r.messages[c.args["ts"]]
	if root == nil {
		panic(refuse("thread_not_found"))
	}
	ts := root.message.TS
	if root.message.ThreadTS != "" {
		ts = root.message.ThreadTS
	}
	var out []*wireMessage
	for _, x := range r.order {
		if m := r.messages[x].message; m.TS == ts || m.ThreadTS == ts {
			out = append(out, m)
		}
	}
	return page(c.args, out, 1000)
}

// readableRoom is the conversation whose messages a call wants to read.
func (c *call) readableRoom() *room {
	r := c.target(false)
	if scope := r.channel.Kind.plural() + ":history"; !c.app.hasScope(scope) {
		panic(&refusal{code: "missing_scope", needed: scope, provided: strings.Join(c.app.Scopes, ",")})
	}
	if !c.isMember(r, c.app) {
		panic(refuse("not_in_channel"))
	}
	return r
}

// page cuts messages to what the call asks for.
func page(args params, ms []*wireMessage, atMost int) any {
	oldest, latest, inclusive := args["oldest"], args["latest"], args.bool("inclusive")
	ms = slices.DeleteFunc(slices.Clone(ms), func(m *wireMessage) bool {
		return oldest != "" && oldest != "0" && !isAfter(m.TS, oldest, inclusive) || latest != "" && !isAfter(latest, m.TS, inclusive)
	})
	limit := args.int("limit", atMost)
	if limit < 1 || limit > 1000 {
		panic(refuse("invalid_limit"))
	}
	if cursor := args["cursor"]; cursor != "" {
		at := slices.IndexFunc(ms, func(m *wireMessage) bool { return "next:"+m.TS == cursor })
		if at < 0 {
			panic(refuse("invalid_cursor"))
		}
		ms = ms[at:]
	}
	out := map[string]any{"has_more": len(ms) > limit, "messages": []any{}}
	if len(ms) > limit {
		out["response_metadata"] = map[string]string{"next_cursor": "next:" + ms[limit].TS}
		ms = ms[:limit]
	}
	shown := make([]*wireMessage, 0, len(ms))
	for _, m := range ms {
		if !args.bool("include_all_metadata") {
			b := *m
			b.Metadata = nil
			m = &b
		}
		shown = append(shown, m)
	}
	out["messages"] = shown
	return out
}

// isAfter reports whether timestamp a is later than b. They have equal shapes, so
// they compare as they read.
func isAfter(a, b string, inclusive bool) bool {
	if len(a) != len(b) && !strings.Contains(b, ".") {
		b += ".000000"
	}
	return a > b || inclusive && a == b
}
