package telegram

import "context"

type wireFullChat struct {
	wireChat
	AccentColorID     int             `json:"accent_color_id"`
	MaxReactionCount  int             `json:"max_reaction_count"`
	AcceptedGiftTypes map[string]bool `json:"accepted_gift_types"`
	// AvailableReactions is left out where all are allowed.
	AvailableReactions *[]wireReaction `json:"available_reactions,omitempty"`
}

func (s *Server) getChat(_ context.Context, c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c)
	if refused != nil {
		return nil, refused
	}
	gifts := map[string]bool{}
	for _, k := range []string{"unlimited_gifts", "limited_gifts", "unique_gifts", "premium_subscription"} {
		gifts[k] = false
	}
	full := wireFullChat{wireChat: r.wire, MaxReactionCount: 11, AcceptedGiftTypes: gifts}
	if r.reactions != nil {
		all := []wireReaction{}
		for _, e := range r.reactions {
			all = append(all, wireReaction{Type: "emoji", Emoji: e})
		}
		full.AvailableReactions = &all
	}
	return full, nil
}

func (s *Server) getChatMember(_ context.Context, c *call) (any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, refused := s.target(c)
	if refused != nil {
		return nil, refused
	}
	id := c.args.number("user_id")
	for _, a := range s.accounts {
		if a.bot.ID == id {
			return a.member(r), nil
		}
	}
	p, ok := s.people[id]
	if !ok {
		return nil, badRequest("user not found")
	}
	return wireMember{User: p.wire(), Status: "member"}, nil
}

// member is the bot's own standing in a chat.
func (a *account) member(r *room) wireMember {
	status := r.standing[a.bot.ID]
	if status == "" {
		status = "member"
	}
	m := wireMember{User: a.self, Status: status}
	switch status {
	case "kicked":
		m.UntilDate = new(int64)
	case "restricted":
		yes, no := true, false
		m.UntilDate, m.IsMember, m.CanSend = new(int64), &yes, &no
	}
	return m
}
