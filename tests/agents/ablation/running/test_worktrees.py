"""Workspaces of candidates that several runs have at a time."""

import gc
from pathlib import Path

from tests.agents.ablation.test_campaign import repository  # noqa: F401
from xkg.agents.ablation.running import worktrees
from xkg.agents.workspace.starter import read_starter


def test_runs_of_one_candidate_share_its_tree(repository: Path, tmp_path: Path) -> None:  # noqa: F811
    base = worktrees.opened(tmp_path / "baseline", read_starter(str(repository), tmp_path / "cache"))
    shared = worktrees.Shared(tmp_path / "candidates")
    made = worktrees.mutated(shared.folder_of("c"), base, {"train.py": "print(1)\n"}, "Ablate: all")
    shared.add("c", made)
    (made.tree / "of-a-run").touch()  # opened anew, the tree would be laid out anew
    assert shared.of("c") is shared.of("c") is made
    assert (made.tree / "of-a-run").exists()
    del made
    gc.collect()
    opened = shared.of("c")
    assert opened.text("train.py") == "print(1)\n"
    assert not (opened.tree / "of-a-run").exists()
    assert base.text("train.py") != "print(1)\n"
