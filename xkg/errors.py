"""What can go wrong, as a tree.

    XkgError                    one line that says what happened and what to do
    ├── InputError              what the caller gave cannot be used (paper, repository, archive, graph file)
    │   └── UnsafeInputError    … because it reaches outside its folder, or is larger than any honest input
    ├── UnknownIdError          no such paper, technique or code in this graph
    ├── StoreError              the stored graph cannot be read or written as it is
    │   ├── StoreBusyError      another process is writing to it
    │   ├── StoreUnreachableError  the server that holds it does not answer, or does not let us in
    │   ├── SchemaVersionError  it has the schema of another version of xkg
    │   ├── CorruptStoreError   a stored file is not what was written
    │   └── ModelMismatchError  the indexes were made by another embedding model
    ├── QueryRefusedError       a Cypher statement that the guard does not let through
    ├── QueryFailedError        a Cypher statement that the engine could not run, or that ran over its limits
    ├── SandboxUnavailableError nothing here can contain untrusted code
    ├── PackagesError           the packages that code needs could not be installed
    ├── EmbeddingError          no weights, or the provider does not answer
    ├── LanguageModelError      the language model gave nothing that can be used
    │   ├── AnswerError         … to one question, after every attempt; its subject is left out
    │   ├── ModelUnavailableError  … at all: no key, endpoint down, unknown model, quota
    │   └── BudgetError         the allowed dollars are spent
    └── ConfigError             a setting that cannot be used

Every message is for a person: one line, what happened, then what to do. The command line prints it and exits
with `exit_code`.
"""


class XkgError(Exception):
    exit_code = 1


class InputError(XkgError):
    pass


class UnsafeInputError(InputError):
    pass


class UnknownIdError(XkgError):
    pass


class StoreError(XkgError):
    pass


class StoreBusyError(StoreError):
    pass


class StoreUnreachableError(StoreError):
    pass


class SchemaVersionError(StoreError):
    pass


class CorruptStoreError(StoreError):
    pass


class ModelMismatchError(StoreError):
    pass


class QueryRefusedError(XkgError):
    pass


class QueryFailedError(XkgError):
    pass


class SandboxUnavailableError(XkgError):
    pass


class PackagesError(XkgError):
    pass


class EmbeddingError(XkgError):
    pass


class LanguageModelError(XkgError):
    pass


class AnswerError(LanguageModelError):
    pass


class ModelUnavailableError(LanguageModelError):
    pass


class BudgetError(LanguageModelError):
    pass


class ConfigError(XkgError):
    exit_code = 2
