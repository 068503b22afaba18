// Techniques whose names occur in a paper's findings, with these findings. Names of one or two letters are ignored.
//
// Group: findings
// Parameters:
//   paper: paper -- id of the paper, such as arxiv:1608.04471
// Example: xkg cypher findings-by-technique --param paper=arxiv:1608.04471

MATCH (p:Paper {id: $paper})-[:REPORTS]->(f:Finding)
MATCH (p)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
UNWIND t.aliases + [t.name] AS called
WITH DISTINCT t, f, toLower(called) AS name
WHERE size(name) > 2 AND (toLower(f.name) CONTAINS name OR toLower(coalesce(f.description, '')) CONTAINS name)
RETURN DISTINCT t.name AS technique, f.name AS finding, f.description AS description, t.id AS technique_id,
  f.id AS finding_id
ORDER BY technique_id, finding_id
