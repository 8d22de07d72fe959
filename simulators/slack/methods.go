package slack

// method is something that apps call.
type method struct {
	run      func(*call) any
	scopes   []string // any of them
	tier     int      // of the rate limit; 0: none
	appToken bool     // wants the app's token, not the bot's
}

// scopes of which a method wants one.
var (
	history = []string{"channels:history", "groups:history", "im:history", "mpim:history"}
	write   = []string{"chat:write"}
	assist  = []string{"chat:write", "assistant:write"}
)

// methods is the table of what apps may call. Each runs under the lock.
var methods = map[string]method{
	"auth.test":             {run: (*call).authTest},
	"apps.connections.open": {run: (*call).openConnection, appToken: true},

	"chat.postMessage":   {run: (*call).postMessage, scopes: write},
	"chat.postEphemeral": {run: (*call).postEphemeral, scopes: write, tier: 4},
	"chat.update":        {run: (*call).update, scopes: write, tier: 3},
	"chat.delete":        {run: (*call).delete, scopes: write, tier: 3},
	"chat.startStream":   {run: (*call).startStream, scopes: write, tier: 2},
	"chat.appendStream":  {run: (*call).appendStream, scopes: write, tier: 4},
	"chat.stopStream":    {run: (*call).stopStream, scopes: write, tier: 2},

	"conversations.history": {run: (*call).history, scopes: history, tier: 3},
	"conversations.replies": {run: (*call).replies, scopes: history, tier: 3},

	"users.info": {run: (*call).user, scopes: []string{"users:read"}, tier: 4},

	"reactions.add":    {run: func(c *call) any { return c.reaction(false) }, scopes: []string{"reactions:write"}, tier: 3},
	"reactions.remove": {run: func(c *call) any { return c.reaction(true) }, scopes: []string{"reactions:write"}, tier: 2},

	"assistant.threads.setStatus":           {run: (*call).setStatus, scopes: assist},
	"assistant.threads.setSuggestedPrompts": {run: (*call).setPrompts, scopes: []string{"assistant:write"}},

	"agents.sessions.setStatus": {run: (*call).setSession, scopes: write, tier: 3},

	"files.info":                 {run: (*call).fileInfo, scopes: []string{"files:read"}, tier: 4},
	"files.getUploadURLExternal": {run: (*call).uploadURL, scopes: []string{"files:write"}, tier: 4},
	completion:                   {run: (*call).completeUpload, scopes: []string{"files:write"}, tier: 4},
}

func (c *call) authTest() any {
	t := c.opts.Team
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
	return out
}
