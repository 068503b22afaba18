// Techniques that several papers share: one row for each paper that has the concept, under the technique of the lowest
// id, the most widely shared first.
//
// Group: concepts
// Parameters:
//   papers: integer = 2 -- shared by at least so many papers
// Example: xkg cypher shared-techniques --param papers=3

MATCH (t:Technique)-[:SAME_CONCEPT]->(u:Technique)
WHERE NOT EXISTS {MATCH (lower:Technique)-[:SAME_CONCEPT]->(t)}
WITH DISTINCT t
MATCH (t)-[:SAME_CONCEPT*1..2]->(u:Technique)<-[:PROPOSES|HAS_COMPONENT*1..20]-(p:Paper)
WITH t, count(DISTINCT p.id) + 1 AS papers
WHERE papers >= $papers
MATCH (t)-[:SAME_CONCEPT*0..2]->(u:Technique)<-[:PROPOSES|HAS_COMPONENT*1..20]-(p:Paper)
OPTIONAL MATCH (u)-[:IMPLEMENTED_BY]->(c:Code)
RETURN DISTINCT t.name AS concept, papers, p.title AS paper, u.name AS technique, u.id AS technique_id,
  coalesce(c.level, 'none') AS level
ORDER BY papers DESC, concept, technique_id
