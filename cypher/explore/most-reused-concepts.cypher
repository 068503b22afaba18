// Concepts used by the most papers. Shows the number of papers, the first and last year, and how many of the techniques
// have code. A concept is named after its technique with the lowest id.
//
// Group: concepts
// Parameters:
//   limit: integer = 20 -- maximum number of rows
// Example: xkg cypher most-reused-concepts --param limit=5

MATCH (t:Technique)-[:SAME_CONCEPT]->(near:Technique)
WHERE NOT EXISTS {MATCH (lower:Technique)-[:SAME_CONCEPT]->(t)}
OPTIONAL MATCH (near)-[:SAME_CONCEPT]->(far:Technique)
UNWIND [t.id, near.id, coalesce(far.id, near.id)] AS member
WITH DISTINCT t, member
MATCH (u:Technique {id: member})
OPTIONAL MATCH (u)-[:IMPLEMENTED_BY]->(c:Code)
WITH t, u, c, split(u.id, '#')[0] AS paper_id
MATCH (p:Paper {id: paper_id})
RETURN t.name AS concept, t.id AS technique_id, count(DISTINCT p.id) AS papers, min(p.year) AS first_year,
  max(p.year) AS last_year, count(u) AS techniques, count(c) AS coded
ORDER BY papers DESC, techniques DESC, technique_id
LIMIT $limit
