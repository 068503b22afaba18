// A paper's techniques as a tree, in the paper's order. Each row has the depth (for indentation), the places in the
// repository, and the level of the code.
//
// Group: techniques
// Parameters:
//   paper: paper -- id of the paper, such as arxiv:1608.04471
// Example: xkg cypher component-tree --param paper=arxiv:1608.04471

MATCH path = (p:Paper {id: $paper})-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
RETURN list_to_string('.', list_transform(rels(path), edge -> lpad(string(edge.`order` + 1), 3, '0'))) AS position,
  t.depth AS depth, t.name AS technique, t.id AS technique_id, t.kind AS kind,
  COUNT {MATCH (t)-[:LOCATED_AT]->(s:Symbol)} AS places, coalesce(c.level, 'none') AS level, c.id AS code_id
ORDER BY position, technique_id
