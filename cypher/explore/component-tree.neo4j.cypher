// component-tree for Neo4j: the position is put together from the steps of the path differently there.

MATCH path = (p:Paper {id: $paper})-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
RETURN substring(reduce(text = '', edge IN relationships(path) | text + '.' + right('00' + toString(edge.order + 1), 3)), 1)
    AS position,
  t.depth AS depth, t.name AS technique, t.id AS technique_id, t.kind AS kind,
  COUNT {MATCH (t)-[:LOCATED_AT]->(s:Symbol)} AS places, coalesce(c.level, 'none') AS level, c.id AS code_id
ORDER BY position, technique_id
