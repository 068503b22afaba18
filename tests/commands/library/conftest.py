from tests.library.conftest import object_store, writable  # noqa: F401  # fixtures
