// Techniques without code, with what speaks for writing it: their weight, the techniques below them, the places known
// in a repository, and the other papers that use the same concept.
//
// Group: techniques
// Parameters:
//   paper: string = "" -- only of this paper, by id; empty takes all
//   limit: integer = 50 -- at most so many rows
// Example: xkg cypher techniques-without-code --param paper=arxiv:1608.04471

MATCH (p:Paper)-[:PROPOSES|HAS_COMPONENT*1..20]->(t:Technique)
WHERE ($paper = '' OR p.id = $paper) AND NOT EXISTS {MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)}
WITH p, t, COUNT {MATCH (t)-[:HAS_COMPONENT*1..20]->(part:Technique)} AS components,
  COUNT {MATCH (t)-[:LOCATED_AT]->(s:Symbol)} AS places
OPTIONAL MATCH (t)-[:SAME_CONCEPT]-(u:Technique)<-[:PROPOSES|HAS_COMPONENT*1..20]-(other:Paper)
RETURN t.name AS technique, t.id AS technique_id, p.title AS paper, t.weight AS weight, components, places,
  count(DISTINCT other.id) AS other_papers
ORDER BY weight DESC, other_papers DESC, components DESC, places DESC, technique_id
LIMIT $limit
