// Concepts shared by two papers: the techniques that are the same concept, how the match was found (name, vectors,
// model), and the level of the code in both papers.
//
// Group: concepts
// Parameters:
//   paper: paper -- id of the first paper
//   other: paper -- id of the other paper
// Example: xkg cypher shared-concepts --param paper=arxiv:1608.04471 --param other=arxiv:2101.00001

MATCH (a:Paper {id: $paper})-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)-[s:SAME_CONCEPT]-(u:Technique)<-[:PROPOSES|HAS_COMPONENT*1..20]-(b:Paper {id: $other})
OPTIONAL MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)
OPTIONAL MATCH (u)-[:IMPLEMENTED_BY]->(d:Code)
RETURN t.name AS technique, t.id AS technique_id, coalesce(c.level, 'none') AS level,
  u.name AS other_technique, u.id AS other_id, coalesce(d.level, 'none') AS other_level,
  s.how AS found_by, round(s.score, 3) AS score
ORDER BY technique_id, other_id
