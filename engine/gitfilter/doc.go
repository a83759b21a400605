// Package gitfilter speaks with Git as a filter that lives as long as one Git command: version 2 of the filter
// protocol (gitattributes, "Long Running Filter Process").
//
// It owns the packets and their order. The caller says what the filter does with content.
//
// What always holds: an answer is complete, or Serve returns an error before Git can take it for one; every complete
// content gets an answer.
//
// It imports nothing of this module.
package gitfilter
