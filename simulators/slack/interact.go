package slack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A response URL and a trigger are good for so long and so often.
const (
	answerLife  = 30 * time.Minute
	answerUses  = 5
	triggerLife = 3 * time.Second
)

// answerURL is a response_url, or a trigger, of one command or action.
type answerURL struct {
	app     *app
	room    *room
	user    string
	message string // the message that was acted on
	thread  string
	until   time.Time
	uses    int
}

// Command lets p type a slash command in c, such as /parley help.
func (s *Server) Command(app string, c Channel, p Person, command, text string) (Said, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.app(app)
	switch {
	case a == nil:
		return Said{}, fmt.Errorf("command %s: %w: %q", command, errNoApp, app)
	case !strings.HasPrefix(command, "/"):
		return Said{}, fmt.Errorf("command %q does not begin with a slash", command)
	case len(a.Commands) > 0 && !slices.Contains(a.Commands, command):
		return Said{}, fmt.Errorf("command %q is none of the app's: %s", command, strings.Join(a.Commands, ", "))
	}
	s.people[p.ID] = p
	r := s.open(c, p.ID)
	url := s.answerAt("commands", &answerURL{app: a, room: r, user: p.ID})
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
		"is_enterprise_install": fmt.Sprint(a.OrgWide), "response_url": url, "trigger_id": s.trigger(a),
	}
	if t := s.opts.Team; t.EnterpriseID != "" {
		payload["enterprise_id"], payload["enterprise_name"] = t.EnterpriseID, t.EnterpriseName
	}
	d := &delivery{app: a, envelope: "slash_commands", payload: must(payload)}
	s.enter(d, EventEntry{App: a.Name, Kind: d.envelope, Channel: c.ID, User: p.ID, Text: strings.TrimSpace(command + " " + text), Created: s.opts.Now()})
	s.send(d)
	said := Said{Channel: c.ID, ResponseURL: url}
	said.note(s.newest())
	return said, nil
}

// Press lets p press a button of an app's message, with the button's action id
// and value.
func (s *Server) Press(p Person, channel, ts, actionID, value string) (Said, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, st, err := s.at(channel, ts)
	switch {
	case err != nil:
		return Said{}, fmt.Errorf("press: %w", err)
	case st.author == nil:
		return Said{}, fmt.Errorf("press: %w: %s is no app's", errNoMessage, ts)
	}
	s.people[p.ID] = p
	a := st.author
	blockID := blockOf(st.message.Blocks, actionID)
	url := s.answerAt("actions", &answerURL{app: a, room: r, user: p.ID, message: ts, thread: st.message.ThreadTS})
	payload := map[string]any{
		"type": "block_actions", "api_app_id": a.ID, "token": "verification", "trigger_id": s.trigger(a), "response_url": url,
		"user": map[string]any{"id": p.ID, "username": p.Name, "name": p.Name, "team_id": s.teamOf(p)},
		"team": map[string]any{"id": s.opts.Team.ID, "domain": s.opts.Team.Domain}, "enterprise": s.enterprise(),
		"is_enterprise_install": a.OrgWide, "channel": map[string]any{"id": channel, "name": r.channel.Name},
		"container": map[string]any{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false, "thread_ts": st.message.ThreadTS},
		"message":   st.message.bare(), "state": map[string]any{"values": map[string]any{}},
		"actions": []any{map[string]any{
			"action_id": actionID, "block_id": blockID, "value": value, "type": "button", "action_ts": s.stamp(),
			"text": map[string]any{"type": "plain_text", "text": value, "emoji": true},
		}},
	}
	d := &delivery{app: a, envelope: "interactive", payload: must(payload)}
	s.enter(d, EventEntry{
		App: a.Name, Kind: "block_actions", Channel: channel, TS: ts, ThreadTS: st.message.ThreadTS, User: p.ID, Text: actionID + " " + value, Created: s.opts.Now(),
	})
	s.send(d)
	said := Said{Channel: channel, TS: ts, ResponseURL: url}
	said.note(s.newest())
	return said, nil
}

// blockOf is the id of the block with the action.
func blockOf(blocks json.RawMessage, actionID string) string {
	var list []struct {
		BlockID  string `json:"block_id"`
		Elements []struct {
			ActionID string `json:"action_id"`
		} `json:"elements"`
	}
	_ = json.Unmarshal(blocks, &list) // blocks of another shape have no buttons
	for _, b := range list {
		for _, e := range b.Elements {
			if e.ActionID == actionID {
				return b.BlockID
			}
		}
	}
	return ""
}

func (s *Server) enterprise() any {
	t := s.opts.Team
	if t.EnterpriseID == "" {
		return nil
	}
	return map[string]any{"id": t.EnterpriseID, "name": t.EnterpriseName}
}

// answerAt makes a response URL.
func (s *Server) answerAt(kind string, u *answerURL) string {
	u.until = s.opts.Now().Add(answerLife)
	path := fmt.Sprintf("/%s/%s/%d/%s", kind, s.opts.Team.ID, s.rng.Uint64(), s.makeID(""))
	s.answers[path] = u
	return s.URL() + path
}

// trigger makes what opens a view.
func (s *Server) trigger(a *app) string {
	id := fmt.Sprintf("%d.%d.%08x", s.rng.Uint32(), s.rng.Uint32(), s.rng.Uint32())
	s.answers[id] = &answerURL{app: a, until: s.opts.Now().Add(triggerLife)}
	return id
}

// spend uses a trigger up.
func (s *Server) spend(a *app, id string) bool {
	u := s.answers[id]
	delete(s.answers, id)
	return u != nil && u.app == a && u.room == nil && u.until.After(s.opts.Now())
}

// answer is what an app says to a command or an action.
type answer struct {
	Text            string          `json:"text"`
	Blocks          json.RawMessage `json:"blocks"`
	ResponseType    string          `json:"response_type"`
	ReplaceOriginal bool            `json:"replace_original"`
	DeleteOriginal  bool            `json:"delete_original"`
	ThreadTS        string          `json:"thread_ts"`
}

// answered takes the payload of an acknowledgement.
func (s *Server) answered(d *delivery, payload json.RawMessage, process string) {
	var a answer
	if d.envelope == "events_api" || json.Unmarshal(payload, &a) != nil || a.Text == "" && len(a.Blocks) == 0 {
		return
	}
	if r := s.rooms[d.entry.Channel]; r != nil {
		c := &call{app: d.app, method: "acknowledgement", process: process, args: params{}}
		s.say(c, &answerURL{app: d.app, room: r, user: d.entry.User, message: d.entry.TS, thread: d.entry.ThreadTS}, a)
	}
}

// say shows an answer: to one person, or to all.
func (s *Server) say(c *call, u *answerURL, a answer) *refusal {
	c.args["text"], c.args["blocks"], c.args["thread_ts"] = a.Text, string(a.Blocks), a.ThreadTS
	st := u.room.messages[u.message]
	if a.DeleteOriginal && st != nil {
		s.erase(u.room, st)
		return nil
	}
	p, refused := readPost(c, 0)
	if refused != nil {
		return refused
	}
	switch {
	case a.ReplaceOriginal && st != nil:
		s.rewrite(c, u.room, st, p)
	case a.ResponseType == "in_channel":
		m, refused := s.compose(c, u.room, p)
		if refused != nil {
			return refused
		}
		s.put(c, u.room, m, p, nil)
	default:
		s.whisper(c, u.room, u.user, s.stamp(), a.ThreadTS, p)
	}
	return nil
}

// serveAnswerURL takes what an app posts to a response_url.
func (s *Server) serveAnswerURL(w http.ResponseWriter, r *http.Request, path, process string) {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return
	}
	var a answer
	bad := json.Unmarshal(raw, &a) != nil
	c := &call{method: "response_url", process: process, remote: r.RemoteAddr, began: s.opts.Now(), args: params{}}
	refused := func() *refusal {
		s.mu.Lock()
		defer s.mu.Unlock()
		u := s.answers[path]
		switch {
		case u == nil || !u.until.After(s.opts.Now()):
			return &refusal{status: http.StatusNotFound, code: "expired_url"}
		case u.uses >= answerUses:
			return &refusal{status: http.StatusNotFound, code: "used_url"}
		case bad:
			return &refusal{status: http.StatusBadRequest, code: "invalid_payload"}
		}
		u.uses++
		c.app, c.args["channel"] = u.app, u.room.channel.ID
		return s.say(c, u, a)
	}()
	if refused != nil {
		s.finish(c, refused.httpStatus(), refused)
		refused.write(w)
		return
	}
	s.finish(c, http.StatusOK, nil)
	_, _ = w.Write([]byte("ok"))
}
