"""A part of a file <-> a record of the model, by one declaration of its keys.

kinds   the kinds of values: how each is read, written and described
parts   a whole part, worked out once per class
schema  a part as JSON Schema
wire    the same with pydantic, for parts that are checked one by one
"""
