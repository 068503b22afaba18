// Which techniques of a paper its findings mention by name: what the paper says of each part.
//
// Group: findings
// Parameters:
//   paper: string -- id of the paper, such as arxiv:1608.04471
// Example: xkg cypher findings-by-technique --param paper=arxiv:1608.04471

MATCH (p:Paper {id: $paper})-[:REPORTS]->(f:Finding)
MATCH (p)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
WHERE toLower(f.name + ' ' + coalesce(f.description, '')) CONTAINS toLower(t.name)
  OR any(alias IN t.aliases WHERE toLower(f.name + ' ' + coalesce(f.description, '')) CONTAINS toLower(alias))
RETURN t.name AS technique, f.name AS finding, f.description AS description, t.id AS technique_id, f.id AS finding_id
ORDER BY technique_id, finding_id
