package sqlite

import (
	"errors"
	"fmt"

	"parley/sessions/rules"
)

func loadControl(s source, id string) (c rules.Control, found bool, err error) {
	var key, event, from string
	var at int64
	found, err = s.one("SELECT id, token, key, event, kind, through, channel, origin, reply_to, sender, at, done FROM controls WHERE id = ?", args(id),
		&c.ID, &c.Token, &key, &event, &c.Kind, &c.Through, &c.Channel, &from, &c.ReplyTo, &c.Sender, &at, &c.Done)
	if err != nil || !found {
		return c, found, err
	}
	c.At = instant(at)
	return c, true, errors.Join(c.Control.Key.UnmarshalText([]byte(key)), parse(event, &c.Event), parse(from, &c.From))
}

// putControl inserts a request, or marks one as done.
func (t *tx) putControl(c rules.Control) error {
	if c.Done {
		if err := t.do("UPDATE controls SET done = 1 WHERE id = ?", c.ID); err != nil {
			return fmt.Errorf("end control request %s: %w", c.ID, err)
		}
		return nil
	}
	event, err := text(c.Event)
	if err != nil {
		return err
	}
	from, err := text(c.From)
	if err != nil {
		return err
	}
	err = t.do(`INSERT INTO controls (id, token, key, event, kind, through, channel, origin, reply_to, sender, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.Token, c.Control.Key.String(), event, c.Kind, c.Through, c.Channel, from, c.ReplyTo, c.Sender, micros(c.At))
	if err != nil {
		return fmt.Errorf("store control request %s: %w", c.ID, err)
	}
	return nil
}
