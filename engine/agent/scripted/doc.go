// Package scripted is a model server for tests: it answers the API of OpenAI (Responses and Chat Completions), of
// Anthropic (Messages) and of Gemini (generateContent), all of them streaming, with what a scenario says. With it,
// tests run the real programs of coding agents and decide what their model does.
//
// A scenario is data: a list of turns, each of which is one answer of the model. Which turn comes next follows from the
// number of tool results in the request, so the server needs no conversation of its own. Only tests import the package.
package scripted
