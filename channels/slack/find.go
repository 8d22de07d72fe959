package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/sessionkeys"
)

const (
	findSkew  = 5 * time.Minute // that our clock and Slack's may differ
	findPages = 20              // of a busy channel
)

// Find looks for a message of ours by the id that it carries, in its thread or
// its channel. One that shares a file carries none. This process remembers the files
// of its own that are in doubt, and asks Slack whether they are shown; that they
// never will be Slack cannot say. A process that does not remember a send, and sees
// files of the bot there, cannot know whether it is one of them.
func (c *Channel) Find(ctx context.Context, to sessionkeys.Address, id string, since time.Time) (channels.Receipt, bool, error) {
	file, known := c.ambiguous.lookUp(id)
	if file != "" {
		return c.findFile(ctx, to, file)
	}
	method := "conversations.history"
	if to.Thread != "" {
		method = "conversations.replies"
	}
	if err := checkAddress(method, to); err != nil {
		return channels.Receipt{}, false, err
	}
	oldest := fmt.Sprintf("%d.000000", max(0, since.Add(-findSkew).Unix()))
	cursor, files := "", false
	for range findPages {
		result, err := c.call(ctx, method, to.Peer, func(ctx context.Context) (err error) {
			if to.Thread != "" {
				_, _, _, err = c.api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
					ChannelID: to.Peer, Timestamp: to.Thread, Oldest: oldest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
				})
				return err
			}
			_, err = c.api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
				ChannelID: to.Peer, Oldest: oldest, Cursor: cursor, Limit: 200, IncludeAllMetadata: true,
			})
			return err
		})
		if err != nil {
			return channels.Receipt{}, false, err
		}
		var page struct {
			Messages []struct {
				TS       string            `json:"ts"`
				User     userRef           `json:"user"`
				BotID    string            `json:"bot_id"`
				Files    []json.RawMessage `json:"files"`
				Metadata struct {
					Type    string         `json:"event_type"`
					Payload map[string]any `json:"event_payload"`
				} `json:"metadata"`
			} `json:"messages"`
			Next struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := json.Unmarshal(result, &page); err != nil {
			return channels.Receipt{}, false, &channels.Error{Kind: channels.Refused, Op: method, Message: "the answer cannot be read", Err: err}
		}
		for _, m := range page.Messages {
			if m.Metadata.Type == marker && m.Metadata.Payload[markerID] == id && m.TS != "" {
				return channels.Receipt{MessageID: m.TS}, true, nil
			}
			files = files || len(m.Files) > 0 && c.mayBeOurs(string(m.User), m.BotID)
		}
		if cursor = page.Next.Cursor; cursor != "" {
			continue
		}
		if files && !known {
			return channels.Receipt{}, false, refusedError(method, "there are files of the bot, which carry no id")
		}
		return channels.Receipt{}, false, nil
	}
	return channels.Receipt{}, false, refusedError(method, "there are too many messages to look through")
}

// findFile asks whether a file is shown in a place.
func (c *Channel) findFile(ctx context.Context, to sessionkeys.Address, id string) (channels.Receipt, bool, error) {
	f, err := c.fetchShares(ctx, id)
	if err != nil {
		return channels.Receipt{}, false, err
	}
	if ts := f.tsIn(to.Peer); ts != "" {
		return channels.Receipt{MessageID: ts}, true, nil
	}
	return channels.Receipt{}, false, refusedError("files.info", "slack does not show the file, and may yet")
}

// mayBeOurs reports whether the bot may have posted a message. Before Receive nobody
// knows which bot that is.
func (c *Channel) mayBeOurs(user, bot string) bool {
	me := c.me.Load()
	return me == nil || me.isAuthor(user, bot)
}
