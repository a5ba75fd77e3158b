"""House rules that no linter knows, each a small function from one source file to its violations.

A rule looks at syntax only, so it can be shown a planted source; which files it is applied to is decided in
`test_tidy`.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.ClassDef | ast.Lambda


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file: its path from the root of the repository and what is in it."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=self.path)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Function))


Finding = tuple[int, str]
"""A line and what is wrong there."""

Rule = Callable[[Source], Iterator[Finding]]


def violations(rule: Rule, source: Source) -> list[str]:
    """Everything in one file that breaks one rule, as a person reads it."""
    return [f"{source.path}:{line}: {problem}" for line, problem in rule(source)]


TIME_AND_CHANCE = frozenset({"datetime", "random", "secrets", "time", "uuid"})
OUTSIDE_WORLD = frozenset({"asyncio", "io", "logging", "os", "pathlib", "socket", "subprocess", "threading"})
FUNCTIONS_OF_USERS = "src/muster/client/functions/"
CODE_IN_DATA = frozenset({"cPickle", "cloudpickle", "dill", "jsonpickle", "marshal", "pickle", "shelve"})
IMPURE_CALLS = frozenset({"open", "print", "input"})
UNSTABLE_CALLS = frozenset({"hash", "id"})


def no_impure_imports(source: Source) -> Iterator[Finding]:
    """No clock, randomness, I/O, logging or environment can be reached."""
    for line, module in _imports(source):
        if module.split(".")[0] in TIME_AND_CHANCE | OUTSIDE_WORLD:
            yield line, f"imports {module}; pass in what it would tell"


def no_code_in_data(source: Source) -> Iterator[Finding]:
    """What is read is data: none of the formats that run code while they are being read.

    Functions that users send to their own jobs are code. The server never reads them, as it does not import the client.
    """
    if source.path.startswith(FUNCTIONS_OF_USERS):
        return
    for line, module in _imports(source):
        if module.split(".")[0] in CODE_IN_DATA:
            yield line, f"imports {module}; keep records, and read them with a codec"


def no_impure_calls(source: Source) -> Iterator[Finding]:
    """No builtin that reads, writes, or answers differently in the next process."""
    for call in _calls(source):
        match call.func:
            case ast.Name(id=name) if name in IMPURE_CALLS:
                yield call.lineno, f"calls {name}(); decide here, act elsewhere"
            case ast.Name(id=name) if name in UNSTABLE_CALLS:
                yield call.lineno, f"calls {name}(), which differs from process to process"
            case ast.Attribute(attr="popitem"):
                yield call.lineno, "calls popitem(); say which item"
            case _:
                pass


def no_inexact_numbers(source: Source) -> Iterator[Finding]:
    """Integer units only, so that sums are exact and order never matters."""
    for node in source.nodes:
        match node:
            case ast.Constant(value=float(), lineno=line):
                yield line, "float literal; use an integer unit"
            case ast.BinOp(op=ast.Div(), lineno=line) | ast.AugAssign(op=ast.Div(), lineno=line):
                yield line, "true division; use // on an integer unit"
            case ast.Call(func=ast.Name(id="float"), lineno=line):
                yield line, "calls float(); use an integer unit"
            case _:
                pass


ORDER_TAKING_CALLS = frozenset({"dict", "enumerate", "filter", "iter", "list", "map", "reversed", "tuple", "zip"})
ORDER_TAKING_METHODS = frozenset({"extend", "fromkeys", "join"})
SET_METHODS = frozenset({"difference", "intersection", "symmetric_difference", "union"})
SET_TYPES = frozenset({"AbstractSet", "MutableSet", "Set", "frozenset", "set"})


def no_set_iteration(source: Source) -> Iterator[Finding]:
    """A set has no order that can be relied on: sort it first, or use a dict or a tuple."""
    yield from _set_orders_taken(source.tree, _set_attributes(source))


def _set_orders_taken(scope: ast.AST, outer: frozenset[str]) -> Iterator[Finding]:
    """Findings in one scope and those inside it, given the names that mean sets around it."""
    named = (outer - _bound_names(scope)) | _set_names(scope)
    for node in _own_nodes(scope):
        for iterable in _iterated(node):
            if _is_set(iterable, named):
                yield iterable.lineno, f"takes the order of a set: {ast.unparse(iterable)}"
        if isinstance(node, Scope):
            yield from _set_orders_taken(node, named)


def _iterated(node: ast.AST) -> list[ast.expr]:
    """The expressions whose order this node takes."""
    match node:
        case ast.For(iter=iterable) | ast.comprehension(iter=iterable):
            return [iterable]
        case ast.Starred(value=iterable) | ast.YieldFrom(value=iterable):
            return [iterable]
        case ast.Call(func=ast.Name(id=name), args=args) if name in ORDER_TAKING_CALLS:
            return args
        case ast.Call(func=ast.Attribute(attr=name), args=args) if name in ORDER_TAKING_METHODS:
            return args
        case ast.Call(func=ast.Attribute(attr="pop", value=owner), args=[]):
            return [owner]
        case _:
            return []


def _is_set(node: ast.expr, named: frozenset[str]) -> bool:
    """True when the expression is certainly a set."""
    match node:
        case ast.Set() | ast.SetComp() | ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Name() | ast.Attribute():
            return ast.unparse(node) in named
        case ast.BinOp(left=left, right=right, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor()):
            return _is_set(left, named) or _is_set(right, named)
        case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in SET_METHODS | {"copy"}:
            return _is_set(owner, named)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_set(body, named) or _is_set(orelse, named)
        case _:
            return False


def _set_names(scope: ast.AST) -> frozenset[str]:
    """Names that are bound to a set in this scope."""
    names: frozenset[str] = frozenset()
    for node in _own_nodes(scope):
        match node:
            case ast.Assign(targets=targets, value=value) if _is_set(value, names):
                names |= {ast.unparse(target) for target in targets}
            case ast.AnnAssign(target=target, annotation=annotation) if _is_set_type(annotation):
                names |= {ast.unparse(target)}
            case ast.NamedExpr(target=target, value=value) if _is_set(value, names):
                names |= {target.id}
            case ast.arg(arg=name, annotation=ast.expr() as annotation) if _is_set_type(annotation):
                names |= {name}
            case _:
                pass
    return names


def _set_attributes(source: Source) -> frozenset[str]:
    """Attributes of `self` that hold sets, in any class of the file."""
    declared = {
        f"self.{name}"
        for node in source.nodes
        if isinstance(node, ast.ClassDef)
        for name in _set_names(ast.Module(body=node.body, type_ignores=[]))
    }
    assigned = {name for function in source.functions for name in _set_names(function) if name.startswith("self.")}
    return frozenset(declared | assigned)


def _bound_names(scope: ast.AST) -> frozenset[str]:
    """Names that a scope binds itself, and so do not mean what they mean around it."""
    stored = {node.id for node in _own_nodes(scope) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return frozenset(stored | {node.arg for node in _own_nodes(scope) if isinstance(node, ast.arg)})


def _is_set_type(annotation: ast.expr) -> bool:
    """True for `set`, `frozenset[int]`, `set[str] | None`."""
    match annotation:
        case ast.Subscript(value=base):
            return _is_set_type(base)
        case ast.BinOp(left=left, right=right):
            return _is_set_type(left) or _is_set_type(right)
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in SET_TYPES
        case _:
            return False


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope in source order, without the insides of the scopes it contains."""
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, Scope):
            yield from _own_nodes(child)


FUNCTION_LINES = 60
FUNCTION_LINES_HARD = 70
SHORT_FUNCTION_LINES = 35
SHORT_FUNCTIONS_PERCENT = 90
FILE_LINES = 400


def function_lines(function: Function) -> int:
    """Its length from `def` to the last statement."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def no_long_functions(source: Source) -> Iterator[Finding]:
    """A function is read at one glance."""
    for function in source.functions:
        if (lines := function_lines(function)) > FUNCTION_LINES:
            yield function.lineno, f"{function.name} has {lines} lines; {FUNCTION_LINES} is the limit"


def no_giant_functions(source: Source) -> Iterator[Finding]:
    """There is no reason good enough for a function this long."""
    for function in source.functions:
        if (lines := function_lines(function)) > FUNCTION_LINES_HARD:
            yield function.lineno, f"{function.name} has {lines} lines; {FUNCTION_LINES_HARD} is the limit for all"


def no_long_files(source: Source) -> Iterator[Finding]:
    """A file is one noun."""
    if (lines := len(source.text.splitlines())) > FILE_LINES:
        yield lines, f"has {lines} lines; {FILE_LINES} is the limit: split it by concept"


VAGUE_MODULES = frozenset({"common", "helpers", "manager", "misc", "utils"})
VAGUE_PREFIXES = ("get_", "do_", "handle_")


def no_vague_modules(source: Source) -> Iterator[Finding]:
    """A module is named after what is in it."""
    for part in PurePosixPath(source.path).with_suffix("").parts:
        if part.lstrip("_") in VAGUE_MODULES:
            yield 1, f"a module called {part} could hold anything"


def no_vague_functions(source: Source) -> Iterator[Finding]:
    """A function is named after what it answers or does."""
    for function in source.functions:
        is_magic = function.name.startswith("__") and function.name.endswith("__")
        if function.name.lstrip("_").startswith(VAGUE_PREFIXES) and not is_magic:
            yield function.lineno, f"{function.name}: the first word says nothing"


def docstrings_everywhere(source: Source) -> Iterator[Finding]:
    """Every module, public class and public function states its contract."""
    if ast.get_docstring(source.tree) is None:
        yield 1, "the module has no docstring"
    yield from _undocumented(source.tree.body)


def _undocumented(body: list[ast.stmt]) -> Iterator[Finding]:
    for node in body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_") or _repeats_a_contract(node):
            continue
        if ast.get_docstring(node) is None:
            yield node.lineno, f"{node.name} has no docstring"
        if isinstance(node, ast.ClassDef):
            yield from _undocumented(node.body)


def _repeats_a_contract(node: Function | ast.ClassDef) -> bool:
    """True for overloads, overrides and setters, whose contract is stated elsewhere."""
    return any(_last_name(each) in {"overload", "override", "setter"} for each in node.decorator_list)


# Written so that the patterns do not match themselves.
MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home)/")
REGISTRY = re.compile(
    r"https?://\S+/(?:simple\b|-/\S+[.]tgz|packages/\S+[.](?:whl|gz))|\b(?:extra-)?index[-_]url\b", re.IGNORECASE
)


def no_machine_traces(source: Source) -> Iterator[Finding]:
    """Nothing says on which machine, or from which package index, this was made."""
    for number, line in enumerate(source.text.splitlines(), start=1):
        if MACHINE_PATH.search(line):
            yield number, "an absolute path of one machine"
        if REGISTRY.search(line):
            yield number, "the address of a package registry"


WAYS_AROUND = frozenset({"importorskip", "skip", "skipif", "xfail"})
RUN_BY_PYTEST = frozenset({"composite", "fixture"})


def no_lost_tests(source: Source) -> Iterator[Finding]:
    """A function in a test file is a test, or something there uses it."""
    used = {node.id for node in source.nodes if isinstance(node, ast.Name)}
    for node in source.tree.body:
        if not isinstance(node, Function) or node.name.startswith("test_") or node.name in used:
            continue
        if not any(_last_name(each) in RUN_BY_PYTEST for each in node.decorator_list):
            yield node.lineno, f"{node.name} never runs: its name does not start with test_ and nothing calls it"


def no_ways_around(source: Source) -> Iterator[Finding]:
    """A fast test neither steps aside nor waits."""
    for node in source.nodes:
        match node:
            case ast.Attribute(attr=name) if name in WAYS_AROUND and ast.unparse(node).startswith("pytest."):
                yield node.lineno, f"{ast.unparse(node)}: a test runs or goes"
            case ast.Attribute(attr="sleep", value=ast.Name(id="time")):
                yield node.lineno, "time.sleep: use a virtual clock"
            case ast.ImportFrom(module="pytest" | "time" as module, names=names):
                for alias in names:
                    if alias.name in WAYS_AROUND | {"sleep"}:
                        yield node.lineno, f"{module}.{alias.name} is not for fast tests"
            case _:
                pass


def _imports(source: Source) -> Iterator[tuple[int, str]]:
    for node in source.nodes:
        match node:
            case ast.Import(names=names, lineno=line):
                yield from ((line, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), lineno=line):
                yield line, module
            case _:
                pass


def _calls(source: Source) -> Iterator[ast.Call]:
    return (node for node in source.nodes if isinstance(node, ast.Call))


def _last_name(node: ast.expr) -> str:
    """`fixture` of `pytest.fixture(scope="module")`."""
    match node:
        case ast.Call(func=function):
            return _last_name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""
