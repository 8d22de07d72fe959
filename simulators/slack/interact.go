package slack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/simulators/internal/stage"
)

// Command lets p type a slash command in c, such as /parley help.
func (s *people) Command(app string, c Channel, p Person, command, text string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "command %s", command)()
	a := s.installed(app)
	switch {
	case !strings.HasPrefix(command, "/"):
		panic(stage.Forbid("%q does not begin with a slash", command))
	case len(a.Commands) > 0 && !slices.Contains(a.Commands, command):
		panic(stage.Forbid("%q is none of the app's: %s", command, strings.Join(a.Commands, ", ")))
	}
	s.known[p.ID] = p
	r := s.enter(c)
	r.people[p.ID] = true
	url := s.answerAt("commands", nil)
	name := r.channel.Name
	switch c.Kind {
	case IM:
		name = "directmessage"
	case Private:
		name = "privategroup"
	}
	payload := map[string]string{
		"token": "verification", "team_id": s.opts.Team.ID, "team_domain": s.opts.Team.Domain, "channel_id": c.ID, "channel_name": name,
		"user_id": p.ID, "user_name": p.Name, "command": command, "text": text, "api_app_id": a.ID,
		"is_enterprise_install": fmt.Sprint(a.OrgWide), "response_url": url, "trigger_id": s.trigger(),
	}
	if t := s.opts.Team; t.EnterpriseID != "" {
		payload["enterprise_id"], payload["enterprise_name"] = t.EnterpriseID, t.EnterpriseName
	}
	d := &delivery{app: a, envelope: "slash_commands", payload: mustJSON(payload)}
	s.record(d, EventEntry{App: a.Name, Kind: d.envelope, Channel: c.ID, User: p.ID, Text: strings.TrimSpace(command + " " + text), Created: s.opts.Now()})
	s.send(d)
	said = ActionResult{Channel: c.ID}
	said.note(d.entry)
	return said, nil
}

// Press lets p press a button of an app's message, with the button's action id
// and value. What one person sees nobody else presses, and Slack sends no copy of it along.
func (s *people) Press(p Person, channel, ts, actionID, value string) (said ActionResult, err error) {
	defer stage.Act(&s.mu, &err, "press")()
	r, st := s.findShown(channel, ts)
	private := st.entry != nil && st.entry.Ephemeral != ""
	switch {
	case st.author == nil:
		panic(stage.Forbid("%w: %s is no app's", errNoMessage, ts))
	case private && st.entry.Ephemeral != p.ID:
		panic(stage.Forbid("%w: %s does not see %s", errNoMessage, p.ID, ts))
	case private && st.entry.Unseen:
		panic(stage.Forbid("%w: %s is in a thread that nobody sees", errNoMessage, ts))
	}
	s.known[p.ID], r.people[p.ID] = p, true
	a := st.author
	blockID, label := buttonOf(st.message.Blocks, actionID)
	url := s.answerAt("actions", st)
	payload := map[string]any{
		"type": "block_actions", "api_app_id": a.ID, "token": "verification", "trigger_id": s.trigger(), "response_url": url,
		"user": map[string]any{"id": p.ID, "username": p.Name, "name": p.Name, "team_id": s.teamOf(p)},
		"team": map[string]any{"id": s.opts.Team.ID, "domain": s.opts.Team.Domain}, "enterprise": s.enterprise(),
		"is_enterprise_install": a.OrgWide, "channel": map[string]any{"id": channel, "name": r.channel.Name},
		"container": map[string]any{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": private, "thread_ts": st.message.ThreadTS},
		"message":   st.message.bare(), "state": map[string]any{"values": map[string]any{}},
		"actions": []any{map[string]any{
			"action_id": actionID, "block_id": blockID, "value": value, "type": "button", "action_ts": s.stamp(),
			"text": map[string]any{"type": "plain_text", "text": cmp.Or(label, value), "emoji": true},
		}},
	}
	if private {
		delete(payload, "message")
	}
	d := &delivery{app: a, envelope: "interactive", payload: mustJSON(payload)}
	s.record(d, EventEntry{
		App: a.Name, Kind: "block_actions", Channel: channel, TS: ts, ThreadTS: st.message.ThreadTS, User: p.ID, Text: actionID + " " + value, Created: s.opts.Now(),
	})
	s.send(d)
	said = ActionResult{Channel: channel, TS: ts}
	said.note(d.entry)
	return said, nil
}

// buttonOf returns the id of the block with the action, and what its button shows.
func buttonOf(blocks json.RawMessage, actionID string) (blockID, label string) {
	var list []struct {
		BlockID  string `json:"block_id"`
		Elements []struct {
			ActionID string `json:"action_id"`
			Text     struct {
				Text string `json:"text"`
			} `json:"text"`
		} `json:"elements"`
	}
	_ = json.Unmarshal(blocks, &list) // blocks of another shape have no buttons
	for _, b := range list {
		for _, e := range b.Elements {
			if e.ActionID == actionID {
				return b.BlockID, e.Text.Text
			}
		}
	}
	return "", ""
}

func (s *people) enterprise() any {
	t := s.opts.Team
	if t.EnterpriseID == "" {
		return nil
	}
	return map[string]any{"id": t.EnterpriseID, "name": t.EnterpriseName}
}

// trigger makes what would open a view.
func (s *people) trigger() string {
	return fmt.Sprintf("%d.%d.%08x", s.rng.Uint32(), s.rng.Uint32(), s.rng.Uint32())
}
