# Values that span lines, as they are found in programs.
numbers = [1,
    2]
indented = [
    "a",
    "b",

    # a comment between
    "c",  # a comment behind
]  # the list
tabs = {
	"one": 1,
		"two": [2,
	3],
}
nested = {
    "a": {"b": [
        1, -2.5e3,
        None,
    ]},
    "c": (True,
          False),
}
inside = ["# no comment", 'it''s',
          "a ] bracket", "two  spaces",
          "back\\slash", r"raw\n"]
joined = ("one "
          "and "
          'two')
triple = ["""first
  second
    third""",
    1]
text = '''
[ not a list,
    not either ]
'''
continued = 1 + \
    2
alone = \
    "the next line"
call = dict(a=1,
            b=[2,
               3])
spaced = [ 1 ,   2   ,
           3  ,
  ]
trailing: list[int] = [   
    1,   
    2   
]   # with spaces behind
annotated: dict[
    str, int
] = {"a": 1}
(first,
 second) = (1,
            2)
one, two = [1,
            2], {"a":
                 3}
chained = other = [
    4,
]
split = [1, 2
         ][0]
empty = [
]
unicode = ["grüße",
           "😀"]
single = (
    1,
)
short = (
    1
)
comprehension = [x for x in
                 range(3)
                 if x]
condition = (1
             if True else
             2)
first_of = {"a": [1, 2,
                  3]}; second_of = [4,
                                    5]  # behind both


def function(argument=[
        1]):
    local = [1,
             2]
    return local


class Thing:
    member = {
        "a": 1,
    }


after = [ "x",
          "y" ]
wins = [1,
    2]
