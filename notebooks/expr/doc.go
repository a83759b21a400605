// Package expr is the language of a step's if=: an expression over parameters and scraps that is
// true or false.
//
//	avg_load > params.threshold and not intervention_needed
//	environment in ["staging", "production"] && passed("build")
//	defined(scraps.coverage) and scraps.coverage.total >= 0.8
//
// Names: a bare name is a scrap, or else a parameter; scraps.name and params.name say which. .name
// and ["key"] and [0] go into maps and lists. defined(name) says whether there is such a value,
// passed("step") whether a step has passed.
//
// Literals: 1, 0.5, 1e3, "text", 'text' (with \n \t \\ \" \'), true, false, null, [1, 2]. True, False
// and None are understood as well.
//
// Operators, weakest first: or ||, and &&, not !, then == != < <= > >= in and not in (which do not chain),
// + -, * /, unary -.
//
// Nothing is coerced. A number equals no string: comparing them is an error, as is a condition that
// is not true or false. Only null may be compared with everything. Integers are of any size and
// compare exactly with floats; / gives a float. and and or do not look at their right side when the
// left decides.
//
// expr-lang/expr 1.17.8 is no replacement (it adds 2.4 MB and 0.3 ms of start-up). It compares a number with a text
// to false instead of returning an error, so a gate would be decided silently; it refuses integers above 64 bits, and
// takes 9007199254740993 for the float next to it. Checking for all this takes as much code as the language.
//
// It imports notebooks/lazyregexp, and nothing else of this module.
package expr
