// Concepts that occur in several papers, with a row for each paper. A concept is named after its technique with the
// lowest id. The most widely shared concepts come first.
//
// Group: concepts
// Parameters:
//   papers: integer = 2 -- minimum number of papers that share it
// Example: xkg cypher shared-techniques --param papers=3

MATCH (t:Technique)-[:SAME_CONCEPT]->(near:Technique)
WHERE NOT EXISTS {MATCH (lower:Technique)-[:SAME_CONCEPT]->(t)}
OPTIONAL MATCH (near)-[:SAME_CONCEPT]->(far:Technique)
UNWIND [t.id, near.id, coalesce(far.id, near.id)] AS member
WITH DISTINCT t, member
WITH t, collect(member) AS members, count(DISTINCT split(member, '#')[0]) AS papers
WHERE papers >= $papers
UNWIND members AS member
MATCH (u:Technique {id: member})
OPTIONAL MATCH (u)-[:IMPLEMENTED_BY]->(c:Code)
WITH t, papers, u, c, split(u.id, '#')[0] AS paper_id
MATCH (p:Paper {id: paper_id})
RETURN t.name AS concept, papers, p.title AS paper, u.name AS technique, u.id AS technique_id,
  coalesce(c.level, 'none') AS level, t.id AS concept_id
ORDER BY papers DESC, concept, concept_id, technique_id
