"""What an agent sees of what it has seen before."""

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool
from inspect_ai.tool import ToolCall

from evaluation.ablation_bench.reading.agent import elided


def test_only_the_last_observations_are_seen_in_full() -> None:
    """A turn with seven calls is one observation: none of its results is lost before it was seen."""
    messages: list[ChatMessage] = []
    for turn, calls in enumerate((1, 2, 1, 1, 1, 7)):
        names = [f"{turn}.{n}" for n in range(calls)]
        made = [ToolCall(id=name, function="find_text", arguments={}) for name in names]
        messages.append(ChatMessageAssistant(content="", tool_calls=made))
        messages += [ChatMessageTool(content=f"result {name}", tool_call_id=name) for name in names]
    before = [m.text for m in messages]
    seen = [m.text for m in elided(messages, 5) if isinstance(m, ChatMessageTool)]
    assert seen[0] == "(an old observation, left out)"
    assert seen[1:] == [f"result {t}.{n}" for t, calls in enumerate((1, 2, 1, 1, 1, 7)) for n in range(calls) if t]
    assert [m.text for m in elided(messages, 6)] == [m.text for m in messages] == before
