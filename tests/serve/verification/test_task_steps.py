import pytest

from xkg.serve.verification.find_implementations import by_structure


@pytest.mark.parametrize(
    ("task", "steps"),
    [
        ("stochastic restoration", ["stochastic restoration"]),
        (
            "Build it.\n\n1. minimise the entropy of predictions\n2) restore some weights\n   to the checkpoint\n\nOk.",
            ["minimise the entropy of predictions", "restore some weights to the checkpoint"],
        ),
        ("Do:\n- whiten the frames\n- whiten the frames\n* clip them", ["whiten the frames", "clip them"]),
        (
            "Sample particles from the posterior with a kernel gradient flow, choose the width of the kernel by the "
            "median distance, and compare with long chains of a sampler that is exact",
            [
                "Sample particles from the posterior with a kernel gradient flow",
                "choose the width of the kernel by the median distance",
                "compare with long chains of a sampler that is exact",
            ],
        ),
    ],
)
def test_a_task_falls_into_the_parts_that_its_text_has(task: str, steps: list[str]) -> None:
    assert by_structure(task) == steps
