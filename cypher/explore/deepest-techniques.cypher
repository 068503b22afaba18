// The techniques that lie deepest in the hierarchies, without components of their own: the finest parts that papers
// are cut into.
//
// Group: techniques
// Parameters:
//   limit: integer = 20 -- at most so many rows
// Example: xkg cypher deepest-techniques --param limit=5

MATCH (p:Paper)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
WHERE NOT EXISTS {MATCH (t)-[:HAS_COMPONENT]->(part:Technique)}
RETURN t.depth AS depth, t.name AS technique, t.id AS technique_id, p.title AS paper
ORDER BY depth DESC, technique_id
LIMIT $limit
