package telegram

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
)

// Command is one that a bot has Telegram suggest.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// menuKey is where commands are suggested. Of the scopes that name a chat or a member
// only the type counts here.
type menuKey struct {
	bot             int64
	scope, language string
}

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

var commandScopes = []string{
	"default", "all_private_chats", "all_group_chats", "all_chat_administrators", "chat", "chat_administrators", "chat_member",
}

// menuOf reads the scope and the language of a call.
func menuOf(c *call) menuKey {
	var scope struct {
		Type string `json:"type"`
	}
	if raw := c.args["scope"]; raw != "" && json.Unmarshal([]byte(raw), &scope) != nil {
		panic(badRequest("can't parse BotCommandScope"))
	}
	scope.Type = cmp.Or(scope.Type, "default")
	if !slices.Contains(commandScopes, scope.Type) {
		panic(badRequest("can't parse BotCommandScope: Unsupported type specified"))
	}
	return menuKey{c.account.bot.ID, scope.Type, c.args["language_code"]}
}

func (c *call) setMyCommands() any {
	k := menuOf(c)
	var menu []Command
	if json.Unmarshal([]byte(c.args["commands"]), &menu) != nil || len(menu) > 100 {
		panic(badRequest("can't parse commands JSON object"))
	}
	for _, m := range menu {
		if !commandName.MatchString(m.Command) || m.Description == "" || utf16Len(m.Description) > 256 {
			panic(badRequest("BOT_COMMAND_INVALID"))
		}
	}
	c.menus[k] = menu
	c.books.Notify()
	return true
}

func (c *call) getMyCommands() any {
	k := menuOf(c)
	return append([]Command{}, c.menus[k]...)
}

// Menu returns what the server suggests for a bot, by the type of a scope such as
// all_group_chats. The username may be empty: the first bot.
func (s *Server) Menu(username, scope, language string) []Command {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.account(username)
	if a == nil {
		return nil
	}
	return slices.Clone(s.menus[menuKey{a.bot.ID, scope, language}])
}
