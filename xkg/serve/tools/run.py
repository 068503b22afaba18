"""The tool that runs scripts on code from the graph, registered only if the operator allows it.
`xkg.serve.jobs.authority` decides which callers may use the tool."""

import json
from typing import Annotated

from mcp.server import MCPServer
from mcp_types import ToolAnnotations
from pydantic import Field

from xkg.llm.prices import tokens
from xkg.serve.answers.budget import TOKENS, fitted
from xkg.serve.answers.quoting import visible
from xkg.serve.running.answer import MOST_PICTURES, RunAnswer, without_middle
from xkg.serve.running.callers_runs import CallersRuns
from xkg.serve.running.runs import LONGEST_SCRIPT
from xkg.serve.served import Served
from xkg.serve.tools.tool_decorator import Detail, Id, filled, registering

_RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_OUTPUT_SHARE = 2
"""Maximum number of output characters per token in the budget. Output may use half of the budget; the other half is for
files."""


def add(server: MCPServer, served: Served, runs: CallersRuns) -> None:
    tool = registering(server, served.service)

    @tool("Run code", annotations=_RUNS, waits=True)
    def run_code(
        id: Annotated[Id, Field(description="id of the code or its technique, or a name as in get_technique")],
        script: Annotated[str, filled(LONGEST_SCRIPT, "lines of Python that use the code")],
        seconds: Annotated[float | None, Field(gt=0, description="time limit in seconds (default 30)")] = None,
        detail: Detail = "concise",
    ) -> RunAnswer:
        """Runs a short script on a technique's code, with its packages, in a sandbox, so that you can try code before
        you copy it.

        The script can use every name in the code (see get_code) and its imports; `implementation` is the module. As in
        a notebook, the value of the last expression is printed, and open matplotlib figures are returned as pictures.
        Small files that the script writes to the working folder are returned: text, and the first 4 PNG or JPEG files
        as pictures. Runs have no network and no access to the server's files, are independent of each other, and do not
        change the graph.

        `error` says why the script failed; `output` then ends with the traceback, with your script's line numbers. If
        packages have to be installed first, an error may tell you to retry in a minute."""
        answer = runs.run(id, script, served.caller(), seconds)
        output = without_middle(answer.output, _OUTPUT_SHARE * TOKENS[detail])
        cut = [] if output == answer.output else ["the middle of output: print less"]
        if len(answer.shown_to_models) == MOST_PICTURES:
            cut.append(f"pictures after the first {MOST_PICTURES}: create fewer")
        if any(file.media_type == "application/octet-stream" for file in answer.files):
            cut.append("the contents of binary files; print the parts that you need")
        # The output takes precedence over files, because its end says what went wrong.
        rest = answer.model_copy(update={"output": "", "cut": "; ".join(cut)})
        room = TOKENS[detail] - tokens(json.dumps(visible(output), ensure_ascii=False))
        return fitted(rest, detail, most=max(1, room)).model_copy(update={"output": output})
