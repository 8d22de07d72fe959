package slack

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/slack-go/slack"

	"parley/channels"
	"parley/sessionkeys"
)

// reactionName is how Slack names an emoji, without colons.
var reactionName = regexp.MustCompile(`^[\p{L}\p{N}_+'-]+(::skin-tone-[2-6])?$`)

// CheckReactions reports what is wrong with the reactions of an app.
func CheckReactions(r channels.Reactions) error {
	for _, name := range []string{r.Working, r.Done} {
		if name != "" && (!reactionName.MatchString(name) || len(name) > 100) {
			return fmt.Errorf("%q is no name of an emoji as Slack has them, such as eyes or white_check_mark", name)
		}
	}
	return nil
}

// reactor puts reactions on messages.
type reactor struct {
	*webAPI

	support reactionSupport
}

// reactionSupport remembers which reactions Slack does not take of this app.
type reactionSupport struct {
	mu  sync.Mutex
	off map[string]bool // by name; "": all
}

func (r *reactionSupport) isSupported(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.off[""] && !r.off[name]
}

func (r *reactionSupport) turnOff(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.off == nil {
		r.off = map[string]bool{}
	}
	r.off[name] = true
}

// mayNotReact are the words with which Slack says that the app has no right to.
var mayNotReact = []string{"missing_scope", "not_allowed_token_type", "no_permission", "access_denied"}

// React puts a reaction on a message, which Slack names by its emoji. What the app may not
// do, or an emoji that the workspace does not have, is said in the log and not tried again
// by this process.
func (p *reactor) React(ctx context.Context, to sessionkeys.Address, messageID string, s channels.Stage) error {
	if strings.HasPrefix(messageID, channels.PublicReplyPrefix) || strings.HasPrefix(messageID, channels.PrivateReplyPrefix) {
		return refusedError(addReaction, "a slash command is no message")
	}
	var err error
	if name := p.o.Reactions.At(s); name != "" {
		k := cosmetic
		if s == channels.Done {
			k = ending
		}
		err = p.addReaction(ctx, to, messageID, name, k)
	}
	if s != channels.Working && p.o.Reactions.Working != "" && (err == nil || isRefused(err)) {
		err = p.removeReaction(ctx, to, messageID, p.o.Reactions.Working)
	}
	return err
}

const (
	addReaction = "reactions.add"
	endReaction = "reactions.remove"
)

func (p *reactor) addReaction(ctx context.Context, to sessionkeys.Address, messageID, name string, k class) error {
	if err := checkAddress(addReaction, to); err != nil {
		return err
	}
	if !p.support.isSupported(name) {
		return refusedError(addReaction, "slack takes no such reaction of this app")
	}
	_, err := p.callIfRoom(ctx, addReaction, to.Peer, k, func(ctx context.Context) error {
		return p.api.AddReactionContext(ctx, name, slack.NewRefToMessage(to.Peer, messageID))
	})
	switch {
	case hasErrorCode(err, "already_reacted"):
		return nil
	case hasErrorCode(err, mayNotReact...):
		p.support.turnOff("")
		p.o.Log.Warn("slack refuses reactions: the app needs the scope reactions:write; see parley slack manifest, and install the app again", "error", err)
	case hasErrorCode(err, "invalid_name"):
		p.support.turnOff(name)
		p.o.Log.Warn("slack has no emoji with the configured name", "name", name)
	}
	return err
}

func (p *reactor) removeReaction(ctx context.Context, to sessionkeys.Address, messageID, name string) error {
	if err := checkAddress(endReaction, to); err != nil {
		return err
	}
	_, err := p.callIfRoom(ctx, endReaction, to.Peer, ending, func(ctx context.Context) error {
		return p.api.RemoveReactionContext(ctx, name, slack.NewRefToMessage(to.Peer, messageID))
	})
	if hasErrorCode(err, "no_reaction", "message_not_found") {
		return nil
	}
	return err
}
