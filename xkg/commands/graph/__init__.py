"""Operations on a built graph: open, list contents, compare, link, copy and audit.

May import everything below xkg.commands, except builds and servers."""
