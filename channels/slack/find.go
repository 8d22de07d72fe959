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
// its channel.
func (c *Channel) Find(ctx context.Context, to sessionkeys.Address, id string, since time.Time) (channels.Receipt, bool, error) {
	method := "conversations.history"
	if to.Thread != "" {
		method = "conversations.replies"
	}
	if err := place(method, to); err != nil {
		return channels.Receipt{}, false, err
	}
	oldest := fmt.Sprintf("%d.000000", max(0, since.Add(-findSkew).Unix()))
	cursor := ""
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
				TS       string `json:"ts"`
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
		}
		if cursor = page.Next.Cursor; cursor == "" {
			return channels.Receipt{}, false, nil
		}
	}
	return channels.Receipt{}, false, refused(method, "there are too many messages to look through")
}
