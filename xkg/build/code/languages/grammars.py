"""The grammars for all languages except Python. Each grammar has a query that finds definitions.

A query captures definitions (`class`, `function`, `method`, `constant`) with their `name`, and with their `owner` if
the owner is defined elsewhere. A signature ends just before `body`, or at the end of `head`. A `scope` or `members`
capture is not a symbol, but its name becomes a prefix of the inner definitions' names. Definitions in `members` are
methods.

A definition begins at its enclosing `wrapper`, if it has one. An `attribute` precedes a definition. A `comment` or
`documentation` above a definition describes it. The `tags.scm` files in the wheels lack the line ranges of C functions
and the owners of methods, and CUDA, Julia and C# have no such file."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

from tree_sitter import Language, Query

from xkg.build.code.codebase import LanguageName


@dataclass(frozen=True)
class Grammar:
    """A language's grammar and query. Text matched by the group `blank` in `blanked` is replaced with spaces."""

    language: LanguageName
    module: str
    query: str
    function: str = "language"
    blanked: re.Pattern[bytes] | None = None


@cache
def load(grammar: Grammar) -> tuple[Language, Query]:
    language = Language(getattr(import_module(grammar.module), grammar.function)())
    return language, Query(language, grammar.query)


# --- C, C++, CUDA -----------------------------------------------------------------------------------------------------

_C_QUERY = """
(function_definition declarator: [
  (function_declarator declarator: (_) @name)
  (_ declarator: (function_declarator declarator: (_) @name))
  (_ declarator: (_ declarator: (function_declarator declarator: (_) @name)))
] body: (_)? @body) @function
(type_definition type: (_ body: (_) @body) declarator: (_) @name) @class
(struct_specifier name: (_) @name body: (_) @body) @class
(union_specifier name: (_) @name body: (_) @body) @class
(enum_specifier name: (_) @name body: (_) @body) @class
(preproc_function_def name: (_) @name value: (_)? @body) @function
(preproc_def name: (_) @name value: (_)) @constant
(attributed_statement) @wrapper
(comment) @comment
"""
_C = Grammar("c", "tree_sitter_c", _C_QUERY)
# In `class EXPORT Name … {`, EXPORT is a macro, but the grammar would parse it as the name.
_EXPORT_MACRO = re.compile(
    rb"\b(?:class|struct)\s+(?P<blank>[A-Z][A-Z0-9_]{2,}(?:\([^()\n]{0,80}\))?)(?=\s+[A-Za-z_]\w*(?:\s+final)?\s*[:{<])"
)
_CPP = Grammar(
    "cpp",
    "tree_sitter_cpp",
    _C_QUERY
    + """
(function_definition declarator: (_ (function_declarator declarator: (_) @name)) body: (_)? @body) @function
(class_specifier name: (_) @name body: (_) @body) @class
(concept_definition name: (_) @name) @class
(namespace_definition name: (_) @name) @scope
(declaration declarator: (init_declarator declarator: (_) @name value: (lambda_expression body: (_) @body))) @function
(template_declaration) @wrapper
""",
    blanked=_EXPORT_MACRO,
)
_CUDA = replace(_CPP, language="cuda", module="tree_sitter_cuda")

# --- JavaScript, TypeScript -------------------------------------------------------------------------------------------

_JAVASCRIPT_QUERY = """
(function_declaration name: (_) @name body: (_) @body) @function
(generator_function_declaration name: (_) @name body: (_) @body) @function
(method_definition name: (_) @name body: (_) @body) @function
(class_declaration name: (_) @name body: (_) @body) @class
(class name: (_) @name body: (_) @body) @class
(variable_declarator name: (_) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)
]) @function
(variable_declarator name: (_) @name value: (class body: (_) @body)) @class
(variable_declarator name: (_) @name value: (object)) @scope
(variable_declarator name: (identifier) @name) @constant
(pair key: (_) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @function
(pair key: (_) @name value: (object)) @scope
(assignment_expression left: (_) @name right: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body) (generator_function body: (_) @body)
]) @function
(assignment_expression left: (_) @name right: (class body: (_) @body)) @class
(assignment_expression left: (_) @name right: (object)) @scope
[(export_statement) (lexical_declaration) (variable_declaration) (expression_statement)] @wrapper
(decorator) @attribute
(comment) @comment
"""
_JAVASCRIPT = Grammar(
    "javascript",
    "tree_sitter_javascript",
    _JAVASCRIPT_QUERY
    + """
(field_definition property: (_) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body)
]) @function
(html_comment) @comment
""",
)
_TYPESCRIPT = Grammar(
    "typescript",
    "tree_sitter_typescript",
    _JAVASCRIPT_QUERY
    + """
(public_field_definition name: (_) @name value: [
  (arrow_function body: (_) @body) (function_expression body: (_) @body)
]) @function
(abstract_class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(type_alias_declaration name: (_) @name value: (object_type) @body) @class
(internal_module name: (_) @name) @scope
(module name: (_) @name) @scope
(ambient_declaration) @wrapper
""",
    "language_typescript",
)
_TSX = replace(_TYPESCRIPT, function="language_tsx")

# --- other languages --------------------------------------------------------------------------------------------------

_JULIA = Grammar(
    "julia",
    "tree_sitter_julia",
    """
(module_definition name: (_) @name) @scope
(function_definition . (signature) @name @head) @function
(macro_definition . (signature) @name @head) @function
(assignment . [
  (call_expression) (typed_expression . (call_expression)) (where_expression . (call_expression))
  (where_expression . (typed_expression . (call_expression)))
] @name @head) @function
(struct_definition (type_head) @name @head) @class
(abstract_definition (type_head) @name @head) @class
(const_statement (assignment . (identifier) @name)) @constant
[(macrocall_expression) (macro_argument_list)] @wrapper
(string_literal) @documentation
[(line_comment) (block_comment)] @comment
""",
)
_RUST = Grammar(
    "rust",
    "tree_sitter_rust",
    """
(function_item name: (_) @name body: (_) @body) @function
(struct_item name: (_) @name body: (_)? @body) @class
(enum_item name: (_) @name body: (_) @body) @class
(union_item name: (_) @name body: (_) @body) @class
(trait_item name: (_) @name body: (_) @body) @class
(impl_item type: (_) @name) @members
(mod_item name: (_) @name body: (_)) @scope
[(const_item name: (_) @name) (static_item name: (_) @name)] @constant
(macro_definition name: (_) @name @head) @function
(attribute_item) @attribute
[(line_comment) (block_comment)] @comment
""",
)
_JAVA = Grammar(
    "java",
    "tree_sitter_java",
    """
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_) @body) @class
(annotation_type_declaration name: (_) @name body: (_) @body) @class
(method_declaration name: (_) @name body: (_)? @body) @function
(constructor_declaration name: (_) @name body: (_) @body) @function
(compact_constructor_declaration name: (_) @name body: (_) @body) @function
(field_declaration declarator: (variable_declarator name: (_) @name)) @constant
[(line_comment) (block_comment)] @comment
""",
)
_CSHARP = Grammar(
    "csharp",
    "tree_sitter_c_sharp",
    """
(namespace_declaration name: (_) @name) @scope
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_)? @body) @class
(struct_declaration name: (_) @name body: (_) @body) @class
(method_declaration name: (_) @name body: (_)? @body) @function
(constructor_declaration name: (_) @name body: (_)? @body) @function
(destructor_declaration name: (_) @name body: (_)? @body) @function
(property_declaration name: (_) @name accessors: (_) @body) @function
(property_declaration name: (_) @name value: (_) @body) @function
(variable_declarator name: (_) @name) @constant
(comment) @comment
""",
)
_GO = Grammar(
    "go",
    "tree_sitter_go",
    """
(function_declaration name: (_) @name body: (_)? @body) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner)) name: (_) @name
  body: (_)? @body) @method
(type_spec name: (_) @name type: [(struct_type) (interface_type)] @body) @class
(var_spec name: (_) @name value: (expression_list . (func_literal body: (_) @body))) @function
(const_spec name: (_) @name) @constant
[(type_declaration) (var_declaration) (const_declaration)] @wrapper
(comment) @comment
""",
)
_PHP = Grammar(
    "php",
    "tree_sitter_php",
    """
(namespace_definition name: (_) @name body: (_)) @scope
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(trait_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(function_definition name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @name body: (_)? @body) @function
(const_element . (_) @name) @constant
(assignment_expression left: (variable_name (_) @name) right: [
  (anonymous_function body: (_) @body) (arrow_function body: (_) @body)
]) @function
[(expression_statement) (const_declaration)] @wrapper
(attribute_list) @attribute
(comment) @comment
""",
    "language_php",
)
_MATLAB = Grammar(
    "matlab",
    "tree_sitter_matlab",
    """
(function_definition name: (_) @name (block)? @body) @function
(class_definition name: (_) @name @head) @class
(comment) @comment
""",
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
    """Loads the grammars for all languages. Call this function before entering a sandbox where grammars cannot be
    loaded."""
    for grammar in _BY_SUFFIX.values():
        load(grammar)


LANGUAGES = "Python, Cython, JavaScript, TypeScript, C, C++, CUDA, Julia, Rust, Java, C#, Go, PHP, R and MATLAB"

_CUDA_SIGN = re.compile(r"\b__(?:global|device|host|shared|constant)__\b|<<<")
_CPP_SIGN = re.compile(
    r"(?m)^[^\S\n]*+(?:(?:class|namespace|template|using)\b|(?:public|private|protected)[^\S\n]*+:)|\w::\w"
)


def grammars_of(suffix: str, text: str) -> tuple[Grammar, ...]:
    """Returns the grammars for a file. They depend on the suffix or, for ambiguous headers, on the text. Returns an
    empty tuple for an unknown suffix.

    The later grammars are tried if the first one cannot parse the file, as with typed JavaScript and C++ that resembles
    C."""
    grammar = _BY_SUFFIX.get(suffix)
    if grammar is None:
        return ()
    if grammar in (_C, _CPP, _CUDA) and suffix != "c":
        if _CUDA_SIGN.search(text):
            return (_CUDA,)
        if suffix == "h":
            return (_CPP, _C) if _CPP_SIGN.search(text) else (_C, _CPP)
    return (grammar, _TSX) if grammar is _JAVASCRIPT else (grammar,)
