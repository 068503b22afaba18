"""Lists the pieces of each format's syntax that the growth tests repeat. Some pieces open and never close, some close
without opening, and others are small constructs or single marks."""

from collections.abc import Iterable

from tests.growth.pumping import Pump

_MARKS = (
    *tuple("a \n\t\\$%&#_^~{}[]()<>|*`'\"-=+.,;:!?/@0"),
    "  \n",
    "\n\n",
    " a",
    "a ",
    "a\n",
    "a.\n\n",
    "a, ",
    "A. ",
    "A B ",
)
_LATEX_BODY = (
    "\\", "\\a", "\\a ", "\\a{", "\\a{}", "{\\a", "{{}", "{a}", "$a", "$a$", "$$a$$", "$$", "\\(", "\\[", "\\(a\\)",
    "\\begin{a}", "\\end{a}", "\\begin{a}\\end{a}", "\\begin{equation}a\\end{equation}", "\\begin{equation}",
    "\\begin{itemize}\\item a", "\\item", "\\section{a}", "\\section{", "\\section", "\\paragraph{a}", "\\emph{a}",
    "\\emph{", "\\textbf{a} ", "{\\bf a}", "\\cite{a}", "\\cite{a,", "\\citep[a][", "\\cite{", "\\ref{a}", "\\label{a}",
    "\\footnote{", "\\footnote{a}", "\\newcommand{\\a}{\\b}", "\\newcommand{\\a}[", "\\def\\a{", "\\def\\a#1{#1}",
    "\\newcommand", "\\let\\a\\b", "\\verb|", "\\verb|a|", "%\n", "% a\n", "\\%", "~\\cite{a}", "a & b \\\\\n", "\\\\",
    "\\begin{algorithm}\\caption{a}\\end{algorithm}", "\\begin{algorithm}", "\\State a\n", "\\begin{verbatim}",
    "\\begin{tabular}{", "\\input{a}", "\\input{main}", "\\include a", "\\iffalse", "\\iffalse\\fi", "\\if0", "\\else",
    "\\bibitem{a} B. C. ", "\\bibitem[", "\\author{a}", "\\author{a \\and b}", "\\and", "\\title{", "\\title{a}",
    "\\thanks{", "\\href{a}{b}", "\\url{", "\\'e", "\\'", "\\\"{o}", "\\left(", "\\frac{a}{", "We propose a b ",
    "\\gamma ",
    "``a''", "``", "a (b) ", "(a, ", "(see ", "[a](", "e.g. ", "i.e., ", "and ", "Fig. 1 ", "A-", "a-\n", "1.2 ", "20",
    "called \\emph{a} ", "the a method ", "A a B ", "AB (CD) ", "Proof. ", "\\appendix", "\\begin{abstract}", "\\par ",
    "http://a ", "a = b, ", "we call this a, ", "\\vspace{1pt}", "\\hspace*", "\\textcolor{a}{", "\\multicolumn{2}{c}{",
)  # fmt: skip
_LATEX = (
    ("\\documentclass{article}\\begin{document}\\section{A}\nWe do. ", "\n\\end{document}"),
    ("\\documentclass{article}\\begin{document}\\begin{abstract}", "\\end{abstract}\\end{document}"),
    ("\\documentclass{article}\\title{", "}\\begin{document}\\end{document}"),
    ("\\documentclass{article}\\author{", "}\\begin{document}a\\end{document}"),
    ("", ""),
)
_MARKDOWN_BODY = (
    "[", "![", "[a](", "[a](b)", "![a](b)", "[a]", "[^a]: ", "[^a]", "**a", "**a**", "**", "*a", "*a*", "_a", "_a_ ",
    "__a", "`a", "`a`", "```\n", "```a\nb\n```\n", "~~~\n", "# a\n", "## a\n\nb\n\n", "#", "# ", "a\n===\n", "a\n---\n",
    "---\n", "- a\n", "  - a\n", "1. a\n", "> a\n", ">", "> > ", "|a|b|\n", "|", "|a|\n|-|\n", "|-", "$a", "$a$",
    "$$\n",
    "$$a$$", "$$\na\n$$\n", "\\[", "\\(", "\\(a\\)", "\\begin{a}", "\\begin{equation}a\\end{equation}\n", "\\section{",
    "\\section*{a}\n", "<a>", "<", "</a>", "<a ", "<!--", "<!-- -->", "<br>", "&amp;", "&", "[1] A. B. C, 2020.\n",
    "A. B. C. D. 2020. ", "(A, 2020) ", "(A et al., 2020; ", "(", "(a", "(a) ", "((", "**a.** b\n\n", "**a** b\n\n",
    "Algorithm 1 a\n", "**Algorithm 1** a\n", "1: a\n", "\\footnotetext{a}\n", "\\footnotetext{", "\\caption{a}",
    "\\author{a}\n", "\\author{", "\\title{a}\n", "title: a\n", "---\ntitle: a\n---\n", "Figure 1: a\n", "Table 1: ",
    "Proof. ", "a-\nb", "a-\n\n", "\\tag{1}", "\\cite{a}", "\\emph{a}", "http://a ", "doi: 10.1234/a ",
    "arXiv:2001.00001 ",
    "\\textbf{a", "\\'e", "\\\\", "We propose a b, ", "called *a* ", "a (AB) ", "## References\n[1] a\n", "\u00a0", "é",
    "Abstract\n", "**Abstract** a\n", "\\begin{abstract}", "\\begin{tabular}", "\\hline", "a\u2028",
)  # fmt: skip
_MARKDOWN = (
    ("# A\n\nWe do. ", "\n\nThe end.\n"),
    ("# A\n\n## Abstract\n\n", "\n\n## Introduction\n\na\n"),
    ("# A\n\n## Introduction\n\na\n\n## References\n\n", "\n"),
    ("", ""),
)
_HTML_BODY = (
    "<p>", "<p>a</p>", "<div>", "<div>a</div>", "</div>", "<b>", "<b>a</b>", "<i>a</i> ", "<h1>", "<h2>a</h2>",
    "<h2>a</h2><p>b</p>",
    "<ul><li>", "<li>a", "<li>a</li>", "<table>", "<tr><td>", "<td>", "<table><tr><td>a</td></tr></table>", "<math>",
    "<math><mi>a</mi></math>",
    "<a href='", "<a href='b'>a</a>", "<!--", "<!-- a -->", "<script>", "<script>a</script>", "&", "&amp;", "&#",
    "&#97;",
    "<br>", "<span>", "<span>a</span>", "<sup>", "<sup>1</sup>", "<section>", "<section><h2>a</h2>", "<pre>",
    "<code>a</code>",
    "<cite class='ltx_cite'>a</cite>", "<figure>", "<figure><figcaption>Algorithm 1 a</figcaption></figure>", "<svg>",
    "<",
    "<img alt='a'>", "<em>", "<em>a", "<blockquote>", "<dl><dt>a<dd>", "<meta name='citation_author' content='a'>",
    "<meta name='citation_title' content='a'>", "<li class='ltx_bibitem'>a</li>", "$a$", "\\(a\\)", "$$", "<![CDATA[",
    "<?a",
    "<template>", "<svg><foreignObject>", "<form>", "<select><option>", "<div class='ltx_authors'>a, b and c</div>",
)  # fmt: skip
_HTML = (
    ("<html><head><title>A</title></head><body><h1>A</h1><p>", "</p></body></html>"),
    ("<html><head><title>A", "</title></head><body><h1>A</h1><p>b</body></html>"),
    ("<html><body><h1>A</h1><h2>Abstract</h2><p>", "</p><h2>References</h2><ul><li>a</ul></body></html>"),
    ("", ""),
)
_CODE_BODY = (
    "int f();", "int f(){}\n", "{", "}", "(", ")", "[", "]", "[[", "((", "{}", "()", ";", ",", "a,", "a;", "a.",
    "a->", "a::", "::a",
    "a(", "a()", "a().", "a[", "a<", "a<b>", "<", "<<", "*", "**", "&", "!", "-", "- ", "~", "+a", "a+", "a=",
    "a=b;\n", "a?b:", "a\n",
    "/*", "*/", "/**/", "/* a */\n", "//\n", "// a\n", "#", "# a\n", "#=", "#=a=#\n", "#include <a>\n",
    "#define A 1\n", "#define A\\\n",
    "#if 1\n", "#endif\n", "\"", "'", "\"\"\"", "'''", "`", "${", "`${", "\"a\"", "'a'", "\\", "\\\n", "r#\"", "b'",
    "class A {", "class A {};\n", "class A B ", "class AAA(", "struct A ", "struct A{", "namespace a {", "template <",
    "template <class A> ",
    "using a;\n", "public:", "  public ", "enum A {a};\n", "typedef a b;\n", "extern \"C\" {", "@a ", "@a\n",
    "decltype(", "auto a = [](){", "[](){",
    "function a() {", "function a() {}\n", "a => ", "(a) => ", "() => {", "var a = ", "var a = function() {",
    "const A = 1;\n",
    "import a from 'b';\n", "import ", "export ", "export default ", "require('a');\n", "new a(", "<a>", "<a", "</a>",
    "<a b={",
    "interface A {", "type A = ", "a: ", "a?: b;\n", "a as b ", "async ", "await ", "yield ", "return ", "throw ",
    "if (a) ", "if (a) {} else ",
    "def a():\n", "def a(): pass\n", "class A: pass\n", "class A:\n ", " ", "lambda: ", "if a:\n", "not ",
    "a if b else ", "a for b in c ",
    "from a import b\n", "import a\n", "from . import a\n", "from a import (", "@a\ndef b(): pass\n", "a = 1\n",
    "A = 1\n", "f'{", "f\"{a}\"",
    "x.y.z", "self.a", "a.b.c()\n", "try:\n", "with a:\n", "print a\n", "exec '", "del a\n", "global a\n",
    "async def a(): pass\n",
    "module A\n", "end\n", "function a()\nend\n", "f(x) = x\n", "a(x::B) where ", "begin ", "struct A end\n",
    "using A\n", "@a begin ", "macro a end\n", "a' ", ":a ", "quote ",
    "fn a() {", "fn a() {}\n", "impl A {", "impl A for B {}\n", "mod a {", "mod a;\n", "use a::{", "use a::b;\n",
    "pub ", "&'a ", "|a| ", "#[a]\n", "macro_rules! a {", "a!(", "Box<", "where A: B, ",
    "'a'\n", "include(", "require(", "(a).b", "a = b = ",
    "__global__ ", "a<<<b>>>();\n", "é", "\u2028", "\f", "\r", "\t",
)  # fmt: skip
_CODE = (
    ("", ""),
    ("a = 1\nint f();\n", "\nint g() { return 1; }\n"),
    ("class A {\n", "\n};\n"),
    ("def f():\n  ", "\n"),
)
_TOML_BODY = (
    "a.", ".a", "a.b.c=1\n", "a=1\n", "[a]\n", "[", "[a.", "[[a]]\n", "[[", "a=[", "a={", "a={b=", "[[[", "{", "]",
    "}", "a='", "a=\"", "\"\"\"",
    "'''", "\\", "#", "# a\n", ",", "'a',", "['a'],", "\"a\".", "a = 1\n\n", "0", "1_", "a-b=1\n", "=", " ", "\n",
    "'\\n',", "a.a.",
)  # fmt: skip
_YAML_BODY = (
    "- a\n", "  - a\n", "- ", "- - ", "a:\n ", "a: b\n", "[", "{", "{a: ", "[a,", "&a ", "*a ", "- &a [b]\n- *a\n",
    "'", "\"", "|\n", ">\n", "# a\n",
    "? ", "? a\n", "!!a ", "!a ", "---\n", "...\n", "%a\n", "\\", ": ", "a=1=2\n", "- a=1.2\n", "- pip:\n  - a\n",
    "\n", " ", "a ", "<<: *a\n", "0", "1:",
)  # fmt: skip
_LINES = (
    "a\n", "a==1\n", "-r a\n", "-e git+https://a\n", "git+https://a/b\n", "a @ git+https://b\n", "a[b]", "a[", "[",
    "a;", "a; b\n", " #", "\\\n", "--a ",
    "a>=1,", ">=", "a=1\n", "[options]\n", "install_requires =\n a\n", "[options]\ninstall_requires =\n ", "%(a)s",
    "a:b\n", " a\n", "[a]\na=b\n",
    "setup(install_requires=[", "setup(install_requires=['a'])\n", "'a',", "(", "[", "-", "~", "not ", "a.", "x+",
    "f'{",
)  # fmt: skip
_JSON_BODY = (
    "[", "{", "{\"a\":", "[[", "]", "}", "{}", "{\"", "{}{\"a\":", "```\n{\"", "```json\n{\"said\": \"", "```",
    "```\n", "<think>", "</think>", "\"", "\\", "\\\\",
    "\\u0000", "\\u00", "[1,", "0", "1e", "-", " ", "\n", "a", "{\"a\": [", "{\"said\": \"a\"}",
    "{\"said\": \"a\"}\n", "{ ", "{\n", "{\"a\":1,", "\"a\",", "\x7f", "{\"a\": {}",
)  # fmt: skip
_BIBTEX_BODY = (
    "@article{a,", "@article{a, title={b}}\n", "@article{", "@article", "@", "@string{a=b}", "@string{a={b}}\n",
    "@string{a=a#a}\n", "@comment{", "title=", "title={", "title={a},", "a=a#", "#", "# ",
    "a # ", "\"", "\"a\" # ", "{", "}", "{a}", "{{", "\\", "\\{", "=", ",", " ,", "author={A and B},", " and ",
    "A and ", "A, B and ", "year=2020,", "(", "@a(", "doi={10.1/a},", "\\bibitem{a} ",
    "\\bibitem[a(2020)]{b} A. B. \\newblock C. ", "\\newblock ", "\\newblock", "\\emph{a}", "A. B. C: ", "``A,'' ",
    "\"A\" ", "pp. 1-2, ", "arXiv:2001.00001 ", "10.1000/a.", "URL http://a ", "10.1234/", "2020a. ", "(2020) ",
    "In ", "vol. 1(2):3-4, ",
)  # fmt: skip
_CYPHER_BODY = (
    "MATCH (n) ", "(", "[", "{", "(n)-", "-[", "-[*]->", "-[:A*1..2]->", "-->()", "RETURN ", "a.", "a,", "[x IN a | ",
    "NOT ", "-", "`", "``", "`a`", "'", "''", "'\\'", "\\u0041", "\"", "/*", "/**/", "//\n", "//", "$", "$a ",
    "0", "1.", "..", "1..", ".", "+", "a+", "WITH a ", "CALL {", "a:B", "|", "CASE WHEN a THEN ", "=~ 'a' ",
    "=~ '(a*)*' ", "UNION ", "WHERE a ", "AND a ", "reduce(a=1, b IN c | ", "EXISTS {", "&", "%", "<", "a a ",
)  # fmt: skip
_REGEX = (
    "(a",
    "(a)",
    "(?",
    "(?s)",
    "[a",
    "a*",
    "a+",
    ".*",
    "a{1,",
    "\\\\",
    "\\\\u0041",
    "(a|",
    "\\\\Q",
    "(?:a)",
)
_BLOCKS = ("a.b = 1\n", "a/b.c = @d()\n", "a {\n", "a: {", "}\n", "a: 1\n", "a = {\n  b = 1\n}\n")
_GIT = (
    "[a]\n",
    '[remote "origin"]\n',
    '[remote "',
    "url = a\n",
    "url=",
    "[core]\n\tworktree = a\n",
    "[extensions]\n",
    "[include]\n\tpath = a\n",
    "\tobjectFormat = sha256\n",
    "\\\n",
    "# pack-refs with: peeled\n",
    "0" * 40 + " refs/heads/a\n",
    "0" * 40 + " refs/heads/main\n",
    "0" * 40,
    "ref: refs/heads/main\n",
)
_LICENCE = (
    "MIT License\n",
    "SPDX-License-Identifier: ",
    "Apache License ",
    "Version 2.0 ",
    "GNU General Public License ",
    "Permission is hereby granted, free of charge, ",
    "Redistribution and use in source and binary forms ",
    "License\n",
)
_LINKS = (
    "github.com/a/b ",
    "https://github.com/a/",
    "https://github.com/a/b.git",
    "git@github.com:a/b ",
    "github.com/",
    "Our code is at https://github.com/a/b. ",
    "gitlab.com/a/b/",
    "huggingface.co/a/b ",
    "\\url{github.com/a/b}",
    "github.com/a/b" + ".",
    "www.",
    "://",
    "code ",
    "available at ",
)
_PROSE = (
    "a. ", "A. ", "a.\n", "- a\n", "1. a\n", "(a) ", "a, ", "a, and ", "and then ", "; ", ": ", ". ", "! ", "a-",
    "a-b-", "A B", "AbC", "a_b", "/", "a(b", "(", "a (b) ", "))", "[", "\u200b", "\u202e", "\r", "\u2028", "`",
    "````", "```\n",
    "File \"a\", line 1\n", "  File \"a\", line 1, in b\n    c\n", "ValueError: a\n", "a: ", "a.b: c\n",
    "Traceback (most recent call last):\n", "0x1f ", "12.34s ", "<a at 0x1f>", "/tmp/a/", "\x1b[0m", "1.5 s ", "é",
    "α", "++", "C++ ",
    "$a$ ", "$a", "\\frac{a}{b}", "\\a", "^{", "_{", "x_1 ", "1e5 ", "1,000 ", "²", "10^{", "\\times 10", "1/2 ",
    "a=1 ", "\\mathrm{e}", "\\,", "\\begin{a}", "{", "{{", "2020; ", "10.1000/a ", "arXiv:2001.00001 ",
)  # fmt: skip
_ENDINGS = ("js", "ts", "tsx", "c", "h", "cpp", "cu", "jl", "rs", "python", "notebook")
_PLAIN = (("", ""), ("A b. ", " The end."))


def _all(bodies: Iterable[str], frames: Iterable[tuple[str, str]]) -> list[Pump]:
    return [Pump(before, piece, after) for before, after in frames for piece in dict.fromkeys((*bodies, *_MARKS))]


_CELLS = (('{"cells": [{"cell_type": "code", "source": "', '"}]}'), ('{"cells": [', "]}"), ("", ""))
FRAGMENTS: dict[str, list[Pump]] = {
    "latex": _all(_LATEX_BODY, _LATEX),
    "techniques of latex": _all(_LATEX_BODY, _LATEX[:2]),
    "readable latex": _all(_LATEX_BODY, _PLAIN),
    "bibtex in latex": _all((*_BIBTEX_BODY, *_LATEX_BODY), (("", ""), ("@article{a, title={", "}}"),
    ("@article{a, author={", "}}"))),
    "bibtex": _all(_BIBTEX_BODY, (("", ""), ("@article{a, title={", "}}"))),
    "bbl": _all((*_BIBTEX_BODY, *_LATEX_BODY), (("", ""), ("\\bibitem{a} A. B. \\newblock ", " 2020."))),
    "reference": _all((*_BIBTEX_BODY, *_PROSE), _PLAIN),
    "markdown": _all(_MARKDOWN_BODY, _MARKDOWN),
    "techniques of markdown": _all((*_MARKDOWN_BODY, *_PROSE), _MARKDOWN[:2]),
    "html": _all(_HTML_BODY, _HTML),
    **{ending: _all(_CODE_BODY, _CODE) for ending in _ENDINGS},
    "notebook JSON": _all((*_JSON_BODY, '{"cell_type": "code", "source": "a"},', '"a\\n",', "a\\n"), _CELLS),
    "requirements.txt": _all(_LINES, (("", ""),)),
    "setup.cfg": _all(_LINES, (("", ""), ("[options]\ninstall_requires =\n ", "\n"))),
    "setup.py": _all((*_LINES, *_CODE_BODY), (("", ""), ("setup(install_requires=[", "])"))),
    "pyproject.toml": _all(_TOML_BODY, (("", ""), ("[project]\ndependencies = ", "\n"), ("", "a = 1\n"))),
    "Pipfile": _all(_TOML_BODY, (("", ""), ("[packages]\n", "\n"))),
    "environment.yml": _all(_YAML_BODY, (("", ""), ("dependencies:\n", "\n"), ("dependencies: ", "\n"),
    ("dependencies:\n - a", "b\n"))),
    "settings.json": _all(_JSON_BODY, (("", ""), ('{"a": {"b": ', "}}"))),
    "settings.yaml": _all(_YAML_BODY, (("", ""), ("a:\n  b: ", "\n"))),
    "settings.toml": _all(_TOML_BODY, (("", ""), ("[a]\nb = ", "\n"))),
    **{
        name: _all((*_LINES, *_BLOCKS), (("", ""), ("[a]\nb = ", "\n"), ("a {\n", "\n}\n")))
        for name in ("settings.gin", "settings.ini", "settings.conf")
    },
    "package lines": _all(_LINES, _PLAIN),
    "git files": _all(_GIT, (("", ""), ("[remote \"origin\"]\n\turl = ", "\n"))),
    "licence": _all((*_LICENCE, *_PROSE), _PLAIN),
    "repository links": _all((*_LINKS, *_PROSE), _PLAIN),
    "edits": _all(_CODE_BODY, (("", ""), ("def f():\n  ", "\n"))),
    "page": _all((*_PROSE, *_CODE_BODY, *_LATEX_BODY), (("", ""), ("$", "$"), ("\\(", "\\)"))),
    "bundle": _all(_JSON_BODY, (("", ""), ('{"paper": {"id": "', '"}}'))),
    "answer": _all((*_JSON_BODY, *_PROSE), (("", ""), ('{"said": "', '"}'), ('{"said": "', "!"))),
    "cypher": _all((*_CYPHER_BODY, *_REGEX), (("MATCH (n) RETURN ", ""), ("", ""), ("MATCH (n) WHERE n.a =~ '",
    "' RETURN n"), ("MATCH (n) RETURN n /*", ""))),
    "peer file": _all(_JSON_BODY, (("", ""), ('{"paper_title": "a", "techniques": [', "]}"))),
    "peer texts": _all((*_PROSE, *_CODE_BODY), _PLAIN),
    "citations": _all((*_PROSE, *_BIBTEX_BODY, *_LATEX_BODY), _PLAIN),
    "stored words": _all((*_PROSE, *_CODE_BODY), _PLAIN),
    "shown": _all(_PROSE, _PLAIN),
    "question": _all(_PROSE, _PLAIN),
    "run output": _all(_PROSE, _PLAIN),
    "symbols": _all((*_PROSE, *_LATEX_BODY), _PLAIN),
}  # fmt: skip
