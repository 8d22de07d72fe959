package slack

// method is something that apps call.
type method struct {
	run      func(*Server, *call) (any, *refusal)
	scopes   []string // any of them
	tier     int      // of the rate limit; 0: none
	appToken bool     // wants the app's token, not the bot's
}

// methods is the table of what apps may call.
func methods() map[string]method {
	history := []string{"channels:history", "groups:history", "im:history", "mpim:history"}
	write := []string{"chat:write"}
	assist := []string{"chat:write", "assistant:write"}
	return map[string]method{
		"auth.test":             {run: (*Server).authTest},
		"apps.connections.open": {run: (*Server).openConnection, appToken: true},

		"chat.postMessage":   {run: (*Server).postMessage, scopes: write},
		"chat.postEphemeral": {run: (*Server).postEphemeral, scopes: write, tier: 4},
		"chat.update":        {run: (*Server).update, scopes: write, tier: 3},
		"chat.delete":        {run: (*Server).delete, scopes: write, tier: 3},
		"chat.startStream":   {run: (*Server).startStream, scopes: write, tier: 2},
		"chat.appendStream":  {run: (*Server).appendStream, scopes: write, tier: 4},
		"chat.stopStream":    {run: (*Server).stopStream, scopes: write, tier: 2},

		"conversations.history": {run: (*Server).history, scopes: history, tier: 3},
		"conversations.replies": {run: (*Server).replies, scopes: history, tier: 3},

		"users.info": {run: (*Server).user, scopes: []string{"users:read"}, tier: 4},

		"reactions.add":    {run: (*Server).addReaction, scopes: []string{"reactions:write"}, tier: 3},
		"reactions.remove": {run: (*Server).removeReaction, scopes: []string{"reactions:write"}, tier: 2},

		"assistant.threads.setStatus":           {run: (*Server).setStatus, scopes: assist},
		"assistant.threads.setSuggestedPrompts": {run: (*Server).setPrompts, scopes: []string{"assistant:write"}},

		"agents.sessions.setStatus": {run: (*Server).setSession, scopes: write, tier: 3},

		"files.info":                 {run: (*Server).fileInfo, scopes: []string{"files:read"}, tier: 4},
		"files.getUploadURLExternal": {run: (*Server).uploadURL, scopes: []string{"files:write"}, tier: 4},
		completion:                   {run: (*Server).completeUpload, scopes: []string{"files:write"}, tier: 4},
	}
}

func (s *Server) authTest(c *call) (any, *refusal) {
	t := s.opts.Team
	out := map[string]any{
		"url": "https://" + t.Domain + ".slack.com/", "team": t.Name, "user": c.app.Name, "team_id": t.ID,
		"user_id": c.app.UserID, "bot_id": c.app.BotID, "is_enterprise_install": c.app.OrgWide,
	}
	if t.EnterpriseID != "" {
		out["enterprise_id"] = t.EnterpriseID
	}
	if c.app.OrgWide {
		out["team"], out["team_id"], out["url"] = t.EnterpriseName, t.EnterpriseID, "https://"+t.Domain+".enterprise.slack.com/"
	}
	return out, nil
}
