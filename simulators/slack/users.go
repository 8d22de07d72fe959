package slack

import "cmp"

func (c *call) user() any {
	id := c.args["user"]
	if p, ok := c.known[id]; ok {
		return map[string]any{"user": c.profile(p)}
	}
	for _, a := range c.apps {
		if a.UserID == id {
			u := c.profile(Person{ID: id, Name: a.Name, IsBot: true})
			u["profile"].(map[string]any)["bot_id"] = a.BotID
			u["profile"].(map[string]any)["api_app_id"] = a.ID
			return map[string]any{"user": u}
		}
	}
	panic(refuse("user_not_found"))
}

// profile is a person as users.info shows them.
func (s *people) profile(p Person) map[string]any {
	name := cmp.Or(p.RealName, p.Name)
	out := map[string]any{
		"id": p.ID, "team_id": s.teamOf(p), "name": p.Name, "deleted": false, "color": "9f69e7", "real_name": name,
		"tz": "Europe/Berlin", "tz_label": "Central European Time", "tz_offset": 3600, "is_bot": p.IsBot, "is_app_user": false,
		"is_admin": false, "is_owner": false, "is_primary_owner": false, "is_restricted": p.Guest, "is_ultra_restricted": false,
		"updated": s.opts.Now().Unix(), "is_email_confirmed": true,
		"profile": map[string]any{
			"real_name": name, "real_name_normalized": name, "display_name": p.Name, "display_name_normalized": p.Name,
			"status_text": "", "status_emoji": "", "avatar_hash": "0", "team": s.teamOf(p),
		},
	}
	if p.Team != "" && p.Team != s.opts.Team.ID {
		out["is_stranger"] = true
	}
	if t := s.opts.Team; t.EnterpriseID != "" {
		out["enterprise_user"] = map[string]any{
			"id": p.ID, "enterprise_id": t.EnterpriseID, "enterprise_name": t.EnterpriseName, "is_admin": false, "is_owner": false,
			"teams": []string{t.ID},
		}
	}
	return out
}
