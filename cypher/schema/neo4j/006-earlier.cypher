// What a commit replaces is kept (`:XkgEarlier`) from now on: earlier commits cannot be compared.

MATCH (m:XkgMeta {id: 'graph'}) SET m.earliest = coalesce(m.earliest, m.generation);
