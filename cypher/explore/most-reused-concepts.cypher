// Concepts that most papers use: how many, from which year to which, and how many of the techniques have code. The
// concept has the name of its technique of the lowest id.
//
// Group: concepts
// Parameters:
//   limit: integer = 20 -- at most so many rows
// Example: xkg cypher most-reused-concepts --param limit=5

MATCH (t:Technique)-[:SAME_CONCEPT]->(linked:Technique)
WHERE NOT EXISTS {MATCH (lower:Technique)-[:SAME_CONCEPT]->(t)}
WITH DISTINCT t
MATCH (t)-[:SAME_CONCEPT*0..2]->(u:Technique)
WITH DISTINCT t, u
MATCH (u)<-[:PROPOSES|HAS_COMPONENT*1..20]-(p:Paper)
OPTIONAL MATCH (u)-[:IMPLEMENTED_BY]->(c:Code)
RETURN t.name AS concept, t.id AS technique_id, count(DISTINCT p.id) AS papers, min(p.year) AS first_year,
  max(p.year) AS last_year, count(DISTINCT u.id) AS techniques, count(DISTINCT c.id) AS coded
ORDER BY papers DESC, techniques DESC, technique_id
LIMIT $limit
