// Techniques without code, with reasons to write it: their weight, and how many components, places in a repository, and
// techniques from other papers with the same concept they have.
//
// Group: techniques
// Parameters:
//   paper: paper = "" -- only this paper, by id; empty: all papers
//   limit: integer = 50 -- maximum number of rows
// Example: xkg cypher techniques-without-code --param paper=arxiv:1608.04471

MATCH (t:Technique)
WHERE NOT EXISTS {MATCH (t)-[:IMPLEMENTED_BY]->(c:Code)}
WITH t, split(t.id, '#')[0] AS paper_id
WHERE $paper = '' OR paper_id = $paper
MATCH (p:Paper {id: paper_id})
RETURN t.name AS technique, t.id AS technique_id, p.title AS paper, t.weight AS weight,
  COUNT {MATCH (t)-[:SAME_CONCEPT]-(u:Technique)} AS same_elsewhere,
  COUNT {MATCH (t)-[:HAS_COMPONENT]->(part:Technique)} AS components,
  COUNT {MATCH (t)-[:LOCATED_AT]->(s:Symbol)} AS places
ORDER BY weight DESC, same_elsewhere DESC, components DESC, places DESC, technique_id
LIMIT $limit
