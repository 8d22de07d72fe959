package signal

// cards puts into a message what it has besides text and files. signal-cli hands on
// what its JsonDataMessage names, and stores each picture that it finds among the
// attachments, as its IncomingMessageHandler does.
func (s *people) cards(d *wireData, o SayOptions, at int64, files *[]string) {
	for _, c := range o.Contacts {
		var w wireCard
		w.Name.Given, w.Name.Family, w.Organization = orNull(c.Given), orNull(c.Family), orNull(c.Organization)
		if c.Number != "" {
			w.Phone = []wirePhone{{Value: c.Number, Type: "MOBILE"}}
		}
		if face := s.picture(c.Avatar, at, files); face != nil {
			w.Avatar = &wireAvatar{Attachment: *face}
		}
		d.Contacts = append(d.Contacts, w)
	}
	if p := o.Poll; p != nil {
		d.PollCreate = &wirePoll{Question: p.Question, AllowMultiple: p.Multiple, Options: p.Options}
	}
	if p := o.Payment; p != nil {
		d.Payment = &wirePayment{Note: p.Note, Receipt: []byte{1}}
	}
}

// picture stores one, if there is one, beside the files of a message.
func (s *fileStore) picture(a *Attachment, at int64, files *[]string) *wireAttachment {
	if a == nil {
		return nil
	}
	w, id := s.store(*a, at)
	*files = append(*files, id)
	return &w
}
