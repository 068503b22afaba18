"""Scores a submission with a weighted rubric tree: a model judges each leaf, and scores propagate up by weight."""

import re
from pathlib import Path

from inspect_ai.model import ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, mean, metric, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from evaluation.paperbench import rubric
from evaluation.paperbench.workspace import bundle_text, submitted
from xkg.llm.prompt import load_prompt

GRADER = "grader"
"""The role of the judging model (`inspect eval --model-role grader=…`); if no model has this role, the evaluated model
judges."""

_PROMPT = Path(__file__).parent / "prompts" / "leaf.md"
_VERDICT = re.compile(r"<verdict>\s{0,20}(met|unmet)\s{0,20}</verdict>", re.IGNORECASE)
_LONGEST = 400_000
"""Maximum characters from a submission in a prompt."""


@metric
def unusable() -> Metric:
    """Counts the leaves, over all samples, for which the judge returned no usable verdict. Leaves without a usable
    verdict are treated as not met."""

    def count(scores: list[SampleScore]) -> float:
        return float(sum(len((score.score.metadata or {}).get("unusable", ())) for score in scores))

    return count


@scorer(metrics=[mean(), stderr(), unusable()])
def rubric_tree(*, code_development: bool = True) -> Scorer:
    """Returns the score (0 to 1) according to the rubric in the sample's metadata (`rubric`). If `code_development` is
    set, only leaves in that category count. The score's metadata contains each leaf's verdict, the scores by category,
    and a note on cut text."""
    prompt = load_prompt(_PROMPT)

    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001
        whole = rubric.read_rubric(Path(state.metadata["rubric"]))
        tree = rubric.only(whole) if code_development else whole
        if tree is None:
            return Score(value=0.0, answer="", explanation="the rubric has no code development leaf")
        files, cut = bundle_text(submitted(), _LONGEST)
        grader = get_model(role=GRADER)

        async def judge(leaf: rubric.RubricNode) -> tuple[str, float | None]:
            if not files:
                return leaf.id, 0.0
            inputs = {"requirement": leaf.requirements, "category": leaf.category or "", "files": files}
            system, user = prompt.render(inputs)
            output = await grader.generate([ChatMessageSystem(content=system), ChatMessageUser(content=user)])
            found = _VERDICT.findall(output.completion)
            return leaf.id, float(found[-1].lower() == "met") if found else None

        answers = await collect(*(judge(leaf) for leaf in tree.leaves))
        judged = {leaf: value for leaf, value in answers if value is not None}
        result = rubric.score(tree, judged)
        return Score(
            value=result.score,
            answer=f"{sum(judged.values()):g} of {result.leaves} leaves",
            explanation="\n".join(filter(None, ("" if files else "there is no submission", cut))),
            metadata={
                "leaves": judged,
                "by_category": result.by_category,
                "unusable": list(result.unjudged),
                "files": sorted(submitted()),
                "cut": cut,
            },
        )

    return score
