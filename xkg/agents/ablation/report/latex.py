"""The table of importances for a paper, in LaTeX (package booktabs)."""

from xkg.agents.ablation.outcomes import Campaign
from xkg.agents.ablation.report import rows

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "→": r"$\rightarrow$", "×": r"$\times$", "…": r"\dots{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "−": "$-$",
}  # fmt: skip


def latex(campaign: Campaign) -> str:
    baseline = campaign.baseline.values
    mean = sum(baseline) / len(baseline)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{Ablation. Metric: {_text(campaign.task.metrics[0])}, baseline {mean:.6g} over "
        rf"{len(baseline)} seeds. Relative change with 95\,\% interval; "
        r"$\ast$: critical, at least 5\,\% and beyond the noise; 1: run once.}",
        r"  \begin{tabular}{llrr}",
        r"    \toprule",
        r"    Component & Change & $\Delta$ & 95\,\% interval \\",
        r"    \midrule",
    ]
    for importance in campaign.importances():
        best = importance.best
        if best is None or best.effect is None:
            continue
        marks = (r"$^{\ast}$" if best.effect.critical else "") + (r"$^{1}$" if best.effect.once else "")
        lines.append(
            f"    {_text(importance.component.name)} & {_text(best.candidate.description)} & "
            rf"{_text(rows.change(best.effect))}{marks} & {_text(rows.interval(best.effect))} \\"
        )
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}", ""])


def _text(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))
