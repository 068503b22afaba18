"""Provides a target paper in LaTeX, and servers that know the papers that it cites."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build import scholarly_stand_in
from tests.build.arxiv_server import StandInPaper, tarball
from tests.build.scholarly_stand_in import Scholarly, StandInRepository

TARGET = rb"""\documentclass{article}\title{Tidal Sampling of Posterior Fields}\author{Nia Ward}
\begin{document}\begin{abstract}We propose tidal sampling (TS), a sampler for posterior fields. Our code is available at
\url{https://github.com/niaward/tidal}.\end{abstract}
\section{Introduction} Sampling is hard \cite{list1,list2,list3,wave}. We propose tidal sampling, a sampler.
\section{Method} We use wave transport \cite{wave} to move particles between fields. Tidal sampling then corrects each
particle by a moon kernel \cite{moon}, which we adapt from its authors.
\subsection{Wave Transport} Wave transport moves particles along the gradient of a field.
\subsection{Moon Kernel} The moon kernel weighs neighbours of a particle by distance.
\section{Experiments} We compare with the reef sampler \cite{reef} as a baseline. Tides of \cite{gone} are data.
\begin{thebibliography}{9}
\bibitem{wave} A. Sea and B. Foam. \newblock Wave Transport for Particle Sampling. \newblock 2020. arXiv:2001.00001.
\bibitem{moon} C. Luna. \newblock Moon Kernels for Neighbour Weighing. \newblock Journal of Kernels, 2019.
 doi:10.1234/moon.7.
\bibitem{reef} D. Coral. \newblock The Reef Sampler: Sampling by Growth. \newblock 2018.
\bibitem{gone} E. Ebb. \newblock A Data Set of Tides in Harbours. \newblock 2001.
\bibitem{list1} F. One. \newblock On Samplers in General. \newblock 2011.
\bibitem{list2} G. Two. \newblock Unrelated Pasta Recipes of the North. \newblock 2012.
\bibitem{list3} H. Three. \newblock Some History of Sampling. \newblock 2013.
\end{thebibliography}\end{document}"""


@pytest.fixture
def scholarly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Scholarly]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with scholarly_stand_in.serving() as state:
        yield state


@pytest.fixture
def world(scholarly: Scholarly) -> Scholarly:
    """Serves the works that the target cites. One work is cited by id, one by DOI and one by title. The servers do not
    know its other works."""
    scholarly.add(
        StandInPaper(
            "2402.00001",
            "Tidal Sampling of Posterior Fields",
            "We propose tidal sampling.",
            ("Nia Ward",),
            "2024-02-01",
            source=tarball({"main.tex": TARGET}),
        ),
        StandInPaper(
            "2001.00001",
            "Wave Transport for Particle Sampling",
            "Wave transport moves particles. Code: https://github.com/asea/wave-transport",
            ("Ann Sea", "Bo Foam"),
            "2020-01-02",
        ),
        StandInPaper(
            "1905.00002", "Moon Kernels for Neighbour Weighing", "", ("Cal Luna",), "2019-05-01", doi="10.1234/moon.7"
        ),
        StandInPaper("1803.00003", "The Reef Sampler: Sampling by Growth", "", ("Di Coral",), "2018-03-01"),
        StandInPaper("1303.00004", "Some History of Sampling", "", ("Hal Three",), "2013-03-01"),
        StandInPaper(
            "2305.00005",
            "Faster Wave Transport with Currents",
            "Wave transport in currents, for posterior fields.",
            ("Ivy Flow",),
            "2023-05-01",
        ),
        StandInPaper("2305.00009", "A Garden of Unrelated Flowers", "Flowers.", ("Jo Bloom",), "2023-05-01"),
    )
    scholarly.host(
        StandInRepository("asea/wave-transport", "# Wave transport\nCode of our paper.", created="2020-01-01"),
        StandInRepository(
            "cluna/kernels",
            "# Moon Kernels for Neighbour Weighing\nOfficial implementation. arxiv.org/abs/1905.00002",
            created="2019-06-01",
            license=None,
        ),
        StandInRepository("someone/moon-pytorch", "# moon\nUnofficial: Moon Kernels for Neighbour Weighing", stars=900),
        StandInRepository(
            "lists/awesome-sampling",
            "# Awesome sampling\n- The Reef Sampler: Sampling by Growth\n- Some History of Sampling",
        ),
        StandInRepository(
            "ivyflow/currents",
            "# Faster Wave Transport with Currents\nOfficial code for our paper.",
            created="2023-06-01",
        ),
    )
    return scholarly
