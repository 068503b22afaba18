// Techniques without components, deepest in their hierarchy first.
//
// Group: techniques
// Parameters:
//   limit: integer = 20 -- maximum number of rows
// Example: xkg cypher deepest-techniques --param limit=5

MATCH (t:Technique)
WHERE NOT EXISTS {MATCH (t)-[:HAS_COMPONENT]->(part:Technique)}
WITH t, split(t.id, '#')[0] AS paper_id
MATCH (p:Paper {id: paper_id})
RETURN t.depth AS depth, t.name AS technique, t.id AS technique_id, p.title AS paper
ORDER BY depth DESC, technique_id
LIMIT $limit
