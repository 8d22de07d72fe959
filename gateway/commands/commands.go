// Package commands is what people type in chat and what is answered without a
// model: /new, /stop, /status, /cost, /agents, /help.
package commands

// Entry is a command as people are told of it.
type Entry struct{ Name, Does string }

// Menu is what people are told of, in this order.
func Menu() []Entry {
	return []Entry{
		{"new", "start a new conversation; I forget what was said"},
		{"stop", "stop what I am doing, and drop what waits"},
		{"status", "what I am doing, and with which model"},
		{"cost", "what this conversation and its sub-agents have cost, and what is left"},
		{"agents", "the sub-agents of this conversation, and what they do"},
		{"help", "this list"},
	}
}

// Names are all commands there are.
func Names() []string {
	names := []string{"clear"} // another word for new
	for _, c := range Menu() {
		names = append(names, c.Name)
	}
	return names
}
