"""Provides papers with the same method in LaTeX, in Mathpix's format and in plain Markdown."""

from pathlib import Path

MAIN = r"""\documentclass{article}
\usepackage{neurips_2021}
\input{macros} % the macros
\title{Ember: Warm Restarts\\ for Sparse Probes\thanks{Funded by nobody.}}
\author{Ada Lind\thanks{Equal.} \and Bo van der Berg \\ University of Nowhere \\ \texttt{ada@nowhere.org}}
\begin{document}
\maketitle
\begin{abstract}
We present \method, a way to restart \emph{sparse probes}~\citep{lind2019probes}. % no comment here
It saves 40\% of the steps.
\end{abstract}
\section{Introduction}\label{sec:intro}
Probes are slow \citep[see][p.~3]{lind2019probes,berg2020}.
%\section{Hidden}
% \input{secret}
\include{sections/method}
\input sections/results
\appendix
\section{Proofs}
\paragraph{Setup.} As before.
\bibliographystyle{plain}
\bibliography{refs}
\end{document}
\section{After the end}
"""

MACROS = r"""\newcommand{\method}{\textsc{Ember}\xspace}
\newcommand{\norm}[2][2]{\lVert #2 \rVert_{#1}}
\def\RR{\mathbb{R}}
\DeclareMathOperator*{\argmin}{arg\,min}
\newcommand{\headline}[1]{\vspace{2pt}\noindent\textbf{#1}}
"""

METHOD = r"""\section[Short]{The \method{} Method}
\label{sec:method}
We minimise
\begin{equation}\label{eq:loss}
  \hat w = \argmin_{w \in \RR^d} \norm{Xw - y} + \norm[1]{w}
\end{equation}
over $w \in \RR^d$\footnote{A footnote that nobody reads.}, as in Section~\ref{sec:intro}.

\subsection{Warm Restart}
A \textbf{warm restart} sets the step to $\eta_0$; {\it cold} ones do not.
\begin{algorithm}[t]
\caption{Warm restart of \method}\label{alg:restart}
\begin{algorithmic}[1]
\Require data $X$, steps $T$
\State $w \gets 0$ \Comment{start cold}
\For{$t = 1, \ldots, T$}
  \State $w \gets w - \eta \nabla L(w)$
\EndFor
\State \Return $w$
\end{algorithmic}
\end{algorithm}
\begin{figure}
\includegraphics{a.png}
\caption{A figure that is \emph{not text}.}
\end{figure}

\headline{Choice of the step.} The step is chosen by hand.

\noindent\textbf{Stopping rule.} We stop when nothing moves.
"""

RESULTS = r"""\section{Experiments}
\verb|50% \input{no}| is kept.
\[ a^2 + b^2 \]
"""

BIB = r"""@string{jmlr = "Journal of Machine Learning Research"}
@article{lind2019probes,
  title = {{Sparse} Probes: {\'E}tude in {$L_1$}},
  author = {Lind, Ada and Berg, Bo},
  journal = jmlr # { (draft)}, year = 2019, doi = {10.1234/jmlr.5},
}
@misc{berg2020, title = "Restarts Are Enough", author = "Bo Berg",
  eprint = {2001.01234}, archivePrefix={arXiv}, year=2020}
@book{unread, title = {Nobody Cites This}, year = 1999}
"""


def latex_paper(folder: Path) -> Path:
    (folder / "sections").mkdir(parents=True)
    for name, text in {
        "main.tex": MAIN,
        "macros.tex": MACROS,
        "sections/method.tex": METHOD,
        "sections/results.tex": RESULTS,
        "refs.bib": BIB,
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "main.tex"


MATHPIX = r"""\title{
Ember: Warm Restarts for Sparse Probes
}

\author{
Ada Lind ${ }^{1}$ Bo van der Berg ${ }^{12}$ \\ ${ }^{1}$ University of Nowhere \\ ada@nowhere.org
}

\begin{abstract}
We present Ember, a way to restart sparse probes (Lind \& Berg, 2019).
\end{abstract}

\section*{1. Introduction}

Probes are slow (Lind et al., 2019; Berg, 2020a;b). In this work we study how to make them con-

\footnotetext{
${ }^{1}$ University of Nowhere. Correspondence to: Ada Lind < ada@nowhere.org >.

Proceedings of the $9^{\text {th }}$ Conference on Nothing. Copyright 2021 by the author(s).
}
verge without help, and why that
![](assets/asset_1.png)

Figure 1. Overview of Ember. Left: cold. Right: warm.
matters in practice. It does.

Results are shown in Table 2. They are good enough for us to continue with the work described here.

\section*{2. Method}

Warm Restart. A warm restart sets the step back to its first value and keeps all of the weights as they were.
Choice of $\eta_{0}$ in Eq. (3). The step is chosen by a small search over the values that were used in earlier work.

Theorem 2.1 (Ember converges). Suppose that the step is small. Then all of it converges, as we show in what follows.

Proof. Easy. Base Case. The first step is clear from the definition of the step itself and needs no words. $\square$

\subsection*{2.1. The Restart Loop}

We minimise the loss
\[
\hat{w}=\arg \min _{w} L(w) \tag{1}
\]
where $w$ is a vector.
```
Algorithm 1 Warm Restart
    Input: data $X$, steps $T$
    for $t=1, \ldots, T$ do
        Update the variables by
\[
w=w-\eta \nabla L(w)
\]
7: Return to the start
end for
```

of the loop. More text follows here.

```
#### no heading
```
x = 1
#### no heading either
```

\section*{Ember: Warm Restarts for Sparse Probes}

\section*{Limitations}

| a | b |
|---|---|
| # c | d |

\section*{References}

Lind, A. and Berg, B. Sparse probes: An étude. In $J M L R, 2019$. doi: $10.1234 / \mathrm{jmlr} .5$.

Berg, B., Tramèr, F., and

Schmidt, L. Are restarts enough? arXiv preprint arXiv:2001.01234, 2020.
OpenAI. Probes technical report, 2023. URL https://openai.com/probes.

\section*{A. Details}

\section*{A.1. Hardware}

One machine.
"""

PLAIN = """---
title: "Ember: Warm Restarts for Sparse Probes"
date: 2021-05-04
---

# Ember: Warm Restarts for Sparse Probes

Ada Lind^1^, Bo van der Berg

**Abstract**

We present *Ember*, a way
to restart probes [1].

## 1 Introduction

Probes are slow [1, 2]. A **warm restart** helps, `lr=0` does not, and 2 * 3 * 4 is no emphasis. See
[the site](https://example.org/a_b_c).

```python
# not a heading
x = 1
```

### 1.1 Why

Because $a_b + c_d$ is small.

$$
L(w) = 0
$$

Method
------

**Warm restart.** The step is
set back.

**Algorithm 1: Warm restart**

```
for t in steps:
    w = w - lr * g
```

References
----------

1. A. Lind and B. Berg, "Sparse Probes," in *JMLR*, 2019.
2. B. Berg. Restarts are enough. *arXiv:2001.01234*,
   2020.
"""
