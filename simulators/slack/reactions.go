package slack

import (
	"slices"
	"strings"
)

// standardEmoji are some of the emoji that every workspace has, by name.
var standardEmoji = strings.Fields(`+1 -1 eyes white_check_mark heavy_check_mark x warning hourglass hourglass_flowing_sand
	hammer_and_wrench thinking_face speech_balloon tada heart fire rocket robot_face ok_hand raised_hands wave 100 bulb
	zap see_no_evil question exclamation`)

// errors as of https://docs.slack.dev/reference/methods/reactions.add and
// https://docs.slack.dev/reference/methods/reactions.remove, whose rates are those of
// tier 3 and of tier 2.
func (c *call) reaction(remove bool) any {
	name, at := strings.Trim(c.args["name"], ":"), c.args["timestamp"]
	switch {
	case at == "":
		panic(refuse("no_item_specified"))
	case !stampShape.MatchString(at):
		panic(refuse("bad_timestamp"))
	case !slices.Contains(standardEmoji, name):
		panic(refuse("invalid_name"))
	}
	r := c.target(true)
	st := r.messages[at]
	if st == nil {
		panic(refuse("message_not_found"))
	}
	kind, code := "reaction", "already_reacted"
	if remove {
		kind, code = "unreaction", "no_reaction"
	}
	if !st.react(name, c.app.UserID, remove) {
		panic(refuse(code))
	}
	c.ts = st.message.TS
	c.signal(SignalEntry{
		App: c.app.Name, Kind: kind, Channel: r.channel.ID, ThreadTS: st.message.ThreadTS, TS: st.message.TS, Text: name,
	})
	c.publishReaction(r, st, c.app.UserID, name, remove)
	return nil
}
