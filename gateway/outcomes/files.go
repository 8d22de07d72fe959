package outcomes

// File is what became of a file that came with a message.
type File string

// What became of files: the closed set of the label outcome. FileSaved aside, they
// say why the file cannot be had.
const (
	FileSaved      File = "saved"
	FileTooLarge   File = "too_large"
	FileRefused    File = "refused"    // the network does not hand it out
	FileUnreadable File = "unreadable" // the channel can fetch none, or the agent read none
	FileNoRoom     File = "no_room"    // in the log, or on the disk
	FileLate       File = "late"
	FileUnkept     File = "unkept" // the workspace does not take it
	FileTooMany    File = "too_many"
	FullWorkspace  File = "full_workspace"
	FileOverQuota  File = "over_quota" // of the person
)

// Files returns all that can become of a file.
func Files() []string {
	var all []string
	for _, f := range []File{
		FileSaved, FileTooLarge, FileRefused, FileUnreadable, FileNoRoom, FileLate, FileUnkept, FileTooMany, FullWorkspace, FileOverQuota,
	} {
		all = append(all, string(f))
	}
	return all
}
