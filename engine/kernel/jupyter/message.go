package jupyter

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"time"

	"markmill/notebooks/codec"
)

// protocolVersion is the version of the messaging protocol that requests say they speak.
const protocolVersion = "5.3"

// Message is one message of the messaging protocol.
type Message struct {
	Header  Header
	Parent  string    // id of the request that it belongs to, "" without one
	Content codec.Raw // as it came
	Buffers [][]byte  // bytes that stand beside the content
}

// Header is a message's header; fields that Markmill has no use for are left out.
type Header struct {
	ID       string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	Type     string `json:"msg_type"`
	Version  string `json:"version"`
}

// delimiter stands between the routing prefix and the signed parts.
const delimiter = "<IDS|MSG>"

// signer signs and checks messages with the key of one connection file.
type signer struct{ key []byte }

func (s signer) sum(parts [][]byte) []byte {
	if len(s.key) == 0 { // the specification's way to say: not signed
		return nil
	}
	var mac hash.Hash = hmac.New(sha256.New, s.key)
	for _, p := range parts {
		mac.Write(p)
	}
	return hex.AppendEncode(nil, mac.Sum(nil))
}

// encode makes the frames of a request.
func (s signer) encode(h Header, content any) ([][]byte, error) {
	header, err := codec.Marshal(h)
	if err != nil {
		return nil, err
	}
	body, err := codec.Marshal(content)
	if err != nil {
		return nil, err
	}
	parts := [][]byte{header, []byte("{}"), []byte("{}"), body}
	return append([][]byte{[]byte(delimiter), s.sum(parts)}, parts...), nil
}

// decode reads the frames of a message. An error says why it is to be dropped.
func (s signer) decode(frames [][]byte) (Message, error) {
	at := 0
	for at < len(frames) && string(frames[at]) != delimiter {
		at++
	}
	if len(frames)-at < 6 {
		return Message{}, errors.New("a message with too few parts")
	}
	parts := frames[at+2 : at+6]
	if !hmac.Equal(frames[at+1], s.sum(parts)) {
		return Message{}, errors.New("a message whose signature does not fit")
	}
	var m Message
	if err := codec.UnmarshalForeign(parts[0], &m.Header); err != nil {
		return Message{}, fmt.Errorf("a message's header: %w", err)
	}
	var parent Header
	if err := codec.UnmarshalForeign(parts[1], &parent); err != nil {
		return Message{}, fmt.Errorf("a message's parent header: %w", err)
	}
	m.Parent, m.Content, m.Buffers = parent.ID, codec.Raw(parts[3]), frames[at+6:]
	return m, nil
}

// passing reports whether a message changes nothing for anybody here: most of what a kernel publishes does not.
func (m Message) passing() bool {
	switch m.Header.Type {
	case "execute_input", "comm_close":
		return true
	case "comm_open", "comm_msg": // but for the state of widgets
		return !bytes.Contains(m.Content, []byte(`"state"`))
	case "status":
		return !bytes.Contains(m.Content, []byte(`"idle"`))
	}
	return false
}

// newID returns a random id for a message or a session.
func newID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails: crypto/rand
	return hex.EncodeToString(b)
}

func newHeader(session, kind string) Header {
	return Header{ID: newID(), Session: session, Username: "markmill", Type: kind, Version: protocolVersion,
		Date: time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")}
}
