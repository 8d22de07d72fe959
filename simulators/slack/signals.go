package slack

import (
	"encoding/json"
	"strings"
)

// signal books and shows something that is not a message. The caller holds the
// lock.
func (w *world) signal(e SignalEntry) {
	e.At = w.opts.Now()
	w.books.signals.Add(e)
	w.show(Happening{Kind: e.Kind, App: e.App, Channel: e.Channel, ThreadTS: e.ThreadTS, TS: e.TS, Text: e.Text, At: e.At})
	w.books.Notify()
}

func (c *call) setStatus() any {
	r := c.target(true)
	switch {
	case !stampShape.MatchString(c.args["thread_ts"]):
		panic(refuse("invalid_thread_ts"))
	}
	var loading []string
	if raw := c.args["loading_messages"]; raw != "" && json.Unmarshal([]byte(raw), &loading) != nil {
		loading = strings.Split(raw, ",")
	}
	if len(loading) > 10 {
		panic(refuse("invalid_arguments", "[ERROR] no more than 10 items allowed [json-pointer:/loading_messages]"))
	}
	// Apps that have not changed over to sessions have them all the same.
	state := processing
	if c.args["status"] == "" {
		state = active
	}
	c.session(c.app, r, c.args["thread_ts"], state)
	c.signal(SignalEntry{
		App: c.app.Name, Kind: "status", Channel: r.channel.ID, ThreadTS: c.args["thread_ts"], Text: c.args["status"],
	})
	return nil
}

func (c *call) setPrompts() any {
	var prompts []struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	}
	if json.Unmarshal([]byte(c.args["prompts"]), &prompts) != nil {
		panic(refuse("invalid_arguments"))
	}
	for _, p := range prompts {
		if p.Title == "" || p.Message == "" {
			panic(refuse("invalid_arguments", "[ERROR] missing required field: message [json-pointer:/prompts]"))
		}
	}
	if !c.app.AgentView && c.args["thread_ts"] == "" {
		panic(refuse("not_agent_app"))
	}
	if c.app.AgentView {
		r := c.target(true)
		if c.args["thread_ts"] == "" { // with a thread it silently fails
			c.signal(SignalEntry{App: c.app.Name, Kind: "prompts", Channel: r.channel.ID, Payload: mustJSON(prompts)})
		}
		return nil
	}
	r := c.target(true)
	root := r.messages[c.args["thread_ts"]]
	switch {
	case !stampShape.MatchString(c.args["thread_ts"]):
		panic(refuse("invalid_thread_ts"))
	case root == nil || r.channel.Kind != IM:
		panic(refuse("channel_not_found"))
	}
	c.signal(SignalEntry{
		App: c.app.Name, Kind: "prompts", Channel: r.channel.ID, ThreadTS: root.message.TS, Text: c.args["title"], Payload: mustJSON(prompts),
	})
	return nil
}
