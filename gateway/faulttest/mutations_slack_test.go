package faulttest_test

// slackMutations are the guards of the channel Slack.
var slackMutations = []mutation{
	{
		"Slack: an envelope is acknowledged after it was accepted",
		"channels/slack/socket.go", "	s.owed.Add(1)\n", "	s.ack(r, f.EnvelopeID)\n	s.owed.Add(1)\n",
		"./channels/slack", "TestSlackIsAChannel/by_socket_mode/an_event_is_not_acknowledged_before_it_is_accepted",
	},
	{
		"Slack: a request is answered after its event was accepted",
		"channels/slack/hook.go", "	r.queue.push(e, func(taken bool) { settled <- taken })\n", "	r.queue.push(e, func(bool) {})\n	settled <- true\n",
		"./channels/slack", "TestSlackIsAChannel/by_the_events_API/an_event_is_not_acknowledged_before_it_is_accepted",
	},
	{
		"Slack: a request that Slack did not sign is refused",
		"channels/slack/hook.go", "	return hmac.Equal([]byte(head.Get(\"X-Slack-Signature\")), []byte(want))", "	return want != \"\"",
		"./channels/slack", "TestRequestsThatSlackDidNotMakeAreRefusedAndNothingIsStored",
	},
	{
		"Slack: a request that was signed too long ago is refused",
		"channels/slack/hook.go", " || h.now().Sub(time.Unix(n, 0)).Abs() > skew {", " || time.Unix(n, 0).IsZero() {",
		"./channels/slack", "TestRequestsThatSlackDidNotMakeAreRefusedAndNothingIsStored",
	},
	{
		"Slack: an event that comes again is known by its event_id",
		"channels/slack/event.go", "	m.Event = c.EventID\n", "	m.Event = c.EventID + strconv.FormatInt(r.o.Now().UnixNano(), 10)\n",
		"./channels/slack", "TestS17_WhatIsNotAcknowledgedComesAgainUnderItsID",
	},
	{
		"Slack: a post that comes as two events is known by its channel and ts",
		"channels/slack/translate.go", "	m.Event, m.MessageID, m.SentAt = \"m-\"+p.TS, p.TS, clock(p.TS)", "	m.MessageID, m.SentAt = p.TS, clock(p.TS)",
		"./channels/slack", "TestS16_AMentionIsOneEventWhicheverComesFirst",
	},
	{
		"Slack: the bot does not hear itself",
		"channels/slack/translate.go", "	return user != \"\" && user == s.UserID || bot != \"\" && bot == s.BotID", "	return false",
		"./channels/slack", "TestS21_OurOwnPostsAreNotOfferedAndBotsAreCalledSo",
	},
	{
		"Slack: another bot is told apart from a person",
		"channels/slack/event.go", "		s.Bot, s.ID = true, cmp.Or(user, p.BotID)\n", "		s.ID = cmp.Or(user, p.BotID)\n",
		"./channels/slack", "TestS21_OurOwnPostsAreNotOfferedAndBotsAreCalledSo",
	},
	{
		"Slack: an answer calls nobody",
		"channels/internal/markup/slack_inline.go", "strings.NewReplacer(\"&\", \"&amp;\", \"<\", \"&lt;\", \">\", \"&gt;\")", "strings.NewReplacer(\"&\", \"&amp;\")",
		"./channels/slack", "TestS22_AnAnswerCallsNobody",
	},
	{
		"the network is asked what became of a send before it is repeated",
		"gateway/delivery/find.go", "	f, ok := a.ch.(channels.Finder)\n	if !ok {\n", "	f, ok := a.ch.(channels.Finder)\n	if ok {\n",
		"./gateway/delivery", "TestANetworkThatCanBeAskedIsAskedBeforeAnAnswerIsRepeated",
	},
	{
		"Slack: a post is looked up by the id that it carries",
		"channels/slack/find.go", "m.Metadata.Payload[markerID] == id && ", "",
		"./channels/slack", "TestSlackIsAChannel/by_socket_mode/a_send_whose_answer_is_lost_is_found",
	},
	{
		"Slack: the events of a channel are taken one after another",
		"channels/slack/queue.go", "	at := one.event.line\n", "	at := one.event.line + one.event.message.Event\n",
		"./channels/slack", "TestSlackIsAChannel/by_socket_mode/an_event_that_is_not_taken_is_offered_again_before_later_ones",
	},
	{
		"Slack: a connection is open until the one that replaces it is",
		"channels/slack/socket.go", "		return f.Reason != \"link_disabled\"", "		_ = s.conn.Close()\n		return f.Reason != \"link_disabled\"",
		"./channels/slack", "TestS19_AConnectionIsReplacedBeforeItEndsAndNothingIsLost",
	},
	{
		"a stream whose turn has no answer is ended",
		"gateway/delivery/preview.go", "	if id == \"\" || id == sessions.PreviewBegun {", "	if id != \"never\" || id == sessions.PreviewBegun {",
		"./gateway/delivery", "TestAStreamWhoseTurnHasNoAnswerIsEnded",
	},
}
