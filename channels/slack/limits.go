package slack

import "time"

// sameEnd allows for Slack's counting of whole seconds. A wait that is asked for a
// post is of its channel, until another channel is told one that ends at the same
// moment.
const sameEnd = time.Second

// limited returns by what Slack counts a call: by method and workspace, and posts
// also by channel.
func limited(method, chat string) (scope, counted string) {
	if method != "chat.postMessage" {
		chat = ""
	}
	return method, chat
}
