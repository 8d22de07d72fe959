package messages

import (
	"strings"

	"parley/channels"
	"parley/sessionkeys"
)

// jobMark begins the thread and the sender of what belongs to a job. Intake refuses an event that
// brings either.
const jobMark = "job:"

// JobSender returns the id under which a job of that name sends its messages.
func JobSender(name string) string { return jobMark + name }

// JobAddress returns the address of the conversation of a job whose results go to an address.
func JobAddress(to sessionkeys.Address, name string) sessionkeys.Address {
	to.Thread = jobMark + name
	return to
}

// Conversation returns the address of the conversation to which m belongs: its own, but for a run
// of a job.
func Conversation(m channels.Message) sessionkeys.Address {
	if m.Job == "" {
		return m.Address
	}
	return JobAddress(m.Address, m.Job)
}

// JobOf returns the job of whose run a turn is, in the conversation of key, with that sender and the
// address to which its answer goes; empty: of none.
func JobOf(key sessionkeys.Key, sender string, to sessionkeys.Address) string {
	name := JobOfKey(key)
	if name == "" || sender != JobSender(name) || JobAddress(to, name) != key.Address() {
		return ""
	}
	return name
}

// JobOfKey returns the job whose conversation key is of; empty: of none. It authorises nothing.
func JobOfKey(key sessionkeys.Key) string {
	name, _ := strings.CutPrefix(key.Address().Thread, jobMark)
	if name == key.Address().Thread {
		return ""
	}
	return name
}

// Claims returns what m bears that no event of a network does; "": nothing.
func Claims(m channels.Message) string {
	switch {
	case ClaimsJob(m):
		return "the marks of a scheduled job"
	case m.Decision != nil:
		return "the mark of a decision that was taken elsewhere"
	}
	return ""
}

// ClaimsJob reports whether m bears what only messages of jobs do.
func ClaimsJob(m channels.Message) bool {
	return m.Job != "" || strings.HasPrefix(m.Sender.ID, jobMark) || strings.HasPrefix(m.Address.Thread, jobMark)
}
