// Methods with the largest hierarchies. Shows the number of techniques (including the method itself), of levels in the
// hierarchy, and of techniques with code.
//
// Group: techniques
// Parameters:
//   limit: integer = 20 -- maximum number of rows
// Example: xkg cypher largest-hierarchies --param limit=5

MATCH (p:Paper)-[:PROPOSES]->(top:Technique)-[:HAS_COMPONENT*0..20]->(t:Technique)
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
RETURN top.name AS technique, top.id AS technique_id, p.title AS paper, count(t) AS techniques,
  max(t.depth) - min(t.depth) + 1 AS levels, count(c) AS coded
ORDER BY techniques DESC, technique_id
LIMIT $limit
