package slack

import "time"

// sameEnd is how far apart two waits may end that are one, since Slack counts whole
// seconds. A wait that Slack asks for after a post holds for the post's channel; when
// a post to another channel is given the same end, it holds for all of them.
const sameEnd = time.Second

// limitScope returns by what Slack counts a call: by method and workspace, and posts
// also by channel.
func limitScope(method, chat string) (scope, counted string) {
	if method != "chat.postMessage" {
		chat = ""
	}
	return method, chat
}
