"""Operations on a built graph: open it, list its contents, compare, link, copy and audit it.

May import everything below xkg.commands, except builds and servers."""
