// Package gitfilter speaks with Git as a filter that lives as long as a command of Git: version 2 of the filter
// protocol (gitattributes, "Long Running Filter Process").
//
// It owns the packets and the order of what is said. What a filter does with a content is handed in.
//
// What always holds: an answer is whole, or Serve ends with an error before Git can take it for one; each content that
// comes in whole is answered.
//
// It imports nothing of this module.
package gitfilter
