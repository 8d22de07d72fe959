package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"time"

	"parley/simulators/internal/stage"
)

// Bot is an account that the server knows.
type Bot struct {
	// Token is what the client puts in the path: digits, a colon, and the
	// secret. Anything else is answered 404, a well-formed unknown token 401.
	Token string `json:"-"`
	// ID is the user id. Zero: the digits in front of the token's colon.
	ID int64 `json:"id"`
	// Username without @.
	Username string `json:"username"`
	Name     string `json:"name,omitempty"`
	// CanReadAllGroupMessages is true when privacy mode is off.
	CanReadAllGroupMessages bool `json:"can_read_all_group_messages,omitempty"`
	// HasTopics allows topics in the private chats of this bot.
	HasTopics bool `json:"has_topics,omitempty"`
	// HearsBots delivers messages of other bots in groups (bot-to-bot mode).
	HearsBots bool `json:"hears_bots,omitempty"`
}

// Person returns the bot seen as the author or target of a message.
func (b Bot) Person() Person {
	return Person{ID: b.ID, Username: b.Username, FirstName: cmp.Or(b.Name, b.Username), IsBot: true}
}

// Options configure a [Server]. Only Bots is required.
type Options struct {
	// Addr is the listening address; empty means a free port of 127.0.0.1.
	Addr string
	// Bots are the accounts. Tokens and ids must differ.
	Bots []Bot
	// Seed drives every random choice: update ids, fault probabilities,
	// shuffles. Equal seeds and equal calls give equal runs.
	Seed uint64
	// Now returns the clock of dates, rate limits and retry_after; nil: time.Now.
	// Long polls and slow answers wait on the real clock.
	Now func() time.Time
	// Keep bounds each list of the books; the oldest entries go first and
	// are counted in Totals.Forgotten. Zero: 100 000. Negative: no entries,
	// only totals.
	Keep int
	// History bounds the messages remembered per chat; zero: 10 000. Older
	// ones can be replied to but not edited.
	History int
	// WebhookRetry is the pause of a chat after a webhook call that was not
	// answered with a 2xx, doubled by each further one up to 64 times as much;
	// zero: one second. Webhooks are served by Run only.
	WebhookRetry time.Duration
	// Pace is how many times the published limits a bot may send and edit: one
	// message a second in a chat and 20 a minute in a group, be it a forum with
	// many topics, and 30 calls a second in all. Zero: 1. Negative: no limits.
	// A retry_after is in true seconds at any pace.
	Pace float64
	// NoEphemeral has the server be one before Bot API 10.2, which shows everybody what is for one
	// person.
	NoEphemeral bool
	// FirstUpdateID is the first update id of every bot; zero: random.
	FirstUpdateID int64
}

var (
	tokenShape    = regexp.MustCompile(`^([0-9]{1,18}):[A-Za-z0-9_-]+$`)
	errNoBots     = errors.New("at least one bot is required")
	errTwoBots    = errors.New("two bots share a token, an id or a username")
	errTokenShape = errors.New("token must be digits, a colon and letters, digits, _ or -")
)

func (o *Options) complete() error {
	stage.Default(&o.Addr, &o.Now, &o.Keep, &o.History)
	o.WebhookRetry = cmp.Or(o.WebhookRetry, time.Second)
	o.Pace = cmp.Or(o.Pace, 1)
	if len(o.Bots) == 0 {
		return errNoBots
	}
	seen := map[string]bool{}
	bots := make([]Bot, 0, len(o.Bots))
	for i, b := range o.Bots {
		m := tokenShape.FindStringSubmatch(b.Token)
		if m == nil {
			return fmt.Errorf("bot %d: %w", i, errTokenShape)
		}
		if b.ID == 0 {
			if _, err := fmt.Sscan(m[1], &b.ID); err != nil {
				return fmt.Errorf("bot %d: read id from token: %w", i, errTokenShape)
			}
		}
		b.Username = cmp.Or(b.Username, fmt.Sprintf("sim%d_bot", b.ID))
		b.Name = cmp.Or(b.Name, b.Username)
		for _, k := range []string{"t" + b.Token, fmt.Sprint("i", b.ID), "u" + fold(b.Username)} {
			if seen[k] {
				return fmt.Errorf("bot %d: %w", i, errTwoBots)
			}
			seen[k] = true
		}
		bots = append(bots, b)
	}
	o.Bots = bots
	return nil
}
