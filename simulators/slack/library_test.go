package slack_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	sim "parley/simulators/slack"
)

func TestAnUnmodifiedClientLibraryListensAndAnswers(t *testing.T) {
	t.Parallel()
	w := start(t)
	api := slack.New(botToken, slack.OptionAppLevelToken(appToken), slack.OptionAPIURL(w.APIURL()), slack.OptionHTTPClient(w.client))
	who, err := api.AuthTestContext(t.Context())
	if err != nil || who.UserID != "U0PARLEY" || who.BotID != "B0PARLEY" || who.TeamID != "T0PARLEY01" {
		t.Fatalf("auth.test: %+v %v", who, err)
	}
	sm := socketmode.New(api)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = sm.RunContext(ctx) })
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case e := <-sm.Events:
				outer, ok := e.Data.(slackevents.EventsAPIEvent)
				if !ok {
					continue
				}
				if m, ok := outer.InnerEvent.Data.(*slackevents.MessageEvent); ok && m.BotID == "" {
					if _, _, err := api.PostMessageContext(ctx, m.Channel, slack.MsgOptionText("echo "+m.Text, false), slack.MsgOptionTS(m.TimeStamp)); err != nil {
						t.Errorf("post: %v", err)
					}
				}
				if err := sm.Ack(*e.Request); err != nil {
					t.Errorf("ack: %v", err)
				}
			}
		}
	})
	defer func() { cancel(); wg.Wait() }()
	w.until(func(b sim.Book) bool { return b.Connected["parley"] == 1 })
	said := w.say(general, ann, "hello")
	b := w.until(func(b sim.Book) bool { return b.Totals.Acknowledged == 2 && b.Totals.Posted == 1 })
	m := b.Messages[0]
	if m.Text() != "echo hello" || m.ThreadTS != said.TS {
		t.Errorf("message %+v", m)
	}
}

func TestTheClientLibraryUnderstandsEveryAnswer(t *testing.T) {
	t.Parallel()
	w := start(t)
	root := w.say(general, ann, "hello", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Mimetype: "text/plain", Data: []byte("data")}}})
	thread, err := w.OpenAssistant("", ann, sim.Context{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	api := slack.New(botToken, slack.OptionAppLevelToken(appToken), slack.OptionAPIURL(w.APIURL()), slack.OptionHTTPClient(w.client))
	check := func(what string, good bool, err error) {
		t.Helper()
		if err != nil || !good {
			t.Errorf("%s: good %v, %v", what, good, err)
		}
	}
	marker := slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "marker", EventPayload: map[string]any{"id": "7"}})
	ch, ts, m, err := api.PostMessageWithResponseContext(ctx, general.ID, slack.MsgOptionText("one", false), slack.MsgOptionTS(root.TS), marker,
		slack.MsgOptionBlocks(slack.NewMarkdownBlock("", "**one**")))
	check("post", ch == general.ID && m.Timestamp == ts && m.BotID == "B0PARLEY" && m.ThreadTimestamp == root.TS, err)
	_, _, text, err := api.UpdateMessageContext(ctx, ch, ts, slack.MsgOptionText("two", false))
	check("update", text == "two", err)
	whisper, err := api.PostEphemeralContext(ctx, ch, ann.ID, slack.MsgOptionText("psst", false))
	check("ephemeral", whisper != "", err)
	msgs, more, _, err := api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{ChannelID: ch, Timestamp: root.TS, IncludeAllMetadata: true})
	check("replies", len(msgs) == 2 && !more && msgs[0].ReplyCount == 1 && msgs[1].Metadata.EventPayload["id"] == "7" && msgs[1].Edited != nil, err)
	history, err := api.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{ChannelID: ch})
	check("history", err == nil && len(history.Messages) == 1 && len(history.Messages[0].Files) == 1, err)
	user, err := api.GetUserInfoContext(ctx, ann.ID)
	check("user", err == nil && user.RealName == "Ann Example" && user.TeamID == "T0PARLEY01", err)
	self, err := api.GetUserInfoContext(ctx, "U0PARLEY")
	check("bot user", err == nil && self.IsBot && self.Profile.BotID == "B0PARLEY", err)
	item := slack.NewRefToMessage(ch, root.TS)
	check("react", true, api.AddReactionContext(ctx, "eyes", item))
	check("unreact", true, api.RemoveReactionContext(ctx, "eyes", item))

	_, st, err := api.StartStreamContext(ctx, ch, slack.MsgOptionTS(root.TS), slack.MsgOptionRecipientTeamID("T0PARLEY01"),
		slack.MsgOptionRecipientUserID(ann.ID), slack.MsgOptionMarkdownText("a"))
	check("start stream", st != "", err)
	_, _, err = api.AppendStreamContext(ctx, ch, st, slack.MsgOptionChunks(slack.NewMarkdownTextChunk("b"), slack.NewTaskUpdateChunk("1", "t")))
	check("append", true, err)
	_, _, err = api.StopStreamContext(ctx, ch, st, slack.MsgOptionMarkdownText("c"), marker)
	check("stop stream", true, err)
	_, _, err = api.AppendStreamContext(ctx, ch, st, slack.MsgOptionMarkdownText("d"))
	check("append late", err != nil && err.Error() == "message_not_in_streaming_state", nil)

	check("status", true, api.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{
		ChannelID: thread.Channel, ThreadTS: thread.ThreadTS, Status: "thinks", LoadingMessages: []string{"a", "b"},
	}))
	prompts := slack.AssistantThreadsSetSuggestedPromptsParameters{ChannelID: thread.Channel, ThreadTS: thread.ThreadTS}
	prompts.AddPrompt("a", "b")
	check("prompts", true, api.SetAssistantThreadsSuggestedPromptsContext(ctx, prompts))

	file, _, _, err := api.GetFileInfoContext(ctx, history.Messages[0].Files[0].ID, 0, 0)
	check("file", err == nil && file.Name == "a.txt", err)
	var got strings.Builder
	check("download", true, api.GetFileContext(ctx, file.URLPrivateDownload, &got))
	check("download", got.String() == "data", nil)
	up, err := api.UploadFileContext(ctx, slack.UploadFileParameters{
		Filename: "b.txt", FileSize: 3, Content: "abc", Channel: ch, ThreadTimestamp: root.TS, InitialComment: "here",
	})
	check("upload", err == nil && up.ID != "", err)
	file, _, _, err = api.GetFileInfoContext(ctx, up.ID, 0, 0)
	check("where it is shown", err == nil && len(file.Shares.Public[ch]) == 1 && file.Shares.Public[ch][0].ThreadTs == root.TS, err)
	_, _, err = api.DeleteMessageContext(ctx, ch, ts)
	check("delete", true, err)

	b := w.Books()
	last := b.Messages[len(b.Messages)-1]
	if last.Text() != "here" || len(last.Files) != 1 || last.ThreadTS != root.TS || b.Messages[0].Deleted.IsZero() {
		t.Errorf("messages %+v", b.Messages)
	}
}

func TestTheClientLibraryUnderstandsRefusals(t *testing.T) {
	t.Parallel()
	w := start(t, func(o *sim.Options) { o.Apps[0].Scopes = []string{"chat:write"} })
	api := slack.New(botToken, slack.OptionAPIURL(w.APIURL()), slack.OptionHTTPClient(w.client))
	said := w.say(general, ann, "hello", sim.SayOptions{Files: []sim.File{{Name: "a.txt", Data: []byte("x")}}})
	w.plan(sim.Fault{Trouble: sim.TooManyRequests, Method: "chat.postMessage", RetryAfter: 3, Next: 1})
	var slow *slack.RateLimitedError
	if _, _, err := api.PostMessageContext(t.Context(), said.Channel, slack.MsgOptionText("x", false)); !errors.As(err, &slow) || slow.RetryAfter != 3e9 {
		t.Errorf("under 429: %v", err)
	}
	w.ClearFaults()
	var refused slack.SlackErrorResponse
	if _, err := api.GetUserInfoContext(t.Context(), ann.ID); !errors.As(err, &refused) || refused.Err != "missing_scope" || refused.Needed != "users:read" {
		t.Errorf("without a scope: %v", err)
	}
	_, _, err := api.PostMessageContext(t.Context(), said.Channel, slack.MsgOptionBlocks(slack.NewSectionBlock(
		slack.NewTextBlockObject(slack.MarkdownType, strings.Repeat("a", 3001), false, false), nil, nil)))
	if !errors.As(err, &refused) || refused.Err != "invalid_blocks" || len(refused.ResponseMetadata.Messages) != 1 {
		t.Errorf("a long section: %v", err)
	}
	if err := api.GetFileContext(t.Context(), w.URL()+"/files-pri/T0PARLEY01-F1/download/a.txt", io.Discard); err == nil || !strings.Contains(err.Error(), "sign-in") {
		t.Errorf("a file without files:read: %v", err)
	}
}
