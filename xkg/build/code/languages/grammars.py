"""Tables over tree-sitter grammars: definitions, calls and imports in each language except Python.

`outline` reads a file by its table. Node kinds and fields come from each grammar's `node-types.json`. A *path* leads
from a node down to another: fields, kinds or indices of named children, joined by `/`; "" is the node itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Literal

from tree_sitter import Language

from xkg.build.code.codebase import LanguageName

# `scope` and `type-scope` are not symbols: they prefix the names of inner definitions, which are methods in a
# `type-scope`. A `prototype` only declares; its documentation goes to the definition.
Role = Literal["class", "function", "constant", "scope", "type-scope", "prototype"]


@dataclass(frozen=True)
class Shape:
    """A kind of node that defines a symbol. `name` is the path to its name. Its signature ends before the node at
    `body`, or with the node at `head` if set. The node defines a symbol only if the node at `where[0]` has a kind in
    `where[1]` (None: any), its parent is not in `not_in`, the path to the name passes a node of kind `through`, and the
    name matches `only`."""

    role: Role
    name: str = "name"
    body: str = "body"
    head: str | None = None
    where: tuple[str, frozenset[str] | None] | None = None
    not_in: frozenset[str] = frozenset()
    through: str | None = None
    only: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Grammar:
    """A language's table. Calls are resolved within a `family`. `names` maps composed names to the paths of their
    parts; `leaves` are names with one part. `calls` and `imports` map nodes to the path of the called or imported name;
    `uses` are nodes that name a type. A definition begins at its `wrappers`, and `attributes` precede it. A part
    reached through `members` belongs to an object of unknown type; `own` names the object itself. `dropped` parts of
    names are ignored. The group `blank` of `blanked` is read as spaces."""

    language: LanguageName
    family: str
    module: str
    function: str
    definitions: Mapping[str, tuple[Shape, ...]]
    names: Mapping[str, tuple[str, ...]]
    leaves: frozenset[str]
    calls: Mapping[str, str]
    imports: Mapping[str, str]
    members: frozenset[str]
    comments: frozenset[str]
    uses: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    documentation: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset(("this", "self", "Self"))
    dropped: frozenset[str] = frozenset()
    importing_calls: frozenset[str] = frozenset()
    blanked: re.Pattern[bytes] | None = None


@cache
def load(module: str, function: str) -> Language:
    """The compiled grammar that `module.function()` returns."""
    return Language(getattr(import_module(module), function)())


def _of(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UPPER = re.compile(r"[A-Z][A-Z0-9_]+")

# --- C, C++, CUDA -----------------------------------------------------------------------------------------------------

_RECORD = (Shape("class", where=("body", None), not_in=frozenset(("type_definition",))),)
_PROTOTYPE = (Shape("prototype", name="declarator", body="", through="function_declarator"),)
_C_DEFINITIONS: Mapping[str, tuple[Shape, ...]] = {
    "function_definition": (Shape("function", name="declarator", through="function_declarator"),),
    "struct_specifier": _RECORD,
    "union_specifier": _RECORD,
    "enum_specifier": _RECORD,
    "type_definition": (Shape("class", name="declarator", body="type/body", where=("type/body", None)),),
    "preproc_function_def": (Shape("function", body="value"),),
    "preproc_def": (Shape("constant", body="", head="", where=("value", None), only=_UPPER),),
    "declaration": _PROTOTYPE,
}
_C_NAMES: Mapping[str, tuple[str, ...]] = {
    "pointer_declarator": ("declarator",),
    "function_declarator": ("declarator",),
    "array_declarator": ("declarator",),
    "parenthesized_declarator": ("0",),
    "attributed_declarator": ("0",),
    "field_expression": ("argument", "field"),
    "parenthesized_expression": ("0",),
}
_C = Grammar(
    language="c",
    family="c",
    module="tree_sitter_c",
    function="language",
    definitions=_C_DEFINITIONS,
    names=_C_NAMES,
    leaves=_of("identifier field_identifier type_identifier"),
    calls={"call_expression": "function"},
    imports={"preproc_include": "path"},
    uses=_of("type_identifier"),
    members=_of("field_expression"),
    comments=_of("comment"),
    wrappers=_of("attributed_statement"),
)

# `class EXPORT Name … {`: EXPORT is a macro, but the grammar would read it as the name.
_EXPORT_MACRO = re.compile(
    rb"\b(?:class|struct)\s+(?P<blank>[A-Z][A-Z0-9_]{2,}(?:\([^()\n]{0,80}\))?)(?=\s+[A-Za-z_]\w*(?:\s+final)?\s*[:{<])"
)
_CPP = Grammar(
    language="cpp",
    family="c",
    module="tree_sitter_cpp",
    function="language",
    definitions={
        **_C_DEFINITIONS,
        "class_specifier": _RECORD,
        "namespace_definition": (Shape("scope", body=""),),
        "field_declaration": _PROTOTYPE,
        "concept_definition": (Shape("class", body="1"),),
        "declaration": (
            Shape("function", "declarator/declarator", "declarator/value/body", None,
                  ("declarator/value", frozenset(("lambda_expression",)))),
            *_PROTOTYPE,
        ),
    },
    names={
        **_C_NAMES,
        "reference_declarator": ("0",),
        "qualified_identifier": ("scope", "name"),
        "nested_namespace_specifier": ("0", "1"),
        "template_function": ("name",),
        "template_type": ("name",),
        "template_method": ("name",),
        "dependent_name": ("0",),
        "dependent_type": ("0",),
    },
    leaves=_C.leaves | _of("namespace_identifier destructor_name operator_name operator_cast this"),
    calls={"call_expression": "function", "new_expression": "type"},
    imports=_C.imports,
    uses=_C.uses,
    members=_C.members,
    comments=_C.comments,
    wrappers=_of("template_declaration attributed_statement"),
    blanked=_EXPORT_MACRO,
)  # fmt: skip
_CUDA = replace(_CPP, language="cuda", module="tree_sitter_cuda")

# --- JavaScript, TypeScript -------------------------------------------------------------------------------------------

_FUNCTIONS = _of("arrow_function function_expression generator_function function")
_VALUES = (
    Shape("function", body="value/body", where=("value", _FUNCTIONS)),
    Shape("class", body="value/body", where=("value", frozenset(("class",)))),
    Shape("scope", body="value", where=("value", frozenset(("object",)))),
)
_BY_NAME = (Shape("function"),)
_TYPE = (Shape("class"),)
_JAVASCRIPT = Grammar(
    language="javascript",
    family="javascript",
    module="tree_sitter_javascript",
    function="language",
    definitions={
        "function_declaration": _BY_NAME,
        "generator_function_declaration": _BY_NAME,
        "method_definition": _BY_NAME,
        "class_declaration": _TYPE,
        "class": (Shape("class", where=("name", None), not_in=frozenset(("variable_declarator",))),),
        "variable_declarator": (*_VALUES, Shape("constant", body="", head="", only=_UPPER)),
        "field_definition": (Shape("function", "property", "value/body", None, ("value", _FUNCTIONS)),),
        "pair": (
            Shape("function", "key", "value/body", None, ("value", _FUNCTIONS)),
            Shape("scope", "key", "value", None, ("value", frozenset(("object",)))),
        ),
        "assignment_expression": (
            Shape("function", "left", "right/body", None, ("right", _FUNCTIONS)),
            Shape("class", "left", "right/body", None, ("right", frozenset(("class",)))),
            Shape("scope", "left", "right", None, ("right", frozenset(("object",)))),
        ),
    },
    names={"member_expression": ("object", "property"), "parenthesized_expression": ("0",)},
    leaves=_of("identifier property_identifier private_property_identifier type_identifier this nested_identifier"),
    calls={
        "call_expression": "function",
        "new_expression": "constructor",
        "jsx_opening_element": "name",
        "jsx_self_closing_element": "name",
        "class_heritage": "0",
    },
    imports={"import_statement": "source", "export_statement": "source"},
    importing_calls=_of("require import"),
    members=_of("member_expression"),
    comments=_of("comment html_comment"),
    wrappers=_of("export_statement lexical_declaration variable_declaration expression_statement"),
    attributes=_of("decorator"),
    dropped=_of("prototype exports module window globalThis"),
)
_TYPESCRIPT = replace(
    _JAVASCRIPT,
    language="typescript",
    module="tree_sitter_typescript",
    function="language_typescript",
    definitions={
        **_JAVASCRIPT.definitions,
        "abstract_class_declaration": _TYPE,
        "interface_declaration": _TYPE,
        "enum_declaration": _TYPE,
        "type_alias_declaration": (Shape("class", body="value", where=("value", frozenset(("object_type",)))),),
        "public_field_definition": (Shape("function", body="value/body", where=("value", _FUNCTIONS)),),
        "internal_module": (Shape("scope", body=""),),
        "module": (Shape("scope", body="", where=("name", frozenset(("identifier", "nested_identifier")))),),
    },
    names={**_JAVASCRIPT.names, "nested_identifier": ("object", "property"), "non_null_expression": ("0",)},
    leaves=_JAVASCRIPT.leaves - {"nested_identifier"},
    calls={**_JAVASCRIPT.calls, "extends_clause": "value"},
    uses=_of("type_identifier"),
    wrappers=_JAVASCRIPT.wrappers | {"ambient_declaration"},
)
_TSX = replace(_TYPESCRIPT, function="language_tsx")

# --- Julia ------------------------------------------------------------------------------------------------------------

_CALL = frozenset(("call_expression",))
_JULIA = Grammar(
    language="julia",
    family="julia",
    module="tree_sitter_julia",
    function="language",
    definitions={
        "module_definition": (Shape("scope", body=""),),
        "function_definition": (Shape("function", name="0", head="0"),),
        "macro_definition": (Shape("function", name="0", head="0"),),
        "struct_definition": (Shape("class", name="0", head="0"),),
        "abstract_definition": (Shape("class", name="0", head="0"),),
        "const_statement": (Shape("constant", name="0/0", body="", head=""),),
        "assignment": (
            Shape("function", "0", "", "0", ("0", _CALL)),
            Shape("function", "0", "", "0", ("0/0", _CALL)),  # with a return type, or `where`
            Shape("function", "0", "", "0", ("0/0/0", _CALL)),
        ),
    },
    names={
        "signature": ("0",),
        "type_head": ("0",),
        "where_expression": ("0",),
        "call_expression": ("0",),
        "typed_expression": ("0",),
        "parametrized_type_expression": ("0",),
        "binary_expression": ("0",),
        "parenthesized_expression": ("0/-1",),  # `(f::Type)(x)`: calls an object of the type
        "field_expression": ("value", "-1"),
        "macro_identifier": ("0",),
    },
    leaves=_of("identifier operator"),
    calls={"call_expression": "0", "broadcast_call_expression": "0", "macrocall_expression": "0"},
    imports={"using_statement": "", "import_statement": ""},
    importing_calls=_of("include"),
    members=frozenset(),
    comments=_of("line_comment block_comment"),
    documentation=_of("string_literal"),
    wrappers=_of("macrocall_expression macro_argument_list"),
    own=frozenset(),
)

# --- Rust -------------------------------------------------------------------------------------------------------------

_RUST = Grammar(
    language="rust",
    family="rust",
    module="tree_sitter_rust",
    function="language",
    definitions={
        "function_item": _BY_NAME,
        "function_signature_item": (Shape("prototype", body=""),),
        "struct_item": _TYPE,
        "enum_item": _TYPE,
        "union_item": _TYPE,
        "trait_item": _TYPE,
        "impl_item": (Shape("type-scope", name="type", body=""),),
        "mod_item": (Shape("scope", body="", where=("body", None)),),
        "const_item": (Shape("constant", body="", head=""),),
        "static_item": (Shape("constant", body="", head=""),),
        "macro_definition": (Shape("function", head="name"),),
    },
    names={
        "scoped_identifier": ("path", "name"),
        "scoped_type_identifier": ("path", "name"),
        "generic_type": ("type",),
        "generic_function": ("function",),
        "reference_type": ("type",),
        "field_expression": ("value", "field"),
    },
    leaves=_of("identifier type_identifier field_identifier self super crate primitive_type"),
    calls={"call_expression": "function", "macro_invocation": "macro", "struct_expression": "name"},
    imports={"use_declaration": "argument", "mod_item": "name"},
    uses=_of("type_identifier"),
    members=_of("field_expression"),
    comments=_of("line_comment block_comment"),
    attributes=_of("attribute_item"),
    dropped=_of("crate super"),
)

# --- Java, C#, Go, PHP, MATLAB ----------------------------------------------------------------------------------------

_JAVA = Grammar(
    language="java",
    family="java",
    module="tree_sitter_java",
    function="language",
    definitions={
        **dict.fromkeys(
            ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
             "annotation_type_declaration"), _TYPE,
        ),
        **dict.fromkeys(("method_declaration", "constructor_declaration", "compact_constructor_declaration"), _BY_NAME),
        "field_declaration": (Shape("constant", name="declarator/name", body="", head="", only=_UPPER),),
    },
    names={"scoped_identifier": ("scope", "name"), "field_access": ("object", "field"), "generic_type": ("0",),
           "method_invocation": ("object", "name"), "scoped_type_identifier": ("0", "-1")},
    leaves=_of("identifier type_identifier this super"),
    calls={"method_invocation": "", "object_creation_expression": "type"},
    imports={"import_declaration": "0"},
    uses=_of("type_identifier"),
    members=_of("method_invocation field_access"),
    comments=_of("line_comment block_comment"),
)  # fmt: skip
_CSHARP = Grammar(
    language="csharp",
    family="csharp",
    module="tree_sitter_c_sharp",
    function="language",
    definitions={
        "namespace_declaration": (Shape("scope", body=""),),
        **dict.fromkeys(
            ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration",
             "struct_declaration"), _TYPE,
        ),
        **dict.fromkeys(
            ("method_declaration", "constructor_declaration", "destructor_declaration", "local_function_statement"),
            _BY_NAME,
        ),
        "property_declaration": (
            Shape("function", body="accessors", where=("accessors", None)), Shape("function", body="value"),
        ),
        "variable_declarator": (Shape("constant", body="", head="", only=_UPPER),),
    },
    names={"qualified_name": ("qualifier", "name"), "member_access_expression": ("expression", "name"),
           "generic_name": ("0",), "alias_qualified_name": ("name",)},
    leaves=_of("identifier this base"),
    calls={"invocation_expression": "function", "object_creation_expression": "type", "base_list": "0"},
    imports={"using_directive": "-1"},
    members=_of("member_access_expression"),
    comments=_of("comment"),
    attributes=_of("attribute_list"),
)  # fmt: skip
_GO = Grammar(
    language="go",
    family="go",
    module="tree_sitter_go",
    function="language",
    definitions={
        "function_declaration": _BY_NAME,
        "method_declaration": (Shape("function", name=""),),
        "type_spec": (
            Shape("class", body="type", where=("type", frozenset(("struct_type", "interface_type")))),
        ),
        "var_spec": (Shape("function", body="value/0/body", where=("value/0", frozenset(("func_literal",)))),),
        "const_spec": (Shape("constant", body="", head="", only=_UPPER),),
    },
    names={"method_declaration": ("receiver/0/type", "name"), "pointer_type": ("0",), "generic_type": ("type",),
           "selector_expression": ("operand", "field"), "qualified_type": ("package", "name"),
           "parenthesized_expression": ("0",)},
    leaves=_of("identifier type_identifier field_identifier package_identifier"),
    calls={"call_expression": "function"},
    imports={"import_spec": "path"},
    uses=_of("type_identifier"),
    members=_of("selector_expression"),
    comments=_of("comment"),
    wrappers=_of("type_declaration var_declaration const_declaration"),
    own=frozenset(),
)  # fmt: skip
_PHP = Grammar(
    language="php",
    family="php",
    module="tree_sitter_php",
    function="language_php",
    definitions={
        "namespace_definition": (Shape("scope", body="", where=("body", None)),),
        **dict.fromkeys(
            ("class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"), _TYPE
        ),
        "function_definition": _BY_NAME,
        "method_declaration": _BY_NAME,
        "const_element": (Shape("constant", name="0", body="", head="", only=_UPPER),),
        "assignment_expression": (
            Shape("function", "left", "right/body", None,
                  ("right", frozenset(("anonymous_function", "arrow_function")))),
        ),
    },
    names={"qualified_name": ("prefix", "-1"), "namespace_name": ("-1",), "variable_name": ("0",),
           "member_call_expression": ("object", "name"), "scoped_call_expression": ("scope", "name"),
           "object_creation_expression": ("0",)},
    leaves=_of("name relative_scope"),
    calls={"function_call_expression": "function", "member_call_expression": "", "scoped_call_expression": "",
           "object_creation_expression": "", "base_clause": "0"},
    imports={"namespace_use_clause": "0"},
    members=_of("member_call_expression"),
    comments=_of("comment"),
    wrappers=_of("expression_statement const_declaration"),
    attributes=_of("attribute_list"),
    own=_of("this self static"),
)  # fmt: skip
_MATLAB = Grammar(
    language="matlab",
    family="matlab",
    module="tree_sitter_matlab",
    function="language",
    definitions={
        "function_definition": (Shape("function", body="block"),),
        "class_definition": (Shape("class", head="name"),),
    },
    names={"field_expression": ("object", "field"), "property_name": ("0", "-1")},
    leaves=_of("identifier"),
    calls={"function_call": "name"},
    imports={},
    members=_of("field_expression"),
    comments=_of("comment"),
    own=_of("obj self this"),
)

_BY_SUFFIX: Mapping[str, Grammar] = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs"), _JAVASCRIPT),
    **dict.fromkeys(("ts", "mts", "cts"), _TYPESCRIPT),
    "tsx": _TSX,
    "c": _C,
    **dict.fromkeys(("cc", "cpp", "cxx", "c++", "hh", "hpp", "hxx", "h++", "ipp", "tpp", "inl"), _CPP),
    **dict.fromkeys(("cu", "cuh"), _CUDA),
    "h": _C,
    "jl": _JULIA,
    "rs": _RUST,
    "java": _JAVA,
    "cs": _CSHARP,
    "go": _GO,
    "php": _PHP,
    "m": _MATLAB,
}
SUFFIXES = frozenset(_BY_SUFFIX)


def load_all() -> None:
    """Loads the grammars of all languages, for a process that cannot load them later."""
    for grammar in _BY_SUFFIX.values():
        load(grammar.module, grammar.function)


LANGUAGES = "Python, Cython, JavaScript, TypeScript, C, C++, CUDA, Julia, Rust, Java, C#, Go, PHP, R and MATLAB"

_CUDA_SIGN = re.compile(r"\b__(?:global|device|host|shared|constant)__\b|<<<")
_CPP_SIGN = re.compile(
    r"(?m)^[^\S\n]*+(?:(?:class|namespace|template|using)\b|(?:public|private|protected)[^\S\n]*+:)|\w::\w"
)


def grammars_of(suffix: str, text: str) -> tuple[Grammar, ...]:
    """The tables for a file, by its suffix and, for ambiguous headers, by its text. Later tables are for files that the
    first cannot read: types in JavaScript, C++ in apparent C. Empty for an unknown suffix."""
    grammar = _BY_SUFFIX.get(suffix)
    if grammar is None:
        return ()
    if grammar.family == "c" and suffix != "c":
        if _CUDA_SIGN.search(text):
            return (_CUDA,)
        if suffix == "h":
            return (_CPP, _C) if _CPP_SIGN.search(text) else (_C, _CPP)
    return (grammar, _TSX) if grammar is _JAVASCRIPT else (grammar,)
