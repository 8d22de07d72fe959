package slack

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/simulators/internal/stage"
)

// Team is the workspace.
type Team struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain string `json:"domain"`
	// EnterpriseID is set for a workspace of an Enterprise Grid.
	EnterpriseID   string `json:"enterprise_id,omitempty"`
	EnterpriseName string `json:"enterprise_name,omitempty"`
}

// App is an app with a bot user, installed in the workspace.
type App struct {
	// Name is the bot's name, by which the other calls of this package select
	// the app; names must differ.
	Name string `json:"name"`
	// ID (A…), BotID (B…) and UserID (U…); made from Name when empty.
	ID     string `json:"id"`
	BotID  string `json:"bot_id"`
	UserID string `json:"user_id"`
	// BotToken (xoxb-…) is for the Web API, AppToken (xapp-…) for
	// apps.connections.open. SigningSecret signs what is posted to the app.
	BotToken      string `json:"-"`
	AppToken      string `json:"-"`
	SigningSecret string `json:"-"`
	// Scopes of the bot token; empty grants everything.
	Scopes []string `json:"scopes,omitempty"`
	// Events are the subscribed types, such as app_mention or message.im;
	// empty subscribes to everything.
	Events []string `json:"events,omitempty"`
	// Commands are the slash commands of the app, such as /parley; empty: any.
	Commands []string `json:"commands,omitempty"`
	// RequestURL gets events by HTTP. An app without one gets everything,
	// commands and actions too, over Socket Mode.
	RequestURL string `json:"-"`
	// InteractivityURL and CommandURL get actions and slash commands by HTTP;
	// empty: RequestURL.
	InteractivityURL string `json:"-"`
	CommandURL       string `json:"-"`
	// OrgWide is an app installed on the whole Enterprise Grid.
	OrgWide bool `json:"org_wide,omitempty"`
	// AgentView is an app that uses the agent surface instead of assistant
	// threads.
	AgentView bool `json:"agent_view,omitempty"`
}

// Options configure a [Server]. Only Apps is required.
type Options struct {
	// Addr is the listening address; empty means a free port of 127.0.0.1.
	Addr string
	Team Team
	// Apps installed in the workspace. The first is the one that calls mean
	// which name none.
	Apps []App
	// Seed drives every random choice: ids, which connection gets an event,
	// fault probabilities. Equal seeds and equal calls give equal choices.
	Seed uint64
	// Now returns the clock of timestamps, rate limits, streams and signatures; nil:
	// time.Now. Pauses (acknowledgements, retries, pings) are on the real clock.
	Now func() time.Time
	// AckTimeout is how long Slack waits for an acknowledgement or an answer;
	// zero: 3 s. Negative: for ever, until [Server.Lapse].
	AckTimeout time.Duration
	// Retries are the pauses before an event that was not acknowledged is
	// delivered again; after the last it is given up. Nil: at once, 1 min, 5 min.
	Retries []time.Duration
	// PingEvery is the pause between the pings of a Socket Mode connection;
	// zero: 10 s. A connection that answered none of three is closed.
	PingEvery time.Duration
	// WarningGrace is how long a connection lives after a disconnect message;
	// zero: 10 s.
	WarningGrace time.Duration
	// Keep bounds each list of the books; the oldest entries go first and are
	// counted in Totals.Forgotten. Zero: 100 000. Negative: no entries, only
	// totals.
	Keep int
	// History bounds the messages remembered per conversation; zero: 10 000.
	History int
	// RateLimits switches on Slack's limits: a message per second and channel,
	// and each method's tier.
	RateLimits bool
}

var (
	errNoApps  = errors.New("at least one app is required")
	errTwoApps = errors.New("two apps share a name, an id or a token")
	errTokens  = errors.New("bot token must begin with xoxb-, app token with xapp-")
)

func (o *Options) complete() error {
	stage.Default(&o.Addr, &o.Now, &o.Keep, &o.History)
	o.Team.ID = cmp.Or(o.Team.ID, "T0PARLEY01")
	o.Team.Name = cmp.Or(o.Team.Name, "Simulated")
	o.Team.Domain = cmp.Or(o.Team.Domain, "simulated")
	o.AckTimeout = cmp.Or(o.AckTimeout, 3*time.Second)
	if o.Retries == nil {
		o.Retries = []time.Duration{0, time.Minute, 5 * time.Minute}
	}
	o.PingEvery = cmp.Or(o.PingEvery, 10*time.Second)
	o.WarningGrace = cmp.Or(o.WarningGrace, 10*time.Second)
	if min(o.PingEvery, o.WarningGrace) < 0 {
		return errors.New("a duration is negative")
	}
	if len(o.Apps) == 0 {
		return errNoApps
	}
	seen := map[string]bool{}
	apps := make([]App, 0, len(o.Apps))
	for i, a := range o.Apps {
		if err := a.complete(i); err != nil {
			return fmt.Errorf("app %d: %w", i, err)
		}
		keys := []string{"n" + a.Name, "i" + a.ID, "b" + a.BotID, "u" + a.UserID, "t" + a.BotToken}
		if a.AppToken != "" {
			keys = append(keys, "t"+a.AppToken)
		}
		for _, k := range keys {
			if seen[k] {
				return fmt.Errorf("app %d: %w", i, errTwoApps)
			}
			seen[k] = true
		}
		apps = append(apps, a)
	}
	o.Apps = apps
	return nil
}

func (a *App) complete(i int) error {
	a.Name = cmp.Or(a.Name, fmt.Sprintf("sim%d", i))
	a.ID = cmp.Or(a.ID, fmt.Sprintf("A0SIM%05d", i))
	a.BotID = cmp.Or(a.BotID, fmt.Sprintf("B0SIM%05d", i))
	a.UserID = cmp.Or(a.UserID, fmt.Sprintf("U0SIM%05d", i))
	a.InteractivityURL = cmp.Or(a.InteractivityURL, a.RequestURL)
	a.CommandURL = cmp.Or(a.CommandURL, a.RequestURL)
	if !strings.HasPrefix(a.BotToken, "xoxb-") || a.AppToken != "" && !strings.HasPrefix(a.AppToken, "xapp-") {
		return errTokens
	}
	return nil
}
