"""Settings: flags over environment (`XKG_*`, nested with `__`) over `xkg.yaml` in the working folder over defaults."""

import difflib
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import SplitResult, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    YamlConfigSettingsSource,
)

from xkg.errors import ConfigError
from xkg.model import Level
from xkg.operating_system import owned_by_another
from xkg.text.address import address

OPENAI_URL = "https://api.openai.com/v1"
NEO4J_SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")


class _Section(BaseModel):
    # The value may be a secret in the wrong place: an error names the setting, never its value.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


def plain_url(url: str) -> str:
    """`url` unchanged. Raises `ValueError` where it is no address of an endpoint, or holds a key."""
    parts = _plain_parts(url, ("http", "https"))
    if parts is None or not re.fullmatch(r"(?:api-version=[\w.-]+)?", parts.query):
        raise ValueError("give http(s)://host/path, such as http://localhost:11434/v1; a key has no place here")
    return url


def neo4j_url(url: str) -> str:
    """`url` unchanged. Raises `ValueError` where it is no address of a Neo4j, or holds a user or a password."""
    parts = _plain_parts(url, NEO4J_SCHEMES)
    if parts is None or parts.path.strip("/"):
        raise ValueError(
            "give neo4j+s://host, bolt://host:7687 or their like; user and password come from NEO4J_USERNAME and "
            "NEO4J_PASSWORD, or a file that store.credentials names"
        )
    return url


def _plain_parts(url: str, schemes: Collection[str]) -> SplitResult | None:
    """The parts of an address without user or fragment; None for any other."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in schemes and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return (
        parts if plain and "@" not in parts.netloc and not parts.fragment and url.isascii() and " " not in url else None
    )


def _listed(value: object) -> object:
    """The environment gives `a, b`."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


Url = Annotated[str, AfterValidator(plain_url)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


class EmbeddingSettings(_Section):
    """`provider`: `onnx` runs MiniLM and its like on CPU; `sentence-transformers` (extra `st`) any of its models, on a
    GPU where there is one; `openai` sends texts to `base_url`, any compatible server, with the key in
    `XKG_EMBEDDING_KEY`, and needs `model`.
    `weights`: a folder with `tokenizer.json` and `model.safetensors` or `.onnx`; None finds an installed one."""

    provider: Literal["onnx", "sentence-transformers", "openai"] = "onnx"
    model: str = Field(default="all-MiniLM-L6-v2", min_length=1)
    weights: Path | None = None
    threads: int = Field(default=2, ge=1)
    base_url: Url = OPENAI_URL

    @property
    def vectors(self) -> str:
        """The name of the vectors: equal names mean comparable ones. Two local runtimes of one model agree; a server's
        model of the same name may be another one."""
        return f"openai:{self.model}" if self.provider == "openai" else self.model

    @model_validator(mode="after")
    def _named_model(self) -> Self:
        if self.provider == "openai" and "model" not in self.model_fields_set:
            raise ValueError("provider openai needs embedding.model, such as text-embedding-3-small")
        return self


class SandboxSettings(_Section):
    """`auto` takes bubblewrap, else Landlock, else a container of podman or docker. `unsafe-subprocess` runs untrusted
    code with your own rights, and no default chooses it. `seconds` and `memory_mb` bound one run."""

    runner: Literal["auto", "bubblewrap", "landlock", "container", "unsafe-subprocess"] = "auto"
    seconds: float = Field(default=60, gt=0)
    memory_mb: int = Field(default=4096, ge=64)


class EnvironmentSettings(_Section):
    """Packages for the code of papers, in one folder that all graphs of a user share.

    `folder` is by default `xkg/environments` in the user's cache folder. `max_mb` limits one environment on disk; 0
    installs nothing. `total_mb` limits all of them: the least recently used are removed first, never one in use. By
    default both follow from free disk space: half of it for all environments, at most 12,000 MB of that for one.
    `cpu_index` has builds of PyTorch without CUDA, which are taken if this machine has no NVIDIA GPU and the index can
    be reached: `auto` is PyTorch's own index, unless pip or uv are configured for another registry than PyPI; `none`
    always takes the registry's builds. `python_downloads` lets uv download a Python that a repository needs and that is
    not installed. `packages` are requirement lines (`h5py>=3`) of packages that are installed beside those that code
    imports; with `cpu`, code for CUDA runs on the CPU."""

    folder: Path | None = None
    cpu_index: Literal["auto", "none"] | Url = "auto"
    python_downloads: bool = False
    max_mb: int | None = Field(default=None, ge=0)
    total_mb: int | None = Field(default=None, ge=0)
    packages: Names = ()
    cpu: bool = False

    @field_validator("packages")
    @classmethod
    def _from_the_index(cls, lines: tuple[str, ...]) -> tuple[str, ...]:
        for line in lines:
            try:
                requirement = Requirement(line)
            except InvalidRequirement:
                raise ValueError(f"{line!a} names no package: give a name, or name>=version") from None
            if requirement.url or requirement.extras:
                what = "an address" if requirement.url else "extras"
                raise ValueError(f"{line!a} has {what}: packages come from the index, each by its own name")
        return lines


class Price(_Section):
    """Dollars for a million tokens; `cached` for those of a prompt that the endpoint had seen before."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class LlmSettings(_Section):
    """The language model: any endpoint that speaks OpenAI's protocol; a program of this machine (`claude-code`,
    `codex`, `gemini`, `opencode`, each perhaps with `:MODEL`; `command:…` for any other, which no file may name);
    `caller` for the agent that asks for a job; or `none` for static analysis alone.

    `paper_model` reads papers, `code_model` writes code, `verifier_model` judges it, `stronger_model` is asked where an
    agent's usual model fails, and `expert_model` where all others do; a role without a model of its own takes `model`.
    `base_url` None is `OPENAI_BASE_URL` of the
    environment, else OpenAI's. `window` is what the smallest of the models reads and writes at once, in tokens;
    `seconds` bounds a call; `concurrency` calls run at a time; `max_cost` bounds the dollars for one paper, all its
    builds together, and for the questions of one day; `max_total_cost` those for all papers and questions of the graph.
    `prices` extend and override those that xkg knows, by model. `parameters` are added to the body of each request
    (`{reasoning_effort: low}`), and `headers` to its headers, as those with which an Azure endpoint takes Entra tokens;
    `base_url` may end in Azure's `?api-version=…`."""

    model: str = Field(default="o4-mini", min_length=1)
    paper_model: str | None = None
    code_model: str | None = None
    verifier_model: str | None = None
    stronger_model: str | None = None
    expert_model: str | None = None
    base_url: Url | None = None
    window: int = Field(default=128_000, ge=4_000)
    seconds: float = Field(default=300, gt=0)
    concurrency: int = Field(default=4, ge=1, le=64)
    max_cost: float | None = Field(default=None, ge=0)
    max_total_cost: float | None = Field(default=None, ge=0)
    prices: dict[str, Price] = {}
    parameters: dict[str, Any] = {}
    headers: dict[str, str] = Field(default={}, repr=False)


class ArxivSettings(_Section):
    """`url`: where the API, the sources and the PDFs are; another one for a mirror."""

    url: str = Field(default="https://export.arxiv.org", pattern=r"^https?://[^\s{}?#]+$")


Place = Annotated[str, Field(pattern=r"^(none|https?://[^\s{}?#]+)$")]


class CurationSettings(_Section):
    """What `xkg curate` asks besides arXiv: addresses of the APIs, another one for a mirror, `none` not to ask. Keys
    come from `OPENALEX_API_KEY` and `GITHUB_TOKEN`; each is optional, and raises limits."""

    openalex: Place = "https://api.openalex.org"
    github: Place = "https://api.github.com"


class PruneSettings(_Section):
    """Techniques whose code is below `min_level` are hidden. None: in builds with a model the highest level that could
    be tried on this machine, at least `parsed`; in others no level."""

    min_level: Level | None = None


class StoreSettings(_Section):
    """Where the graph lives: None is the folder of the graph; else a Neo4j, `neo4j+s://host`, `bolt://host:7687` and
    their like. User and password come from `credentials`, a file as Aura hands it out (`NEO4J_USERNAME=…`,
    `NEO4J_PASSWORD=…`, a line each), or from the environment variables of these names."""

    url: Annotated[str, AfterValidator(neo4j_url)] | None = None
    database: str = Field(default="neo4j", min_length=1)
    credentials: Path | None = None


class HttpSettings(_Section):
    """What the HTTP server lets in; each worker counts for itself.

    `url` is the address that clients use where it is not the one that is bound, as behind a proxy; `hosts` are further
    names that a Host header may carry, `origins` the web pages (`https://app.example.org`) that may call. `per_minute`
    requests of one token, or of one address without, 0 for any number; `concurrency` of all at work at a time, `queue`
    waiting for their turn. `connections` may be open; where more come, those idle longest are closed. A request is at
    most `body_kb` large and has arrived after `request_seconds`. Work under way at the end gets `shutdown_seconds`."""

    url: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    hosts: Names = ()
    origins: Names = ()
    per_minute: int = Field(default=1200, ge=0)
    concurrency: int = Field(default=8, ge=1, le=256)
    queue: int = Field(default=256, ge=0)
    connections: int = Field(default=1024, ge=1)
    body_kb: int = Field(default=1024, ge=1)
    request_seconds: float = Field(default=20, gt=0)
    shutdown_seconds: int = Field(default=10, ge=0)


class OAuthSettings(_Section):
    """The authorization server whose access tokens (JWT) the HTTP server takes; None takes none. `audience` is what
    they must be issued for, by default the server's address; `jwks` the address of the issuer's keys where its metadata
    do not name it. `types` are the values of a token's header `typ` that are taken: name `JWT` too for an issuer whose
    access tokens have that or no type, if none of its other tokens has the scope `read` and this audience."""

    issuer: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s?#]*)?$")
    audience: str | None = Field(default=None, min_length=1)
    jwks: str | None = Field(default=None, pattern=r"^https?://[^\s/@?#]+(/[^\s#]*)?$")
    types: Names = ("at+jwt",)

    @field_validator("issuer", "jwks")
    @classmethod
    def _safe(cls, url: str | None) -> str | None:
        """Whoever can change the keys in transit can forge tokens."""
        if url is not None and not (place := address(url)).is_loopback and place.scheme != "https":
            raise ValueError("must be https, or on this machine")
        return url


class ServeBuildSettings(_Section):
    """Builds that clients of the server request. `allowed` says whether they may; over HTTP a caller also needs a token
    with the scope `build`. Repositories are fetched from `hosts` alone: a server that fetches any address reaches
    networks that its callers cannot. Each caller may request `per_day` builds within a day, each of which may spend
    `llm.max_cost`."""

    allowed: bool = False
    hosts: Names = (
        "github.com",
        "gitlab.com",
        "bitbucket.org",
        "codeberg.org",
        "huggingface.co",
    )
    per_day: int = Field(default=24, ge=1)


class ServeAgentSettings(_Section):
    """Runs of `xkg implement` that clients of the server request. `allowed` says whether they may; over HTTP a caller
    also needs a token with the scope `agents`. Starter code comes from `serve.build.hosts` or from under the roots.
    Each caller may request `per_day` runs within a day, each of which may spend `llm.max_cost`."""

    allowed: bool = False
    per_day: int = Field(default=8, ge=1)


class ServeRunSettings(_Section):
    """Scripts that clients of the server run over code of the graph, in the sandbox. `allowed` says whether they may;
    over HTTP a caller also needs a token with the scope `run`. Each caller may start `per_day` runs within a day, each
    of at most `seconds`; one of a caller is under way at a time, and `at_once` of all callers in one worker."""

    allowed: bool = False
    per_day: int = Field(default=200, ge=1)
    seconds: float = Field(default=60, gt=0)
    at_once: int = Field(default=2, ge=1, le=64)


class ServeQuestionSettings(_Section):
    """Questions to the language model while a caller waits, as `verify` asks them. An answer waits `wait_seconds`, that
    for a task twice as long; most clients give up a call after a minute or later. What takes longer goes on for at most
    `call_seconds` a call, and its answer is stored for who asks the same again. `open` questions at most are under way
    at a time."""

    wait_seconds: float = Field(default=20, gt=0)
    call_seconds: float = Field(default=120, gt=0)
    open: int = Field(default=32, ge=1, le=1024)


class ServeSettings(_Section):
    """`roots`: the folders under which a client may name working copies (`/a:/b` in the environment); empty opens none.
    None is, over stdio, the folder that `xkg serve` was started in, unless that holds somebody's home folder; over HTTP
    it opens none. `exclude`: a file of papers and repositories, one a line (ids, addresses, titles), of which no answer
    holds anything: neither these papers, nor those that were built from these repositories. `graphs`: folders of more
    graphs beside `kg`, which one server answers from (`xkg serve --kg A --kg B`)."""

    roots: tuple[Path, ...] | None = None
    exclude: Path | None = None
    graphs: tuple[Path, ...] = ()
    http: HttpSettings = HttpSettings()
    oauth: OAuthSettings = OAuthSettings()
    build: ServeBuildSettings = ServeBuildSettings()
    agents: ServeAgentSettings = ServeAgentSettings()
    run: ServeRunSettings = ServeRunSettings()
    questions: ServeQuestionSettings = ServeQuestionSettings()

    @field_validator("roots", "graphs", mode="before")
    @classmethod
    def _as_in_a_path(cls, value: object) -> object:
        """The environment gives `/a:/b`, as PATH does."""
        return tuple(filter(None, value.split(os.pathsep))) if isinstance(value, str) else value


class ImplementSettings(_Section):
    """`xkg implement`. The agent takes at most `steps`. A question is put `tries` times to `llm.code_model`, then
    to `llm.stronger_model` and `llm.expert_model`, the latter at most `expert_calls` times a run. The last `memory`
    steps are in the prompt as they were, older ones as a line each with the summary that the next answer gave; an
    observation of more than `observation` characters is summarised.

    `seconds`, `memory_mb` and `disk_mb` bound one run of the code."""

    steps: int = Field(default=80, ge=1)
    tries: int = Field(default=8, ge=1)
    expert_calls: int = Field(default=3, ge=0)
    memory: int = Field(default=3, ge=1)
    observation: int = Field(default=8000, ge=500)
    seconds: float = Field(default=600, gt=0)
    memory_mb: int = Field(default=4096, ge=64)
    disk_mb: int = Field(default=1024, ge=16)


class Settings(BaseSettings):
    """`kg` is the folder of the graph."""

    model_config = SettingsConfigDict(
        env_prefix="XKG_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        yaml_file="xkg.yaml",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    kg: Path = Path("storage/default")
    arxiv: ArxivSettings = ArxivSettings()
    curation: CurationSettings = CurationSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    llm: LlmSettings = LlmSettings()
    sandbox: SandboxSettings = SandboxSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    prune: PruneSettings = PruneSettings()
    store: StoreSettings = StoreSettings()
    serve: ServeSettings = ServeSettings()
    implement: ImplementSettings = ImplementSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, _WorkingFolder(settings_cls)


class _WorkingFolder(YamlConfigSettingsSource):
    """`xkg.yaml` of the working folder. That may be a clone of somebody else's repository, so the file must belong to
    whoever runs xkg (or to root), and cannot give up the sandbox."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        path = Path("xkg.yaml")
        if path.is_file() and owned_by_another(path.stat()):
            raise ConfigError(f"{path.absolute()} belongs to another user: work in another folder, or make it yours")
        super().__init__(settings_cls)
        models = self.yaml_data.get("llm") if isinstance(self.yaml_data, dict) else None
        commands = [
            name
            for name, value in (models.items() if isinstance(models, dict) else ())
            if isinstance(value, str) and value.startswith("command:")
        ]
        if commands:
            raise ConfigError(
                f"setting 'llm.{commands[0]}': a file cannot name a command, since it may come with a repository; give "
                "it with --llm, or in the environment"
            )
        sandbox = self.yaml_data.get("sandbox") if isinstance(self.yaml_data, dict) else None
        if isinstance(sandbox, dict) and sandbox.get("runner") == "unsafe-subprocess":
            raise ConfigError(
                "setting 'sandbox.runner': a file cannot give up the sandbox, since it may come with a repository; "
                "set XKG_SANDBOX__RUNNER=unsafe-subprocess where you mean it"
            )


def load(**flags: object) -> Settings:
    """The settings in force; flags that are None do not count. Raises `ConfigError` naming the setting."""
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ConfigError(_unknown_setting([str(part) for part in first["loc"]])) from error
        raise ConfigError(f"setting {name!r}: {first['msg']}; correct it in xkg.yaml or the environment") from error
    except SettingsError as error:
        raise ConfigError(
            f"the environment's XKG_* cannot be read: {error}; set one value each (XKG_EMBEDDING__THREADS)"
        ) from error
    except ConfigError:
        raise
    except Exception as error:  # the YAML reader raises its own tree
        reason = " ".join(str(error).split())
        raise ConfigError(
            f"xkg.yaml is no list of settings ({reason}); docs/reference/settings.md lists what it may hold"
        ) from error


def _unknown_setting(path: Sequence[str]) -> str:
    """What to do about a setting that there is not: the nearest one."""
    name = ".".join(path)
    near = difflib.get_close_matches(name, _names(Settings), 1)
    meant = f"the nearest is {near[0]}" if near else "docs/reference/settings.md lists all"
    return f"there is no setting {name!r}; {meant}: correct it in xkg.yaml or the environment"


def _names(model: type[BaseModel], before: str = "") -> list[str]:
    names = []
    for name, field in model.model_fields.items():
        names.append(before + name)
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names += _names(field.annotation, f"{before}{name}.")
    return names
