package slack

import (
	"slices"
	"strings"
)

// history is conversations.history: what is not only in a thread, newest first.
func (s *Server) history(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.readable(c)
	if refused != nil {
		return nil, refused
	}
	var out []*wireMessage
	for _, ts := range slices.Backward(r.order) {
		m := r.messages[ts].message
		if m.ThreadTS == "" || m.ThreadTS == m.TS || m.Subtype == "thread_broadcast" {
			out = append(out, m)
		}
	}
	return s.page(c, out, 100)
}

// replies is conversations.replies: a thread, oldest first.
func (s *Server) replies(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.readable(c)
	if refused != nil {
		return nil, refused
	}
	root := r.messages[c.args["ts"]]
	if root == nil {
		return nil, refuse("thread_not_found")
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
	return s.page(c, out, 1000)
}

// readable is the conversation whose messages a call wants to read.
func (s *Server) readable(c *call) (*room, *refusal) {
	r, refused := s.target(c, false)
	if refused != nil {
		return nil, refused
	}
	if scope := r.channel.Kind.plural() + ":history"; !c.app.may(scope) {
		return nil, &refusal{code: "missing_scope", needed: scope, provided: strings.Join(c.app.Scopes, ",")}
	}
	if !s.present(r, c.app) {
		return nil, refuse("not_in_channel")
	}
	return r, nil
}

// page cuts messages to what the call asks for.
func (s *Server) page(c *call, ms []*wireMessage, most int) (any, *refusal) {
	oldest, latest, inclusive := c.args["oldest"], c.args["latest"], c.args.bool("inclusive")
	ms = slices.DeleteFunc(slices.Clone(ms), func(m *wireMessage) bool {
		return oldest != "" && oldest != "0" && !after(m.TS, oldest, inclusive) || latest != "" && !after(latest, m.TS, inclusive)
	})
	limit := c.args.int("limit", most)
	if limit < 1 || limit > 1000 {
		return nil, refuse("invalid_limit")
	}
	if cursor := c.args["cursor"]; cursor != "" {
		at := slices.IndexFunc(ms, func(m *wireMessage) bool { return "next:"+m.TS == cursor })
		if at < 0 {
			return nil, refuse("invalid_cursor")
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
		if !c.args.bool("include_all_metadata") {
			b := *m
			b.Metadata = nil
			m = &b
		}
		shown = append(shown, m)
	}
	out["messages"] = shown
	return out, nil
}

// after tells whether timestamp a is later than b. They have equal shapes, so
// they compare as they read.
func after(a, b string, inclusive bool) bool {
	if len(a) != len(b) && !strings.Contains(b, ".") {
		b += ".000000"
	}
	return a > b || inclusive && a == b
}

func (s *Server) conversation(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, false)
	if refused != nil {
		return nil, refused
	}
	return map[string]any{"channel": s.describe(r, c.app)}, nil
}

// describe is a conversation as the Web API shows it.
func (s *Server) describe(r *room, a *app) map[string]any {
	ch := r.channel
	created, _, _ := strings.Cut(s.firstStamp(r), ".")
	out := map[string]any{
		"id": ch.ID, "created": number(created), "is_archived": r.archived, "is_org_shared": ch.OrgShared,
		"is_im": ch.Kind == IM, "is_mpim": ch.Kind == Group, "context_team_id": s.opts.Team.ID, "updated": number(created) * 1000,
	}
	if ch.Kind == IM {
		out["user"], out["is_user_deleted"], out["is_open"], out["priority"] = r.person, false, true, 0
		return out
	}
	for k, v := range map[string]any{
		"name": ch.Name, "name_normalized": ch.Name, "is_channel": ch.Kind == Public, "is_group": ch.Kind == Private,
		"is_private": ch.Kind != Public, "is_general": false, "unlinked": 0, "is_shared": ch.External || ch.OrgShared,
		"is_ext_shared": ch.External, "is_pending_ext_shared": false, "pending_shared": []string{}, "is_member": s.present(r, a),
		"creator": "U0ADMIN", "topic": note(), "purpose": note(), "previous_names": []string{}, "num_members": len(s.people) + len(s.apps),
	} {
		out[k] = v
	}
	return out
}

func note() map[string]any { return map[string]any{"value": "", "creator": "", "last_set": 0} }

func (s *Server) firstStamp(r *room) string {
	if len(r.order) > 0 {
		return r.order[0]
	}
	return unix(s.opts.Now())
}

func number(text string) int64 {
	var n int64
	for _, d := range text {
		n = n*10 + int64(d-'0')
	}
	return n
}

func (s *Server) openDM(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.args["channel"] != "" {
		r, refused := s.target(c, false)
		if refused != nil {
			return nil, refused
		}
		return map[string]any{"channel": map[string]any{"id": r.channel.ID}, "no_op": true, "already_open": true}, nil
	}
	users := strings.FieldsFunc(c.args["users"], func(x rune) bool { return x == ',' || x == ' ' })
	switch {
	case len(users) == 0:
		return nil, refuse("users_list_not_supplied")
	case len(users) > 8:
		return nil, refuse("too_many_users")
	}
	for _, u := range users {
		if !s.knows(u) {
			return nil, refuse("user_not_found")
		}
	}
	var r *room
	if len(users) == 1 {
		r = s.dm(users[0], c.app)
	} else {
		slices.Sort(users)
		r = s.open(Channel{ID: "G" + strings.Join(users, ""), Kind: Group, Name: "mpdm-" + strings.ToLower(strings.Join(users, "--")) + "-1"}, "")
	}
	if c.args.bool("return_im") {
		return map[string]any{"channel": s.describe(r, c.app)}, nil
	}
	return map[string]any{"channel": map[string]any{"id": r.channel.ID}}, nil
}

func (s *Server) join(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, false)
	if refused != nil {
		return nil, refused
	}
	switch {
	case r.channel.Kind != Public:
		return nil, refuse("method_not_supported_for_channel_type")
	case r.archived:
		return nil, refuse("is_archived")
	}
	out := map[string]any{}
	if s.present(r, c.app) {
		out["warning"] = "already_in_channel"
		out["response_metadata"] = map[string]any{"warnings": []string{"already_in_channel"}}
	} else {
		delete(r.absent, c.app.Name)
		s.joined(r, c.app.UserID, "member_joined_channel")
	}
	out["channel"] = s.describe(r, c.app)
	return out, nil
}

func (s *Server) members(c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c, false)
	if refused != nil {
		return nil, refused
	}
	var out []string
	for _, st := range r.messages {
		if u := st.message.User; u != "" && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	for _, a := range s.apps {
		if s.present(r, a) && !slices.Contains(out, a.UserID) {
			out = append(out, a.UserID)
		}
	}
	slices.Sort(out)
	return map[string]any{"members": out, "response_metadata": map[string]string{"next_cursor": ""}}, nil
}
