package markdown

import (
	"errors"

	"go.yaml.in/yaml/v4"
)

// YAMLMapping reads a mapping of YAML. The place of the mistake is in the text, from 1; msg is "" without one. node is
// nil for an empty text.
func YAMLMapping(text []byte) (node *yaml.Node, line, col int, msg string) {
	var docs []yaml.Node
	if err := yaml.Load(text, &docs, yaml.WithAllDocuments()); err != nil {
		line, col, msg = yamlMistake(err)
		return nil, line, col, msg
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 { // nothing, or nothing but comments
		return nil, 0, 0, ""
	}
	if len(docs) > 1 {
		return nil, docs[1].Line, docs[1].Column, "one document was expected, and there is another"
	}
	root := docs[0].Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, 0, 0, ""
	}
	if root.Kind != yaml.MappingNode {
		return nil, root.Line, root.Column, "names and values were expected (name: value), one a line"
	}
	return root, 0, 0, ""
}

// yamlMistake takes place and words out of the library's error.
func yamlMistake(err error) (line, col int, msg string) {
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok && len(many.Errors) > 0 {
		err = many.Errors[0]
	}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		return max(one.Mark.Line, 1), max(one.Mark.Column, 1), one.Message
	}
	return 1, 1, err.Error()
}

// yamlAttr turns one pair of a mapping into an attribute.
func yamlAttr(key, value *yaml.Node, at int) attr {
	value = resolve(value)
	a := attr{key: key.Value, val: value.Value, at: at}
	switch value.Kind {
	case yaml.SequenceNode:
		a.list = []string{}
		for _, item := range value.Content {
			a.list = append(a.list, item.Value)
		}
	case yaml.MappingNode:
		a.list = []string{}
		for i := 0; i+1 < len(value.Content); i += 2 {
			a.list = append(a.list, value.Content[i].Value+"="+value.Content[i+1].Value)
		}
	}
	return a
}
